package agenttest

import (
	"context"
	"encoding/json"
	"strings"
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
	return s.within(t.Context(), t, llm, req, sink)
}

func (s *llmSuite) within(ctx context.Context, t *testing.T, llm agent.LLM, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
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
