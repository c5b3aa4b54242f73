package main

import (
	"fmt"
	"strings"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/examples/quickstart/internal/clerk"
)

// defaultModel is asked for when TREADLE_MODEL names none.
const defaultModel = "gpt-4.1-mini"

// chosenModel is the model that plays the steps.
type chosenModel struct {
	llm       agent.LLM
	name      string
	firstLine string // tells the user who does the work
	counting  string // how its tokens are counted; empty when the endpoint reports them
}

// chooseModel takes the endpoint that the environment names, or else the
// rule-based stand-in.
func chooseModel(lookup func(string) (string, bool)) (chosenModel, error) {
	value := func(name string) string {
		v, _ := lookup(name)
		return strings.TrimSpace(v)
	}
	if value(openai.EnvAPIKey) == "" && value(openai.EnvBaseURL) == "" {
		return chosenModel{
			llm:  clerk.Model{},
			name: clerk.Name,
			firstLine: "Model: a rule-based stand-in, not a language model. It reads the files through the same tools and follows fixed rules. " +
				"Set OPENAI_API_KEY or OPENAI_BASE_URL (and TREADLE_MODEL) to use a real one.",
			counting: fmt.Sprintf("the stand-in counts %d bytes as one token and costs nothing", clerk.BytesPerToken),
		}, nil
	}
	llm, err := openai.FromEnv(lookup)
	if err != nil {
		return chosenModel{}, err
	}
	name, from := value(openai.EnvModel), ""
	if name == "" {
		name, from = defaultModel, " (TREADLE_MODEL names another)"
	}
	where := "OpenAI"
	if value(openai.EnvBaseURL) != "" {
		where = openai.EnvBaseURL
	}
	return chosenModel{llm: llm, name: name, firstLine: fmt.Sprintf("Model: %s at %s%s.", name, where, from)}, nil
}
