package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/treadle-dev/treadle/agent"
)

// tool is one tool of a server. It outlives restarts of the server: a call goes to
// whichever process the session has.
type tool struct {
	session    *Session
	spec       agent.ToolSpec
	structured bool // the server declares an output schema
}

// Spec returns what a model is told of the tool.
func (t *tool) Spec() agent.ToolSpec { return t.spec }

// Call makes one call, once. A result that the server marks as failed is a failed
// result; its refusal, its death and a timeout are errors.
func (t *tool) Call(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	arguments, err := callArguments(call.Arguments)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.spec.Name, err)
	}
	params := map[string]any{"name": t.spec.Origin, "arguments": arguments}
	var meta map[string]any
	if call.Key != "" {
		meta = map[string]any{KeyMeta: call.Key}
	}

	limit := t.session.server.CallTimeout
	limited, cancel := context.WithTimeoutCause(ctx, limit, errCallLimit)
	defer cancel()
	conn, err := t.session.connected(limited)
	if err != nil {
		return nil, t.explain(ctx, limited, nil, err)
	}
	raw, err := conn.request(limited, string(mcp.MethodToolsCall), params, meta)
	if t.repeatable(err) && limited.Err() == nil {
		if conn, err = t.session.connected(limited); err == nil {
			raw, err = conn.request(limited, string(mcp.MethodToolsCall), params, meta)
		}
	}
	if err != nil {
		return nil, t.explain(ctx, limited, conn, err)
	}
	t.session.answered()

	result, err := toolResult(raw)
	if err != nil {
		return nil, fmt.Errorf("mcp server %q: %s: %w", t.session.server.Name, t.spec.Origin, err)
	}
	return t.checkStructured(result), nil
}

// explain turns what went wrong into an error that says whose limit or whose end
// it was. A server that does not read a call within the limit is given up: every
// later call would wait behind that one.
func (t *tool) explain(ctx, limited context.Context, conn *connection, err error) error {
	server, name := &t.session.server, t.spec.Origin
	var refused *ServerError
	var unsent *unsentError
	switch {
	case t.session.isClosed():
		return fmt.Errorf("mcp server %q: %s: %w", server.Name, name, ErrSessionClosed)
	case errors.As(err, &refused):
		t.session.answered()
		refused.Tool = name
		refused.Message = t.session.redactor.text(refused.Message)
		refused.Data = t.session.redactor.text(refused.Data)
		return refused
	case ctx.Err() != nil:
		return fmt.Errorf("mcp server %q: %s: %w", server.Name, name, context.Cause(ctx))
	case limited.Err() != nil && conn != nil:
		unread := errors.Is(err, errUnread) || errors.As(err, &unsent)
		if unread {
			conn.wire.Abandon("it had stopped reading its input")
		}
		return &CallTimeoutError{Server: server.Name, Tool: name, Timeout: server.CallTimeout, Unread: unread}
	case limited.Err() != nil:
		return fmt.Errorf("%w: the server was still being started again", &CallTimeoutError{Server: server.Name, Tool: name, Timeout: server.CallTimeout})
	}
	return err
}

// checkStructured holds a tool to the output schema that it declared as far as
// there is nothing else to go by.
func (t *tool) checkStructured(result *agent.ToolResult) *agent.ToolResult {
	if !t.structured || result.IsError || len(result.Structured) > 0 {
		return result
	}
	if len(result.Content) == 0 {
		return agent.ErrorResult("the tool declares structured output and returned nothing")
	}
	t.session.report(t.spec.Origin, "declares structured output and returned only text")
	return result
}

// callArguments checks that arguments are an object, which the protocol demands
// and models sometimes forget.
func callArguments(raw json.RawMessage) (json.RawMessage, error) {
	if isNull(raw) {
		return json.RawMessage(`{}`), nil
	}
	if kind := jsonKind(raw); kind != "an object" {
		return nil, fmt.Errorf("the arguments must be a JSON object, not %s", kind)
	}
	var compact bytes.Buffer // a line break inside would end the message on the wire
	if err := json.Compact(&compact, raw); err != nil {
		return nil, fmt.Errorf("the arguments are not valid JSON: %w", err)
	}
	return compact.Bytes(), nil
}
