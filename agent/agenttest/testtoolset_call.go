package agenttest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

func (s *toolsetSuite) success(t *testing.T) {
	u := s.start(t)
	tool := s.find(t, u.open(t), s.Success.Tool)
	call := s.Success.toolCall(tool)
	// What lies behind the arguments is not the tool's either.
	backing := append(slices.Clone(call.Arguments), "behind"...)
	call.Arguments = backing[:len(call.Arguments):len(backing)]
	before := asText(t, call)
	result, err := inTime(t, s.Timeout, "Call", func() (*agent.ToolResult, error) { return tool.Call(t.Context(), call) })
	if after := asText(t, call); after != before {
		t.Errorf("the tool changed its call\nbefore: %s\nafter:  %s", before, after)
	}
	if !bytes.HasSuffix(backing, []byte("behind")) {
		t.Errorf("the tool wrote behind the arguments: %q", backing)
	}
	if problem := s.Success.failed(result, err); problem != "" {
		t.Fatalf("the call of Success %s", problem)
	}
	checkResult(t, result)
}

// checkResult checks that a result comes back from JSON as it was, which is how a
// resumed run gets it.
func checkResult(t *testing.T, result *agent.ToolResult) {
	t.Helper()
	data, err := json.Marshal(result)
	if err != nil {
		t.Errorf("the result cannot be written as JSON: %v", err)
		return
	}
	var back agent.ToolResult
	if err := json.Unmarshal(data, &back); err != nil {
		t.Errorf("the result cannot be read from its JSON: %v\n%s", err, data)
		return
	}
	same := back.IsError == result.IsError && slices.EqualFunc(back.Content, result.Content, func(a, b agent.Part) bool {
		return a.Type == b.Type && a.Text == b.Text && a.MediaType == b.MediaType && a.URI == b.URI && bytes.Equal(a.Data, b.Data)
	})
	if again, err := json.Marshal(&back); !same || err != nil || !bytes.Equal(again, data) {
		t.Errorf("the result does not come back from JSON as it was\nit was:  %+v\nit came: %+v", *result, back)
	}
	for _, part := range result.Content {
		switch part.Type {
		case agent.PartText, agent.PartImage, agent.PartAudio, agent.PartFile:
		default:
			t.Errorf("the result has a part of the type %q, which is none of package agent's", part.Type)
		}
	}
}

func (s *toolsetSuite) failure(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	result, err := s.call(t.Context(), t, s.find(t, session, s.Failure.Tool), &s.Failure)
	text, problem := s.failureText(result, err)
	switch {
	case problem != "":
		t.Errorf("the call of Failure %s", problem)
	case strings.TrimSpace(text) == "":
		t.Error("the call of Failure gives the model no reason")
	case !strings.Contains(text, s.Failure.Want):
		t.Errorf("the call of Failure says %q, without %q", text, s.Failure.Want)
	}
	if result != nil {
		checkResult(t, result)
	}
	s.works(t, session, "after a refused call")
}

// failureText returns what the model is told of a failure, or why it is none.
func (s *toolsetSuite) failureText(result *agent.ToolResult, err error) (text, problem string) {
	var suspend *agent.SuspendError
	switch {
	case errors.As(err, &suspend):
		return "", fmt.Sprintf("suspended the run: %v", err)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return "", fmt.Sprintf("returned %v, and its context had not ended", err)
	case err != nil && !s.FailureIsError:
		return "", fmt.Sprintf("returned the error %v, want a failed result (or ToolsetTest.FailureIsError)", err)
	case err != nil:
		return err.Error(), ""
	case result == nil:
		return "", "returned neither a result nor an error"
	case !result.IsError:
		return "", fmt.Sprintf("succeeded: %q", result.Text())
	case s.FailureIsError:
		return "", fmt.Sprintf("returned the failed result %q, want an error (ToolsetTest.FailureIsError)", result.Text())
	}
	return result.Text(), ""
}

func (s *toolsetSuite) bare(t *testing.T) {
	u := s.start(t)
	tool := s.find(t, u.open(t), s.Bare)
	var first string
	for _, arguments := range []string{`{}`, ``, `null`} {
		call := (&ToolCase{}).toolCall(tool)
		call.Arguments = json.RawMessage(arguments)
		if arguments == "" {
			call.Arguments = nil
		}
		result, err := inTime(t, s.Timeout, "Call", func() (*agent.ToolResult, error) { return tool.Call(t.Context(), call) })
		if problem := (&ToolCase{}).failed(result, err); problem != "" {
			t.Errorf("the call with the arguments %q %s", arguments, problem)
			continue
		}
		got := asText(t, result)
		if first == "" {
			first = got
		}
		if got != first {
			t.Errorf("with the arguments {}: %s\nwith %q: %s", first, arguments, got)
		}
	}
}

// ended checks that the error of a call is that of its context, by its kind or by
// its cause.
func ended(ctx context.Context, t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ctx.Err()) && (err == nil || !errors.Is(err, context.Cause(ctx))) {
		t.Errorf("%s returned the error %v, want one that matches %v", what, err, ctx.Err())
	}
}

func (s *toolsetSuite) endedContext(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	tool := s.find(t, session, s.Success.Tool)
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	past, stop := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer stop()
	for _, ctx := range []context.Context{canceled, past} {
		_, err := s.call(ctx, t, tool, &s.Success)
		ended(ctx, t, "a call whose context had ended", err)
		// It may have the list at hand.
		_, _ = inTime(t, s.Timeout, "Tools", func() ([]agent.Tool, error) { return session.Tools(ctx) })
		s.works(t, session, "after a call whose context had ended")
	}
}

// settle is how long a call may take to get under way. A call that needs longer is
// tested less deeply, and nothing fails.
const settle = 100 * time.Millisecond

// slow is a call of Slow under way.
type slow struct {
	ended  <-chan outcome[*agent.ToolResult]
	cancel context.CancelFunc
	ctx    context.Context
}

func (s *toolsetSuite) beginSlow(t *testing.T, session agent.ToolSession) *slow {
	t.Helper()
	tool := s.find(t, session, s.Slow.Tool)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	call := s.Slow.toolCall(tool)
	return &slow{ctx: ctx, cancel: cancel, ended: begin("Call of Slow", func() (*agent.ToolResult, error) { return tool.Call(ctx, call) })}
}

// stillRuns waits a moment for calls, none of which may end.
func stillRuns(t *testing.T, calls ...*slow) {
	t.Helper()
	timer := time.NewTimer(settle)
	defer timer.Stop()
	for _, c := range calls[1:] {
		select {
		case o := <-c.ended:
			t.Fatalf("a call of Slow ended by itself: %s", o.text())
		default:
		}
	}
	select {
	case o := <-calls[0].ended:
		t.Fatalf("a call of Slow ended by itself: %s", o.text())
	case <-timer.C:
	}
}

// end waits for the end of the call and returns its error.
func (c *slow) end(t *testing.T, limit time.Duration, what string) error {
	t.Helper()
	o := await(c.ended, what, limit)
	if o.broken != "" {
		t.Fatal(o.broken)
	}
	if o.err == nil {
		t.Errorf("%s returned %s, want an error", what, o.text())
	}
	return o.err
}

func (s *toolsetSuite) cancelCall(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	canceled := s.beginSlow(t, session)
	calls := []*slow{canceled}
	if !s.Serial {
		calls = append(calls, s.beginSlow(t, session))
	}
	stillRuns(t, calls...)
	canceled.cancel()
	ended(canceled.ctx, t, "a call that was canceled", canceled.end(t, s.Timeout, "a call that was canceled"))
	s.works(t, session, "after a call was canceled")
	if !s.Serial {
		stillRuns(t, calls[1])
	}
}

func (s *toolsetSuite) deadline(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	tool := s.find(t, session, s.Slow.Tool)
	ctx, cancel := context.WithTimeout(t.Context(), settle)
	defer cancel()
	_, err := s.call(ctx, t, tool, &s.Slow)
	ended(ctx, t, "a call whose deadline passed", err)
	s.works(t, session, "after the deadline of a call passed")
}

// sideBySideCalls is how many calls run at a time.
const sideBySideCalls = 16

func (s *toolsetSuite) sideBySide(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	tools := s.tools(t, session)
	specs := asText(t, specsOf(tools))
	// One call for all of them where they are the same: a tool that writes to its call
	// shows under the race detector.
	shared := s.Success.toolCall(pick(t, tools, s.Success.Tool))
	problems := make(chan string, 3*sideBySideCalls)
	var wg sync.WaitGroup
	for i := range sideBySideCalls {
		c, call := s.Success, shared
		if s.Each != nil {
			c = s.Each(i)
			call = c.toolCall(pick(t, tools, c.Tool))
		}
		tool := pick(t, tools, c.Tool)
		one := func() {
			o := await(begin("Call", func() (*agent.ToolResult, error) { return tool.Call(t.Context(), call) }), "Call", s.Timeout)
			if o.broken != "" {
				problems <- o.broken
			} else if problem := c.failed(o.value, o.err); problem != "" {
				problems <- fmt.Sprintf("call %d of %d side by side %s", i+1, sideBySideCalls, problem)
			}
			listed := await(begin("Tools", func() ([]agent.Tool, error) { return session.Tools(t.Context()) }), "Tools", s.Timeout)
			if listed.broken != "" || listed.err != nil {
				problems <- fmt.Sprintf("Tools beside calls: %s", listed.text())
			} else if data, err := json.Marshal(specsOf(listed.value)); err != nil || string(data) != specs {
				problems <- fmt.Sprintf("Tools beside calls: %s\nalone: %s", data, specs)
			}
		}
		if s.Serial {
			one()
		} else {
			wg.Go(one)
		}
	}
	wg.Wait()
	close(problems)
	for problem := range problems {
		t.Error(problem)
	}
}
