package agenttest

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

func (s *toolsetSuite) independentSessions(t *testing.T) {
	u := s.start(t)
	// A toolset may be opened from several goroutines at once.
	begun := [2]<-chan outcome[agent.ToolSession]{}
	for i := range begun {
		begun[i] = begin("Open", func() (agent.ToolSession, error) { return u.Open(t.Context(), u.scope) })
	}
	sessions := [2]agent.ToolSession{}
	for i := range begun {
		o := await(begun[i], "Open", s.Timeout)
		if o.broken != "" || o.err != nil {
			t.Fatalf("Open beside another: %s", o.text())
		}
		sessions[i] = o.value
		t.Cleanup(func() { _ = s.close(t, o.value) })
	}
	first, second := sessions[0], sessions[1]
	s.works(t, first, "with a second session open")
	s.works(t, second, "with a first session open")
	s.mustClose(t, first)
	s.works(t, second, "after another session was closed")
	s.works(t, u.open(t), "in a session opened after another was closed")
}

func (s *toolsetSuite) startContext(t *testing.T) {
	u := s.start(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	session := u.openFor(ctx, t, u.scope)
	if _, err := inTime(t, s.Timeout, "Tools", func() ([]agent.Tool, error) { return session.Tools(ctx) }); err != nil {
		t.Fatalf("Tools: %v", err)
	}
	cancel()
	s.works(t, session, "after the context of Open and Tools was canceled")
	if s.Slow.Tool != "" {
		stillRuns(t, s.beginSlow(t, session))
	}
}

func (s *toolsetSuite) canceledStart(t *testing.T) {
	u := s.start(t)
	s.leaves(t, "a start that was canceled", func() {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		session, err := inTime(t, s.Timeout, "Open", func() (agent.ToolSession, error) { return u.Open(ctx, u.scope) })
		switch {
		case err != nil:
			ended(ctx, t, "Open with a context that had ended", err)
		case session == nil:
			t.Error("Open returned neither a session nor an error")
		default:
			s.mustClose(t, session)
		}
	})
	s.works(t, u.open(t), "in a session opened after a start was canceled")
}

// closeMeetsCalls closes a session while calls come and go: each of them ends, and
// none that begins after Close succeeds.
func (s *toolsetSuite) closeMeetsCalls(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	tool := s.find(t, session, s.Success.Tool)
	callers := 4
	if s.Serial {
		callers = 1
	}
	problems := make(chan string, callers)
	underWay := make(chan struct{}, callers)
	limit := time.Now().Add(s.Timeout)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for {
				o := await(begin("a call beside Close", func() (*agent.ToolResult, error) {
					return tool.Call(t.Context(), s.Success.toolCall(tool))
				}), "a call beside Close", s.Timeout)
				select {
				case underWay <- struct{}{}:
				default:
				}
				switch {
				case o.broken != "":
					problems <- o.broken
				case o.err == nil && time.Now().After(limit):
					problems <- fmt.Sprintf("calls succeed for ever after Close: %s", o.text())
				case o.err == nil:
					continue
				}
				return
			}
		})
	}
	<-underWay
	s.mustClose(t, session)
	wg.Wait()
	close(problems)
	for problem := range problems {
		t.Error(problem)
	}
}

func (s *toolsetSuite) closeEndsCall(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	call := s.beginSlow(t, session)
	stillRuns(t, call)
	s.mustClose(t, session)
	_ = call.end(t, s.Timeout, "a call under way when its session was closed")
}

func (s *toolsetSuite) closedRefuses(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	tool := s.find(t, session, s.Success.Tool)
	s.mustClose(t, session)
	if result, err := s.call(t.Context(), t, tool, &s.Success); err == nil {
		t.Errorf("a call after Close returned %+v, want an error", result)
	}
	if tools, err := inTime(t, s.Timeout, "Tools after Close", func() ([]agent.Tool, error) { return session.Tools(t.Context()) }); err == nil {
		t.Errorf("Tools after Close returned %d tools, want an error", len(tools))
	}
}

func (s *toolsetSuite) closeAgain(t *testing.T) {
	u := s.start(t)
	session := u.open(t)
	begun := [3]<-chan outcome[struct{}]{}
	for i := range begun {
		begun[i] = begin("Close", func() (struct{}, error) { return struct{}{}, session.Close() })
	}
	for i := range begun {
		if o := await(begun[i], "Close", s.Timeout); o.broken != "" {
			t.Fatalf("Close from several goroutines at once: %s", o.broken)
		} else if o.err != nil {
			t.Errorf("Close from several goroutines at once: %v", o.err)
		}
	}
	if err := s.close(t, session); err != nil {
		t.Errorf("Close after Close: %v", err)
	}
}

func (s *toolsetSuite) closeLeavesNothing(t *testing.T) {
	u := s.start(t)
	s.leaves(t, "a session that was closed unused", func() {
		session, err := inTime(t, s.Timeout, "Open", func() (agent.ToolSession, error) { return u.Open(t.Context(), u.scope) })
		if err != nil {
			t.Fatalf("Open: %v", err)
		}
		s.mustClose(t, session)
	})
	s.leaves(t, "a session that was closed", func() {
		session := u.open(t)
		s.works(t, session, "before Close")
		if s.Failure.Tool != "" {
			_, _ = s.call(t.Context(), t, s.find(t, session, s.Failure.Tool), &s.Failure)
		}
		if s.Slow.Tool == "" {
			s.mustClose(t, session)
			return
		}
		canceled := s.beginSlow(t, session)
		stillRuns(t, canceled)
		canceled.cancel()
		_ = canceled.end(t, s.Timeout, "a call that was canceled")
		underWay := s.beginSlow(t, session)
		stillRuns(t, underWay)
		s.mustClose(t, session)
		_ = underWay.end(t, s.Timeout, "a call under way when its session was closed")
	})
}
