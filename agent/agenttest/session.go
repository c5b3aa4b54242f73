package agenttest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/treadle-dev/treadle/agent"
)

// ErrSessionClosed is in the errors of a session of [Toolset] that was closed.
var ErrSessionClosed = errors.New("the session is closed")

// session is the tools of a [Toolset] from Open to Close.
type session struct {
	toolset string
	tools   []agent.Tool
	onClose func()

	life context.Context // ends with Close
	end  context.CancelFunc

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	close  sync.Once
}

func newSession(toolset string, tools []agent.Tool, onClose func()) *session {
	s := &session{toolset: toolset, onClose: onClose, tools: make([]agent.Tool, len(tools))}
	s.life, s.end = context.WithCancel(context.Background())
	for i, tool := range tools {
		s.tools[i] = &sessionTool{Tool: tool, session: s}
	}
	return s
}

func (s *session) Tools(ctx context.Context) ([]agent.Tool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, s.closedError()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return slices.Clone(s.tools), nil
}

func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.close.Do(func() {
		s.end()
		s.calls.Wait()
		if s.onClose != nil {
			s.onClose()
		}
	})
	return nil
}

func (s *session) closedError() error {
	return fmt.Errorf("toolset %q: %w", s.toolset, ErrSessionClosed)
}

// enter counts a call in, unless the session is closed.
func (s *session) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return s.closedError()
	}
	s.calls.Add(1)
	return nil
}

// sessionTool is a tool that lives as long as its session.
type sessionTool struct {
	agent.Tool
	session *session
}

func (t *sessionTool) Call(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := t.session.enter(); err != nil {
		return nil, err
	}
	defer t.session.calls.Done()
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(t.session.life, cancel)
	defer stop()
	result, err := t.Tool.Call(running, call)
	if err != nil && ctx.Err() == nil && t.session.life.Err() != nil {
		return result, fmt.Errorf("%w: %w", t.session.closedError(), err)
	}
	return result, err
}
