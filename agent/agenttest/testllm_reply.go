package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/treadle-dev/treadle/agent"
)

func (s *llmSuite) streamedEqualsWhole(t *testing.T) {
	usage := &agent.Usage{Input: agent.Tokens(12), Output: agent.Tokens(34)}
	llm := s.open(t, always(Answer{Text: suiteText, Usage: usage}))
	whole := s.must(t, llm, suiteRequest("hi"), nil)
	var h heard
	streamed := s.must(t, llm, suiteRequest("hi"), h.sink)
	if got := whole.Message.ContentText(); got != suiteText {
		t.Errorf("the text is %q, want %q", got, suiteText)
	}
	if whole.Message.Role != agent.RoleAssistant {
		t.Errorf("the role is %q, want assistant", whole.Message.Role)
	}
	streamed.ID, whole.ID = "", "" // of two calls
	if a, b := asText(t, whole), asText(t, streamed); a != b {
		t.Errorf("whole:    %s\nstreamed: %s", a, b)
	}
	if h.text.String() != suiteText {
		t.Errorf("the pieces add up to %q, want %q", h.text.String(), suiteText)
	}
	if h.attempt < 1 {
		t.Errorf("pieces carry attempt %d; attempts count from 1", h.attempt)
	}
	if h.overlap.Load() {
		t.Error("the sink was called from two goroutines at a time")
	}
}

func suiteCalls() []agent.ToolCall {
	return []agent.ToolCall{
		{ID: "call_a", Name: "look_up", Arguments: json.RawMessage(`{"word":"tr\u00e4dle \"x\""}`)},
		{ID: "call_b", Name: "look_up", Arguments: json.RawMessage(`{"word":"loom"}`)},
	}
}

func sameCalls(t *testing.T, got, want []agent.ToolCall) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d tool calls came, want %d", len(got), len(want))
	}
	for i := range want {
		var a, b any
		if err := json.Unmarshal(got[i].Arguments, &a); err != nil {
			t.Fatalf("the arguments of call %d are no JSON: %v", i, err)
		}
		_ = json.Unmarshal(want[i].Arguments, &b) // our own
		if got[i].Name != want[i].Name || asText(t, a) != asText(t, b) {
			t.Errorf("call %d is %s %s, want %s %s", i, got[i].Name, got[i].Arguments, want[i].Name, want[i].Arguments)
		}
		if got[i].ID == "" {
			t.Errorf("call %d has no id", i)
		}
		if got[i].Invalid != "" {
			t.Errorf("call %d is marked invalid: %s", i, got[i].Invalid)
		}
	}
	if got[0].ID == got[1].ID {
		t.Errorf("two calls have the id %q", got[0].ID)
	}
}

func (s *llmSuite) streamedCallsEqualWhole(t *testing.T) {
	llm := s.open(t, always(Answer{Text: "I look.", Calls: suiteCalls()}))
	whole := s.must(t, llm, suiteRequest("hi"), nil)
	var h heard
	streamed := s.must(t, llm, suiteRequest("hi"), h.sink)
	sameCalls(t, whole.Message.ToolCalls, suiteCalls())
	sameCalls(t, streamed.Message.ToolCalls, suiteCalls())
	for _, resp := range []*agent.Response{whole, streamed} {
		if resp.Finish != agent.FinishToolCalls {
			t.Errorf("the finish reason is %q, want %q", resp.Finish, agent.FinishToolCalls)
		}
		if resp.Message.ContentText() != "I look." {
			t.Errorf("the text beside the calls is %q", resp.Message.ContentText())
		}
	}
	if h.deltas == 0 {
		t.Error("the sink was told nothing")
	}
}

func (s *llmSuite) finishReasons(t *testing.T) {
	for _, want := range []agent.FinishReason{agent.FinishStop, agent.FinishLength, agent.FinishContentFilter} {
		llm := s.open(t, always(Answer{Text: "some text", Finish: want}))
		var h heard
		for _, sink := range []agent.Sink{nil, h.sink} {
			if got := s.must(t, llm, suiteRequest("hi"), sink).Finish; got != want {
				t.Errorf("the finish reason is %q, want %q (streamed: %v)", got, want, sink != nil)
			}
		}
	}
}

func (s *llmSuite) usage(t *testing.T) {
	for _, want := range []agent.Usage{
		{Input: agent.Tokens(100), Output: agent.Tokens(20)},
		{Input: agent.Tokens(0), Output: agent.Tokens(0)},
		{Input: agent.Tokens(26), CacheRead: agent.Tokens(64), CacheWrite: agent.Tokens(10), Output: agent.Tokens(20), Reasoning: agent.Tokens(7)},
		{Input: agent.Tokens(5), CacheRead: agent.Tokens(0), Output: agent.Tokens(1), Reasoning: agent.Tokens(0)},
	} {
		llm := s.open(t, always(Answer{Text: "x", Usage: &want}))
		var h heard
		for _, sink := range []agent.Sink{nil, h.sink} {
			got := s.must(t, llm, suiteRequest("hi"), sink).Usage
			if asText(t, got) != asText(t, want) {
				t.Errorf("usage is %s, want %s (streamed: %v)", asText(t, got), asText(t, want), sink != nil)
			}
		}
	}
}

func (s *llmSuite) unknownUsage(t *testing.T) {
	llm := s.open(t, always(Answer{Text: "x"}))
	var h heard
	for _, sink := range []agent.Sink{nil, h.sink} {
		if got := s.must(t, llm, suiteRequest("hi"), sink).Usage; got != (agent.Usage{}) {
			t.Errorf("usage is %s, and none was reported (streamed: %v)", asText(t, got), sink != nil)
		}
	}
}

func (s *llmSuite) toolCallsGoRound(t *testing.T) {
	seen := make(chan Seen, 8)
	llm := s.open(t, func(in Seen) Answer {
		seen <- in
		if len(in.Results) == 0 {
			return Answer{Calls: suiteCalls()}
		}
		return Answer{Text: strings.Join(in.Results, "+")}
	})
	req := suiteRequest("look both up")
	first := s.must(t, llm, req, nil)
	if in := <-seen; in.Last != "look both up" || !slices.Equal(in.Tools, []string{"look_up"}) {
		t.Errorf("the far side saw %+v", in)
	}
	req.Messages = append(req.Messages, first.Message)
	for i, call := range first.Message.ToolCalls {
		req.Messages = append(req.Messages, agent.Message{
			Role: agent.RoleTool, ToolCallID: call.ID, ToolName: call.Name, IsError: i == 1, Content: agent.Text([]string{"one", "two"}[i]),
		})
	}
	second := s.must(t, llm, req, nil)
	if in := <-seen; !slices.Equal(in.Results, []string{"one", "two"}) {
		t.Errorf("the far side saw the results %q", in.Results)
	}
	if got := second.Message.ContentText(); got != "one+two" {
		t.Errorf("the last reply is %q, want %q", got, "one+two")
	}
}

func (s *llmSuite) requestUnchanged(t *testing.T) {
	llm := s.open(t, always(Answer{Text: "x", Calls: suiteCalls()}))
	temperature, limit := 0.5, int64(99)
	req := suiteRequest("hi")
	req.Temperature, req.MaxOutputTokens, req.SerialTools = &temperature, &limit, true
	req.Messages = append(req.Messages,
		agent.Message{Role: agent.RoleAssistant, ToolCalls: suiteCalls()},
		agent.Message{Role: agent.RoleTool, ToolCallID: "call_a", ToolName: "look_up", Content: agent.Text("a")},
		agent.Message{Role: agent.RoleTool, ToolCallID: "call_b", ToolName: "look_up", Content: agent.Text("b")},
	)
	// What lies behind the messages is not the backend's either.
	backing := append(slices.Clone(req.Messages), agent.UserMessage("not yours"))
	req.Messages = backing[:len(backing)-1]
	before, behind := asText(t, req), asText(t, backing)
	var h heard
	s.must(t, llm, req, nil)
	resp := s.must(t, llm, req, h.sink)
	resp.Message.ToolCalls = append(resp.Message.ToolCalls[:0], agent.ToolCall{ID: "mine"})
	if after := asText(t, req); after != before {
		t.Errorf("before: %s\nafter:  %s", before, after)
	}
	if after := asText(t, backing); after != behind {
		t.Errorf("behind the messages, before: %s\nafter:  %s", behind, after)
	}
}

func (s *llmSuite) concurrent(t *testing.T) {
	llm := s.open(t, func(in Seen) Answer { return Answer{Text: "echo " + in.Last} })
	var wg sync.WaitGroup
	for i := range 16 {
		wg.Go(func() {
			ask := fmt.Sprintf("question %d", i)
			var h heard
			var sink agent.Sink
			if i%2 == 0 {
				sink = h.sink
			}
			resp, err := llm.Generate(t.Context(), suiteRequest(ask), sink)
			switch {
			case err != nil:
				t.Errorf("%s: %v", ask, err)
			case resp.Message.ContentText() != "echo "+ask:
				t.Errorf("%s got the answer %q", ask, resp.Message.ContentText())
			case sink != nil && h.text.String() != "echo "+ask:
				t.Errorf("%s got the pieces %q", ask, h.text.String())
			}
		})
	}
	wg.Wait()
}

func (s *llmSuite) describe(t *testing.T) {
	llm := s.open(t, always(Answer{Text: "x"}))
	describer, ok := llm.(agent.Describer)
	if !ok {
		return // describing is optional
	}
	ctx, cancel := context.WithTimeout(t.Context(), s.Timeout)
	defer cancel()
	info, err := describer.Describe(ctx, "test-model")
	if err == nil && (info.ContextWindow < 0 || info.MaxOutputTokens < 0) {
		t.Errorf("the model is described as %+v; zero is unknown, and nothing is below it", info)
	}
}
