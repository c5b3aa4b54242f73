package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/internal/openaitest"
)

func at(t *testing.T, s *openaitest.Server, change ...func(*openai.Config)) *openai.LLM {
	t.Helper()
	cfg := openai.Config{BaseURL: s.URL(), Model: "test-model", HTTPClient: s.Client()}
	for _, f := range change {
		f(&cfg)
	}
	llm, err := openai.New(cfg)
	require.NoError(t, err)
	return llm
}

func failureOf(t *testing.T, err error) *agent.ModelError {
	t.Helper()
	return outcome{err: err}.failure(t)
}

var noteSpec = agent.ToolSpec{Name: "get_note", Description: "reads a note", InputSchema: json.RawMessage(`{"type":"object","properties":{"title":{"type":"string"}}}`)}

func TestAStreamedReplyEqualsTheWholeOne(t *testing.T) {
	t.Parallel()
	reply := openaitest.Reply{
		Content: "Grüße, 世界 — let me look that up.", Reasoning: "first the note",
		ToolCalls: []openaitest.ToolCall{{ID: "c1", Name: "get_note", Arguments: `{"title":"ä\"b"}`}, {ID: "c2", Name: "get_note", Arguments: `{}`}},
		Usage:     &openaitest.Usage{Prompt: 100, Completion: 20, Cached: openaitest.Tokens(64), CacheWrite: openaitest.Tokens(10), Reasoning: openaitest.Tokens(7)},
	}
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return reply })
	llm := at(t, s)
	whole, err := llm.Generate(t.Context(), ask(noteSpec), nil)
	require.NoError(t, err)
	var text, tools []string
	streamed, err := llm.Generate(t.Context(), ask(noteSpec), func(d agent.Delta) {
		assert.Equal(t, 1, d.Attempt)
		text = append(text, d.Text)
		if d.ToolName != "" {
			tools = append(tools, d.ToolName)
		}
	})
	require.NoError(t, err)
	streamed.ID = whole.ID
	assert.Equal(t, whole, streamed)
	assert.Equal(t, whole.Message.ContentText(), strings.Join(text, ""))
	assert.Greater(t, len(text), 3)
	assert.Equal(t, []string{"get_note", "get_note"}, tools)
	assert.Equal(t, agent.Usage{
		Input: agent.Tokens(26), CacheRead: agent.Tokens(64), CacheWrite: agent.Tokens(10), Output: agent.Tokens(20), Reasoning: agent.Tokens(7),
	}, whole.Usage)
	assert.False(t, s.Calls()[0].Stream)
	assert.True(t, s.Calls()[1].Stream)
}

func TestStreamingCanBeSetEitherWay(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok", 1, 1) })
	yes, no := true, false
	_, err := at(t, s, func(c *openai.Config) { c.Streaming = &yes }).Generate(t.Context(), ask(), nil)
	require.NoError(t, err)
	var text string
	_, err = at(t, s, func(c *openai.Config) { c.Streaming = &no }).Generate(t.Context(), ask(), func(d agent.Delta) { text += d.Text })
	require.NoError(t, err)
	assert.Equal(t, "ok", text, "the sink gets the text all the same")
	assert.True(t, s.Calls()[0].Stream)
	assert.False(t, s.Calls()[1].Stream)
}

func TestAConversationWithToolsGoesRound(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(r openaitest.Request) openaitest.Reply {
		if r.Turns() == 0 {
			return openaitest.Reply{ToolCalls: []openaitest.ToolCall{{Name: "get_note", Arguments: `{"title":"a"}`}, {Name: "get note!", Arguments: "{oops"}}}
		}
		return openaitest.Text(r.Results()[0].Content+" "+r.Results()[1].Content, 5, 2)
	})
	llm := at(t, s)
	req := ask(noteSpec)
	first, err := llm.Generate(t.Context(), req, nil)
	require.NoError(t, err)
	require.Len(t, first.Message.ToolCalls, 2)
	req.Messages = append(req.Messages, first.Message)
	for i, call := range first.Message.ToolCalls {
		req.Messages = append(req.Messages, agent.Message{
			Role: agent.RoleTool, ToolCallID: call.ID, ToolName: call.Name, Content: agent.Text([]string{"milk", "no such tool"}[i]),
		})
	}
	second, err := llm.Generate(t.Context(), req, discard)
	require.NoError(t, err)
	assert.Equal(t, "milk no such tool", second.Message.ContentText())
	assert.Equal(t, "reads a note", s.Requests()[1].Tools[0].Description)
}

func TestTheRequestIsWrittenAsTheEndpointWantsIt(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok", 1, 1) })
	temperature, limit := 0.5, int64(77)
	req := &agent.Request{
		Model: "other", Temperature: &temperature, MaxOutputTokens: &limit, SerialTools: true,
		Tools: []agent.ToolSpec{{Name: "plain"}},
		Messages: []agent.Message{agent.SystemMessage("be <brief> & kind"), {Role: agent.RoleUser, Content: []agent.Part{
			{Type: agent.PartText, Text: "what is this?"}, {Type: agent.PartImage, MediaType: "image/jpeg", Data: []byte{1, 2}},
		}}},
		Options: map[string]json.RawMessage{"reasoning_effort": json.RawMessage(`"low"`)},
	}
	_, err := at(t, s, func(c *openai.Config) { c.Provider = "openai" }).Generate(t.Context(), req, nil)
	require.NoError(t, err)
	_, err = at(t, s).Generate(t.Context(), req, nil)
	require.NoError(t, err)
	sent := s.Requests()[0]
	assert.Equal(t, "other", sent.Model)
	assert.JSONEq(t, `0.5`, string(sent.Body["temperature"]))
	assert.JSONEq(t, `77`, string(sent.Body["max_completion_tokens"]))
	assert.JSONEq(t, `77`, string(s.Requests()[1].Body["max_tokens"]))
	assert.JSONEq(t, `false`, string(sent.Body["parallel_tool_calls"]))
	assert.JSONEq(t, `"low"`, string(sent.Body["reasoning_effort"]))
	assert.Equal(t, "be <brief> & kind", sent.Messages[0].Content)
	assert.Contains(t, string(sent.Messages[1].Raw), `data:image/jpeg;base64,AQI=`)
	assert.JSONEq(t, `{"type":"object","properties":{}}`, string(sent.Tools[0].Parameters))
	assert.NotContains(t, sent.Body, "stream")
}

func TestAnImageFromAToolFollowsTheResults(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok", 1, 1) })
	req := ask()
	req.Messages = append(req.Messages,
		agent.Message{Role: agent.RoleAssistant, ToolCalls: calls("c1", "read_image", `{}`, "c2", "get_note", `{}`)},
		agent.Message{Role: agent.RoleTool, ToolCallID: "c1", ToolName: "read_image", Content: []agent.Part{{Type: agent.PartImage, Data: []byte{1}}}},
		agent.Message{Role: agent.RoleTool, ToolCallID: "c2", ToolName: "get_note", Content: agent.Text("milk")},
	)
	_, err := at(t, s).Generate(t.Context(), req, nil)
	require.NoError(t, err)
	last := s.Requests()[0].Last()
	assert.Equal(t, "user", last.Role)
	assert.Contains(t, last.Content, "read_image")
	assert.Contains(t, string(last.Raw), "data:image/png;base64,AQ==")
}

func TestExtrasOfAnotherProviderAreNotSent(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply {
		return openaitest.Reply{Content: "ok", Reasoning: "because"}
	})
	deepseek := at(t, s, func(c *openai.Config) { c.Provider = "deepseek" })
	resp, err := deepseek.Generate(t.Context(), ask(), nil)
	require.NoError(t, err)
	req := ask()
	req.Messages = append(req.Messages, resp.Message, agent.UserMessage("more"))
	for i, want := range map[string]bool{"deepseek": true, "": false, "groq": false} {
		before := len(s.Requests())
		_, err = at(t, s, func(c *openai.Config) { c.Provider = i }).Generate(t.Context(), req, nil)
		require.NoError(t, err)
		assert.Equal(t, want, strings.Contains(string(s.Requests()[before].Messages[1].Raw), "because"), i)
		assert.NotContains(t, string(s.Requests()[before].Messages[1].Raw), "treadle_provider")
	}
}

func TestNoFailureIsRetriedHere(t *testing.T) {
	t.Parallel()
	for status, retryable := range map[int]bool{400: false, 401: false, 403: false, 404: false, 408: true, 409: true, 422: false, 429: true, 500: true, 503: true, 529: true} {
		s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply {
			return openaitest.Reply{Status: status, Code: "some_code", Message: "some words", RetryAfter: "7"}
		})
		_, err := at(t, s).Generate(t.Context(), ask(), nil)
		failure := failureOf(t, err)
		assert.Equal(t, status, failure.StatusCode)
		assert.Equal(t, "some_code", failure.Code)
		assert.Equal(t, "some words", failure.Message)
		assert.Equal(t, 7*time.Second, failure.RetryAfter)
		assert.Equal(t, retryable, failure.Retryable, "status %d", status)
		assert.Equal(t, "test-model", failure.Model)
		assert.Equal(t, "compatible", failure.Provider)
		assert.Len(t, s.Requests(), 1)
	}
}

func TestAReplyCutAnywhereIsAnErrorThatMayBeRetried(t *testing.T) {
	t.Parallel()
	content := "a text of some length"
	for _, stream := range []bool{true, false} {
		for _, cut := range []int{1, 10, 150, 280} {
			s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply {
				return openaitest.Reply{Content: content, CutAfter: cut, Usage: &openaitest.Usage{Prompt: 3, Completion: 2}}
			})
			_, err := at(t, s, func(c *openai.Config) { c.Streaming = &stream }).Generate(t.Context(), ask(), nil)
			failure := failureOf(t, err)
			assert.True(t, failure.Retryable, "stream %v, cut at %d: %v", stream, cut, err)
			assert.ErrorIs(t, err, agent.ErrReplyCut)
		}
	}
}

func TestAConnectionThatCannotBeMadeMayBeRetried(t *testing.T) {
	t.Parallel()
	s, err := openaitest.New(func(openaitest.Request) openaitest.Reply { return openaitest.Reply{} })
	require.NoError(t, err)
	llm := at(t, s)
	s.Close()
	_, err = llm.Generate(t.Context(), ask(), nil)
	failure := failureOf(t, err)
	assert.True(t, failure.Retryable)
	assert.Zero(t, failure.StatusCode)
}

func TestTheCallersCancelIsTheCallersError(t *testing.T) {
	t.Parallel()
	for _, stream := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply {
			cancel()
			return openaitest.Reply{Content: "x", Hang: true, CutAfter: 5}
		})
		_, err := at(t, s, func(c *openai.Config) { c.Streaming = &stream }).Generate(ctx, ask(), nil)
		assert.ErrorIs(t, err, context.Canceled)
		assert.False(t, failureOf(t, err).Retryable)
	}
}

func TestTheCallersCancelEndsAReplyUnderWay(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply {
		return openaitest.Reply{Content: strings.Repeat("x", 100), Hang: true, CutAfter: 600}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := at(t, s).Generate(ctx, ask(), func(agent.Delta) { cancel() })
	failure := failureOf(t, err)
	assert.ErrorIs(t, err, context.Canceled)
	require.NotNil(t, failure.Partial)
	assert.NotEmpty(t, failure.Partial.Message.ContentText())
}

func TestCredentialsNeverShowInAnError(t *testing.T) {
	t.Parallel()
	const key, header = "sk-very-secret-key", "another-secret-value"
	s := openaitest.Start(t, func(r openaitest.Request) openaitest.Reply {
		return openaitest.Reply{Status: 401, Code: key, Message: "wrong key " + key + " or " + r.Header.Get("X-Extra")}
	})
	_, err := at(t, s, func(c *openai.Config) {
		c.APIKey, c.Headers = key, map[string]string{"X-Extra": header}
	}).Generate(t.Context(), ask(), nil)
	failure := failureOf(t, err)
	for _, text := range []string{err.Error(), failure.Message, failure.Body, failure.Code} {
		assert.NotContains(t, text, key)
		assert.NotContains(t, text, header)
		assert.Contains(t, text+err.Error(), "[redacted]")
	}
	assert.Equal(t, "Bearer "+key, s.Requests()[0].Header.Get("Authorization"))
}

func TestAzureIsCalledItsOwnWay(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok", 1, 1) })
	s.Key = "azure-key"
	llm := at(t, s, func(c *openai.Config) {
		c.APIKey, c.APIVersion, c.BaseURL = "azure-key", "2024-06-01", strings.TrimSuffix(s.URL(), "/v1")
	})
	_, err := llm.Generate(t.Context(), ask(), nil)
	require.NoError(t, err)
	sent := s.Requests()[0]
	assert.Equal(t, "/openai/deployments/test-model/chat/completions", sent.Path)
	assert.Equal(t, "2024-06-01", sent.Query.Get("api-version"))
	assert.Equal(t, "azure-key", sent.Header.Get("api-key"))
	assert.Empty(t, sent.Header.Get("Authorization"))
}

func TestARequestThatCannotBeSentSaysWhy(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok", 1, 1) })
	for want, req := range map[string]*agent.Request{
		"the role":               {Messages: []agent.Message{{Role: "boss"}}},
		`option "messages"`:      {Messages: ask().Messages, Options: map[string]json.RawMessage{"messages": json.RawMessage(`[]`)}},
		`option "x"`:             {Messages: ask().Messages, Options: map[string]json.RawMessage{"x": json.RawMessage(`{`)}},
		"input schema of tool":   ask(agent.ToolSpec{Name: "a", InputSchema: json.RawMessage(`[]`)}),
		"message 0 (assistant)":  {Messages: []agent.Message{{Role: agent.RoleAssistant, Content: []agent.Part{{Type: agent.PartImage}}}}},
		"neither data nor a URI": {Messages: []agent.Message{{Role: agent.RoleUser, Content: []agent.Part{{Type: agent.PartImage}}}}},
	} {
		_, err := at(t, s).Generate(t.Context(), req, nil)
		require.ErrorContains(t, err, want)
		assert.False(t, failureOf(t, err).Retryable)
	}
	_, err := at(t, s, func(c *openai.Config) { c.Model = "" }).Generate(t.Context(), ask(), nil)
	require.ErrorContains(t, err, "TREADLE_MODEL")
	assert.Empty(t, s.Requests())
}

func TestTheEnvironmentDescribesTheEndpoint(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok", 1, 1) })
	env := func(pairs map[string]string) func(string) (string, bool) {
		return func(name string) (string, bool) { v, ok := pairs[name]; return v, ok }
	}
	llm, err := openai.FromEnv(env(map[string]string{"OPENAI_BASE_URL": s.URL() + "/", "TREADLE_MODEL": "m1", "OPENAI_API_KEY": "k\n"}))
	require.NoError(t, err)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	_, err = llm.Generate(t.Context(), ask(), nil)
	require.NoError(t, err)
	assert.Equal(t, "m1", s.Requests()[0].Model)
	assert.Equal(t, "Bearer k", s.Requests()[0].Header.Get("Authorization"))

	_, err = openai.FromEnv(env(map[string]string{"OPENAI_API_KEY": ""}))
	require.ErrorContains(t, err, "OPENAI_API_KEY")
	require.ErrorContains(t, err, "OPENAI_BASE_URL")
	_, err = openai.FromEnv(env(map[string]string{"OPENAI_BASE_URL": "localhost:8080"}))
	require.ErrorContains(t, err, "http://")
	_, err = openai.FromEnv(env(map[string]string{"OPENAI_API_KEY": "k"}))
	require.NoError(t, err)
}

// It is not parallel, because it sets the environment of the process.
func TestOnlyTheConfigurationCountsAndNotTheProcessEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("OPENAI_ORG_ID", "org-from-the-environment")
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok", 1, 1) })
	_, err := at(t, s).Generate(t.Context(), ask(), nil)
	require.NoError(t, err)
	sent := s.Requests()[0].Header
	assert.Empty(t, sent.Get("Authorization"))
	assert.Empty(t, sent.Get("OpenAI-Organization"))
}

func TestAHeaderOfTheConfigurationWins(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok", 1, 1) })
	_, err := at(t, s, func(c *openai.Config) {
		c.APIKey, c.Headers = "key", map[string]string{"authorization": "Custom token", "User-Agent": "host/1"}
	}).Generate(t.Context(), ask(), nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"Custom token"}, s.Requests()[0].Header.Values("Authorization"))
	assert.Equal(t, "host/1", s.Requests()[0].Header.Get("User-Agent"))
}

func TestManyCallsAtOnceDoNotMix(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(r openaitest.Request) openaitest.Reply { return openaitest.Text(r.Last().Content, 1, 1) })
	llm := at(t, s)
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			want := fmt.Sprintf("message %d", i)
			resp, err := llm.Generate(t.Context(), &agent.Request{Messages: []agent.Message{agent.UserMessage(want)}}, discard)
			if assert.NoError(t, err) {
				assert.Equal(t, want, resp.Message.ContentText())
			}
		})
	}
	group.Wait()
}

func TestTheModelsOfTheEndpointAreListed(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Reply{} })
	ids, err := at(t, s).ListModels(t.Context())
	require.NoError(t, err)
	assert.Equal(t, []string{"test-model"}, ids)
	locked := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Reply{} })
	locked.Key = "right"
	_, err = at(t, locked).ListModels(t.Context())
	assert.Equal(t, 401, failureOf(t, err).StatusCode)
}

func TestABaseURLCopiedFromAnExampleWorks(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply { return openaitest.Text("ok", 1, 1) })
	_, err := at(t, s, func(c *openai.Config) { c.BaseURL = s.URL() + "/chat/completions?tenant=7" }).Generate(t.Context(), ask(), nil)
	require.NoError(t, err)
	assert.Equal(t, "/v1/chat/completions", s.Requests()[0].Path)
	assert.Equal(t, "7", s.Requests()[0].Query.Get("tenant"))
}
