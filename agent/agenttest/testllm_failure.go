package agenttest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

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
		if _, err := s.within(ctx, t, llm, suiteRequest("hi"), sink); !errors.Is(err, context.Canceled) {
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
		_, err := s.within(ctx, t, llm, suiteRequest("hi"), sink)
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
	if _, err := s.within(ctx, t, llm, suiteRequest("hi"), nil); !errors.Is(err, context.DeadlineExceeded) {
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
