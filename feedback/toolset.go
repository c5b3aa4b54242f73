package feedback

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/treadle-dev/treadle/agent"
)

// The names of the toolset and its tools.
const (
	ToolsetName = "human_tools"
	AskTool     = "human_feedback"
	NotifyTool  = "notify_user"
)

// ToolConfig says how the tools of [NewTools] work.
type ToolConfig struct {
	// Inbox gives the inbox of a scope, which is that of the scope's workspace. It is
	// called at every call of a tool. Required. [Inbox.For] fits where there is one
	// workspace.
	Inbox func(scope agent.Scope) (*Inbox, error)
	// Leave says that human_feedback leaves the run while a person thinks, instead of
	// waiting: it returns the error of [agent.Suspend]. Nil waits.
	Leave func(scope agent.Scope) bool
	// KeepSecret takes the answer to a secret question and gives what the model sees in
	// its place: a handle that other tools' arguments may contain, for which the host puts
	// the value in at the call. The id is that of the question. Nil takes the argument
	// secret away from human_feedback.
	KeepSecret func(ctx context.Context, scope agent.Scope, id, value string) (handle string, err error)
}

// For returns the inbox, whatever the scope. It serves as [ToolConfig.Inbox].
func (in *Inbox) For(agent.Scope) (*Inbox, error) { return in, nil }

// Tools is the toolset human_tools. It is safe for concurrent use; get one from
// [NewTools].
type Tools struct{ config ToolConfig }

var (
	_ agent.Toolset = (*Tools)(nil)
	_ agent.Sharer  = (*Tools)(nil)
)

// NewTools returns the tools by which a model reaches people: human_feedback asks and
// notify_user tells. Both are [agent.Reentrant]: what they did is recorded under the key
// of the call, so a call that is repeated asks the same question and tells nobody twice.
func NewTools(config ToolConfig) (*Tools, error) {
	if config.Inbox == nil {
		return nil, errors.New("feedback: ToolConfig.Inbox is required; use the method For of an Inbox")
	}
	if config.Leave == nil {
		config.Leave = func(agent.Scope) bool { return false }
	}
	return &Tools{config: config}, nil
}

// Name implements [agent.Toolset].
func (t *Tools) Name() string { return ToolsetName }

// Sharing implements [agent.Sharer]: questions name the step that asks.
func (t *Tools) Sharing() agent.Sharing { return agent.SharePerStep }

// Open implements [agent.Toolset].
func (t *Tools) Open(ctx context.Context, scope agent.Scope) (agent.ToolSession, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s := &session{config: &t.config, scope: scope}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	return s, nil
}

// session is the tools of one visit of a step.
type session struct {
	config *ToolConfig
	scope  agent.Scope

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	life   context.Context // ended by Close
	end    context.CancelFunc
}

// errClosed is what a call gives whose step is over.
var errClosed = errors.New("feedback: the session of the step is closed")

// Tools implements [agent.ToolSession].
func (s *session) Tools(ctx context.Context) ([]agent.Tool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	return []agent.Tool{s.askTool(), s.notifyTool()}, nil
}

// Close implements [agent.ToolSession]: it ends the calls that are under way, and waits
// for them. Their questions stay open.
func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.calls.Wait()
	return nil
}

// during runs a call, whose context ends with the session.
func (s *session) during(ctx context.Context, call func(context.Context) (*agent.ToolResult, error)) (*agent.ToolResult, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	s.calls.Add(1)
	s.mu.Unlock()
	defer s.calls.Done()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	result, err := call(inner)
	if err != nil && ctx.Err() == nil && inner.Err() != nil {
		return nil, fmt.Errorf("%w: %w", errClosed, err)
	}
	return result, err
}

// inbox is that of the scope. A scope without a run is one in which tools are only
// listed.
func (s *session) inbox() (*Inbox, error) {
	if s.scope.RunID == "" || s.scope.RunFolder == "" {
		return nil, errors.New("there is no run here; people are asked and told by a run only")
	}
	return s.config.Inbox(s.scope)
}

// tool is one tool of a session, its arguments decoded into A.
type tool[A any] struct {
	session *session
	spec    agent.ToolSpec
	do      func(ctx context.Context, args A, call *agent.ToolCall) (*agent.ToolResult, error)
}

// Spec implements [agent.Tool].
func (t *tool[A]) Spec() agent.ToolSpec {
	spec := t.spec
	spec.InputSchema = slices.Clone(spec.InputSchema)
	return spec
}

// Call implements [agent.Tool].
func (t *tool[A]) Call(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var args A
	if len(call.Arguments) > 0 {
		if err := json.Unmarshal(call.Arguments, &args); err != nil {
			return nil, fmt.Errorf("%s: arguments: %w", t.spec.Name, err)
		}
	}
	return t.session.during(ctx, func(ctx context.Context) (*agent.ToolResult, error) { return t.do(ctx, args, call) })
}
