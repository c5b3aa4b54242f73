package agenttest

import (
	"context"
	"encoding/json"

	"github.com/treadle-dev/treadle/agent"
)

// Tool is an [agent.Tool] made from a function.
type Tool struct {
	Name        string
	Description string
	Effect      agent.Effect
	// Schema is the input schema; empty takes any object.
	Schema string
	Do     func(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error)
}

// Spec returns the tool's spec.
func (t *Tool) Spec() agent.ToolSpec {
	schema := t.Schema
	if schema == "" {
		schema = `{"type":"object","properties":{}}`
	}
	return agent.ToolSpec{Name: t.Name, Description: t.Description, InputSchema: json.RawMessage(schema), Effect: t.Effect}
}

// Call runs the function.
func (t *Tool) Call(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	return t.Do(ctx, call)
}

// Toolset is an [agent.Toolset] of ready tools, or of tools made for a scope.
type Toolset struct {
	ID    string
	Tools []agent.Tool
	// For makes the tools of a session; it is used instead of Tools.
	For func(scope agent.Scope) []agent.Tool
	// OnClose is called once when a session is closed, after its calls have ended.
	OnClose func()
}

// Name returns the ID.
func (ts *Toolset) Name() string { return ts.ID }

// Open returns a session with the tools, or the error of a context that has ended.
// Closing the session ends the contexts of calls under way and waits for them.
func (ts *Toolset) Open(ctx context.Context, scope agent.Scope) (agent.ToolSession, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	tools := ts.Tools
	if ts.For != nil {
		tools = ts.For(scope)
	}
	return newSession(ts.ID, tools, ts.OnClose), nil
}
