package agenttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// FarSide is the provider's side of a backend under test: it answers one call. It
// is called from several goroutines at once.
type FarSide func(Seen) Answer

// Seen is what reached the far side.
type Seen struct {
	// Last is the text of the last message.
	Last string
	// Results are the texts of the tool messages at the end, in order.
	Results []string
	// Tools are the names of the tools on offer.
	Tools []string
}

// Answer is what the far side does with a call.
type Answer struct {
	Text  string
	Calls []agent.ToolCall
	// Finish is why the reply ends. Empty is "stop", or "tool_calls" with calls.
	Finish agent.FinishReason
	// Usage is what is reported; nil reports none.
	Usage *agent.Usage
	// Status refuses the call with an HTTP status, or what the provider has in its
	// place; RetryAfter is the wait that it asks for.
	Status     int
	RetryAfter time.Duration
	// Break ends the reply in its middle, as a lost connection does.
	Break bool
	// Hang says nothing until the caller leaves.
	Hang bool
}

// LLMSuite says what a backend cannot do, so that [TestLLM] leaves it out. The
// zero value leaves out nothing.
type LLMSuite struct {
	// NoStatus: the provider refuses calls without a status of HTTP's kind.
	NoStatus bool
	// NoBreak: the far side cannot break off a reply.
	NoBreak bool
	// Timeout bounds each wait for the backend. 0 is 10 seconds.
	Timeout time.Duration
}

// TestLLM checks that a backend keeps the promises of [agent.LLM]: the same reply
// streamed and not, prompt cancellation, typed errors, usage that is true and never
// negative, tool calls that go round, concurrent use, and a request that is left as
// it was. Open returns a backend whose far side answers as told, and cleans up with
// the test. A nil suite is the zero value.
func TestLLM(t *testing.T, open func(t *testing.T, far FarSide) agent.LLM, suite *LLMSuite) {
	s := &llmSuite{open: open}
	if suite != nil {
		s.LLMSuite = *suite
	}
	if s.Timeout <= 0 {
		s.Timeout = 10 * time.Second
	}
	for _, c := range []struct {
		name string
		run  func(t *testing.T)
	}{
		{"a streamed reply equals the whole one", s.streamedEqualsWhole},
		{"streamed tool calls equal the whole ones", s.streamedCallsEqualWhole},
		{"the finish reason is told", s.finishReasons},
		{"usage is what was reported", s.usage},
		{"usage that was not reported stays unknown", s.unknownUsage},
		{"tool calls go round", s.toolCallsGoRound},
		{"the request is left as it was", s.requestUnchanged},
		{"a context that has ended makes no call", s.endedContext},
		{"cancelling ends a call that waits", s.cancelWaiting},
		{"a deadline ends a call that waits", s.deadline},
		{"refusals are typed", s.refusals},
		{"a reply that breaks off is an error that may be retried", s.brokenReply},
		{"calls can be made side by side", s.concurrent},
		{"descriptions are never negative", s.describe},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

type llmSuite struct {
	LLMSuite
	open func(t *testing.T, far FarSide) agent.LLM
}

var suiteTool = agent.ToolSpec{
	Name: "look_up", Description: "looks a word up",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`),
}

func suiteRequest(text string) *agent.Request {
	return &agent.Request{
		Model:    "test-model",
		Messages: []agent.Message{agent.SystemMessage("You are under test."), agent.UserMessage(text)},
		Tools:    []agent.ToolSpec{suiteTool},
	}
}

func always(a Answer) FarSide { return func(Seen) Answer { return a } }

// suiteText has what cuts badly: characters of several bytes, quotes, line ends.
const suiteText = "Grüße an die 世界 — \"quoted\", \\ and\nnew line 🧵 " +
	"and enough more that a stream has to come in several pieces, one after the other."

// heard is what a sink was told.
type heard struct {
	text    strings.Builder
	tools   []string
	deltas  int
	attempt int
	inside  atomic.Int32
	overlap atomic.Bool
}

func (h *heard) sink(d agent.Delta) {
	if h.inside.Add(1) > 1 {
		h.overlap.Store(true)
	}
	defer h.inside.Add(-1)
	h.deltas++
	h.attempt = d.Attempt
	h.text.WriteString(d.Text)
	if d.ToolName != "" {
		h.tools = append(h.tools, d.ToolName)
	}
}

// generate makes a call that must end in time.
func (s *llmSuite) generate(t *testing.T, llm agent.LLM, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
	t.Helper()
	return s.within(t, t.Context(), llm, req, sink)
}

func (s *llmSuite) within(t *testing.T, ctx context.Context, llm agent.LLM, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
	t.Helper()
	type outcome struct {
		resp *agent.Response
		err  error
	}
	ended := make(chan outcome, 1)
	go func() {
		resp, err := llm.Generate(ctx, req, sink)
		ended <- outcome{resp, err}
	}()
	timer := time.NewTimer(s.Timeout)
	defer timer.Stop()
	select {
	case o := <-ended:
		if o.err == nil && o.resp == nil {
			t.Fatal("Generate returned neither a response nor an error")
		}
		return o.resp, o.err
	case <-timer.C:
		t.Fatalf("Generate did not return within %v", s.Timeout)
		return nil, nil
	}
}

func (s *llmSuite) must(t *testing.T, llm agent.LLM, req *agent.Request, sink agent.Sink) *agent.Response {
	t.Helper()
	resp, err := s.generate(t, llm, req, sink)
	if err != nil {
		t.Fatalf("Generate: %v", err)
	}
	return resp
}

func asText(t *testing.T, value any) string {
	t.Helper()
	data, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("not plain data: %v", err)
	}
	return string(data)
}

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

func (s *llmSuite) endedContext(t *testing.T) {
	var calls atomic.Int32
	llm := s.open(t, func(Seen) Answer {
		calls.Add(1)
		return Answer{Text: "x"}
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var h heard
	for _, sink := range []agent.Sink{nil, h.sink} {
		if _, err := s.within(t, ctx, llm, suiteRequest("hi"), sink); !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want one that matches context.Canceled", err)
		}
	}
	if n := calls.Load(); n != 0 {
		t.Errorf("%d calls reached the far side", n)
	}
}

func (s *llmSuite) cancelWaiting(t *testing.T) {
	for _, stream := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		llm := s.open(t, func(Seen) Answer {
			cancel()
			return Answer{Hang: true}
		})
		var sink agent.Sink
		if stream {
			sink = func(agent.Delta) {}
		}
		_, err := s.within(t, ctx, llm, suiteRequest("hi"), sink)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("the error is %v, want one that matches context.Canceled (streamed: %v)", err, stream)
		}
		var failure *agent.ModelError
		if errors.As(err, &failure) && failure.Retryable {
			t.Error("the caller's own cancellation is not to be retried")
		}
		cancel()
	}
}

func (s *llmSuite) deadline(t *testing.T) {
	llm := s.open(t, always(Answer{Hang: true}))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := s.within(t, ctx, llm, suiteRequest("hi"), nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want one that matches context.DeadlineExceeded", err)
	}
}

func (s *llmSuite) refusals(t *testing.T) {
	if s.NoStatus {
		t.Skip("the backend's provider has no status codes (LLMSuite.NoStatus)")
	}
	for status, retryable := range map[int]bool{
		400: false, 401: false, 403: false, 404: false, 408: true, 409: true, 422: false, 429: true, 500: true, 502: true, 503: true,
	} {
		llm := s.open(t, always(Answer{Status: status, RetryAfter: 3 * time.Second}))
		_, err := s.generate(t, llm, suiteRequest("hi"), nil)
		var failure *agent.ModelError
		switch {
		case !errors.As(err, &failure):
			t.Errorf("status %d: the error is %v, want a *agent.ModelError", status, err)
		case failure.StatusCode != status:
			t.Errorf("status %d: the error tells status %d", status, failure.StatusCode)
		case failure.Retryable != retryable:
			t.Errorf("status %d: Retryable is %v, want %v", status, failure.Retryable, retryable)
		case status == 429 && failure.RetryAfter != 3*time.Second:
			t.Errorf("status %d: RetryAfter is %v, want 3s", status, failure.RetryAfter)
		}
	}
}

func (s *llmSuite) brokenReply(t *testing.T) {
	if s.NoBreak {
		t.Skip("the far side cannot break off a reply (LLMSuite.NoBreak)")
	}
	llm := s.open(t, always(Answer{Text: suiteText, Break: true}))
	for _, sink := range []agent.Sink{nil, func(agent.Delta) {}} {
		_, err := s.generate(t, llm, suiteRequest("hi"), sink)
		var failure *agent.ModelError
		if !errors.As(err, &failure) {
			t.Errorf("the error is %v, want a *agent.ModelError (streamed: %v)", err, sink != nil)
			continue
		}
		if !failure.Retryable || !errors.Is(err, agent.ErrReplyCut) {
			t.Errorf("the error is %v, want one that is retryable and matches agent.ErrReplyCut (streamed: %v)", err, sink != nil)
		}
		if p := failure.Partial; p != nil && !strings.HasPrefix(suiteText, p.Message.ContentText()) {
			t.Errorf("the partial text is %q", p.Message.ContentText())
		}
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
