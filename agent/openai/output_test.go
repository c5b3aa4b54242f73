package openai_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/internal/openaitest"
)

type verdict struct {
	Passed bool   `json:"passed"`
	Reason string `json:"reason,omitempty"`
}

func TestAStructuredOutputIsAskedForByItsSchemaAndDecoded(t *testing.T) {
	t.Parallel()
	server := openaitest.Start(t, func(openaitest.Request) openaitest.Reply {
		return openaitest.Text(`{"passed":true,"reason":null}`, 10, 5)
	})
	llm, err := openai.New(openai.Config{BaseURL: server.URL(), APIKey: "k", Model: "m"})
	require.NoError(t, err)
	structured, err := agent.NewStructured[verdict]("verdict", agent.SchemaOpenAIStrict)
	require.NoError(t, err)
	reply, err := llm.Generate(t.Context(), &agent.Request{
		Messages: []agent.Message{agent.UserMessage("Judge it.")}, Output: structured.Request(),
	}, nil)
	require.NoError(t, err)
	value, err := structured.Decode(reply)
	require.NoError(t, err)
	assert.Equal(t, verdict{Passed: true}, value)
	assert.JSONEq(t, `{"type":"json_schema","json_schema":{"name":"verdict","strict":true,"schema":{
		"type":"object","additionalProperties":false,"required":["passed","reason"],
		"properties":{"passed":{"type":"boolean"},"reason":{"type":["string","null"]}}}}}`,
		string(server.Requests()[0].Body["response_format"]))
}
