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
	asTask     bool // the server runs it as a task only
}

// Spec returns what a model is told of the tool, as a copy that is the caller's own.
func (t *tool) Spec() agent.ToolSpec {
	spec := t.spec
	spec.InputSchema = bytes.Clone(spec.InputSchema)
	return spec
}

// Call makes one call, once. A result that the server marks as failed is a failed
// result; its refusal, its death and a timeout are errors.
func (t *tool) Call(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	arguments, err := callArguments(call.Arguments)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t.spec.Name, err)
	}
	server := &t.session.server
	limited, clock := startCallClock(ctx, server.CallTimeout, server.MaxCallTimeout)
	defer clock.stop()
	request := outgoingRequest{
		method: string(mcp.MethodToolsCall),
		params: map[string]any{"name": t.spec.Origin, "arguments": arguments},
		onProgress: func(p progressReport) {
			clock.wind()
			t.logProgress(limited, p)
		},
	}
	if call.Key != "" {
		request.meta = map[string]any{KeyMeta: call.Key}
	}
	if t.asTask {
		request.params["task"] = map[string]any{"ttl": server.MaxCallTimeout.Milliseconds()}
	}
	conn, raw, err := t.send(limited, request)
	if err == nil && t.asTask {
		raw, err = t.awaitTask(limited, clock, conn, raw)
	}
	if err != nil {
		return nil, t.explain(ctx, limited, conn, err)
	}
	t.session.answered()

	result, notes, err := toolResult(raw)
	for _, note := range notes {
		t.session.report(t.spec.Origin, note)
	}
	if err != nil {
		return nil, fmt.Errorf("mcp server %q: %s: %w", server.Name, t.spec.Origin, err)
	}
	return t.checkResult(result), nil
}

// send sends a call to the running server. A call that was still waiting here when
// the server died is sent to the next one: the dead one cannot have seen it. One
// that was sent is never sent again, whatever the server promised of it.
func (t *tool) send(ctx context.Context, request outgoingRequest) (*connection, json.RawMessage, error) {
	conn, err := t.session.connected(ctx)
	if err != nil {
		return nil, nil, err
	}
	raw, err := conn.request(ctx, request)
	if !t.mayRepeat(conn, err) || ctx.Err() != nil {
		return conn, raw, err
	}
	t.session.server.Logger.Info("a call is made on the next server, or session", "tool", t.spec.Origin)
	if conn, err = t.session.connected(ctx); err != nil {
		return nil, nil, err
	}
	raw, err = conn.request(ctx, request)
	return conn, raw, err
}

// mayRepeat reports whether a call that failed may be made on the next server: it
// took no effect for sure, so that it is made once, or is harmless twice.
func (t *tool) mayRepeat(conn *connection, err error) bool {
	_, unsent := errors.AsType[*unsentError](err)
	return (unsent || t.repeatable(err)) && lost(conn.wire)
}

func (t *tool) logProgress(ctx context.Context, p progressReport) {
	session := t.session
	session.server.Logger.DebugContext(
		ctx, "progress", "tool", t.spec.Origin, "done", p.done, "total", p.total,
		"message", clipped(session.redactor.text(p.message), maxLogMessage),
	)
}

// explain turns what went wrong into an error that says whose limit or whose end
// it was. A server that does not read a call within the limit is given up: every
// later call would wait behind that one.
func (t *tool) explain(ctx, limited context.Context, conn *connection, err error) error {
	server, name := &t.session.server, t.spec.Origin
	var refused *ServerError
	switch {
	case t.session.isClosed():
		return fmt.Errorf("mcp server %q: %s: %w", server.Name, name, ErrSessionClosed)
	case errors.As(err, &refused):
		t.session.answered()
		refused.Tool = name
		return refused
	case ctx.Err() != nil:
		return fmt.Errorf("mcp server %q: %s: %w", server.Name, name, context.Cause(ctx))
	case limited.Err() != nil && conn != nil:
		unread := errors.Is(err, errUnread)
		if unread {
			conn.wire.Abandon("it had stopped reading its input")
		}
		late := &CallTimeoutError{Server: server.Name, Tool: name, Timeout: server.CallTimeout, Unread: unread}
		if errors.Is(context.Cause(limited), errHardLimit) {
			late.Timeout = server.MaxCallTimeout
			late.Progress = server.MaxCallTimeout > server.CallTimeout // else no progress was needed to get there
		}
		return late
	case limited.Err() != nil:
		return fmt.Errorf("%w: the server was still being started again", &CallTimeoutError{Server: server.Name, Tool: name, Timeout: server.CallTimeout})
	}
	return err
}

// checkResult holds a tool to the output schema that it declared, and puts words
// to a failure that has none. What the tool did is done: its text stays, so that
// nobody repeats the call for want of it.
func (t *tool) checkResult(result *agent.ToolResult) *agent.ToolResult {
	switch {
	case result.IsError && len(result.Content) == 0:
		result.Content = agent.Text("the tool failed and did not say why")
	case t.structured && !result.IsError && len(result.Structured) == 0:
		t.session.report(t.spec.Origin, "declares structured output and returned none")
		note := "the tool declares structured output and returned nothing; it ran, and may have taken effect"
		if len(result.Content) > 0 {
			note = "the tool declares structured output and returned none; it ran, and may have taken effect; what it returned stands above"
		}
		result.IsError = true
		result.Content = append(result.Content, agent.Text(note)...)
	}
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
	return bytes.ToValidUTF8(compact.Bytes(), []byte("�")), nil
}
