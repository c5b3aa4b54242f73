package openai

import (
	"net/url"
	"strings"
)

// Profile says how one kind of endpoint differs from the others. It is plain
// data; the zero value sends what every known server takes, and sends no extras
// back.
type Profile struct {
	// Name is the provider that the profile is for.
	Name string
	// ReplayMessage names the fields of an assistant message's Extra that the
	// endpoint wants back; ReplayCall does so for a tool call's Extra.
	ReplayMessage []string
	ReplayCall    []string
	// FillReasoning sends an empty reasoning_content with assistant messages that
	// call tools and have none, for endpoints that insist on the field.
	FillReasoning bool
	// NullContent sends null instead of "" as the content of an assistant message
	// that only calls tools.
	NullContent bool
	// CompletionTokens sends the output limit as max_completion_tokens instead of
	// max_tokens.
	CompletionTokens bool
	// NoStreamUsage leaves stream_options out, for endpoints that refuse it. Usage
	// of streamed replies is then whatever the endpoint sends unasked.
	NoStreamUsage bool
	// NoParallelSwitch leaves parallel_tool_calls out, for endpoints that refuse it.
	NoParallelSwitch bool
	// DescribesModels says that the endpoint's list of models tells what they can
	// take, so that [LLM.Describe] asks for it.
	DescribesModels bool
}

const (
	openAIProfileName = "openai"
	compatibleProfile = "compatible"
)

func openAIProfile(name string) Profile {
	return Profile{Name: name, NullContent: true, CompletionTokens: true}
}

// ProfileFor returns the profile of a provider by its name or, when the name is
// not a known one, by the host of its base URL. An unknown endpoint gets back the
// extras that it sent itself.
func ProfileFor(provider, baseURL string) Profile {
	if p, ok := profileByName(strings.ToLower(provider)); ok {
		return p
	}
	if baseURL == "" {
		return openAIProfile(openAIProfileName)
	}
	host := ""
	if u, err := url.Parse(baseURL); err == nil {
		host = strings.ToLower(u.Hostname())
	}
	for _, known := range []struct{ suffix, name string }{
		{"api.openai.com", openAIProfileName},
		{"openai.azure.com", "azure"},
		{"services.ai.azure.com", "azure"},
		{"cognitiveservices.azure.com", "azure"},
		{"deepseek.com", "deepseek"},
		{"openrouter.ai", "openrouter"},
		{"generativelanguage.googleapis.com", "gemini"},
		{"aiplatform.googleapis.com", "gemini"},
		{"groq.com", "groq"},
		{"mistral.ai", "mistral"},
	} {
		if host == known.suffix || strings.HasSuffix(host, "."+known.suffix) || strings.HasSuffix(host, "-"+known.suffix) {
			p, _ := profileByName(known.name)
			return p
		}
	}
	p, _ := profileByName(compatibleProfile)
	return p
}

func profileByName(name string) (Profile, bool) {
	switch name {
	case openAIProfileName, "azure":
		return openAIProfile(name), true
	case "deepseek":
		return Profile{Name: name, ReplayMessage: []string{"reasoning_content"}, FillReasoning: true}, true
	case "openrouter":
		return Profile{Name: name, ReplayMessage: []string{"reasoning_details", "reasoning"}, ReplayCall: []string{"extra_content"}, DescribesModels: true}, true
	case "gemini":
		return Profile{Name: name, ReplayMessage: []string{"extra_content"}, ReplayCall: []string{"extra_content"}, NoParallelSwitch: true}, true
	case "groq", "mistral":
		// Both answer 400 or 422 to message fields that they do not know.
		return Profile{Name: name, DescribesModels: true}, true
	case compatibleProfile, "vllm", "ollama", "litellm":
		return Profile{
			Name: name,
			ReplayMessage: []string{
				"reasoning_details", "reasoning_content", "reasoning",
				"extra_content", "thinking_blocks", "provider_specific_fields",
			},
			ReplayCall:      []string{"extra_content", "thought_signature", "provider_specific_fields"},
			DescribesModels: name == "vllm",
		}, true
	}
	return Profile{}, false
}
