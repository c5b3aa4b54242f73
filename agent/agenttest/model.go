package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/treadle-dev/treadle/agent"
)

// Model is an [agent.LLM] that answers from a script. It is safe for concurrent
// use; the turns of a script go to the calls in the order in which they arrive.
type Model struct {
	// Respond answers every call. Without it the turns of Script do.
	Respond func(ctx context.Context, req *agent.Request) (*agent.Response, error)
	// Script is one answer a call.
	Script []Turn
	// Info is what Describe says; the zero value leaves everything unknown.
	Info agent.ModelInfo

	mu       sync.Mutex
	requests []*agent.Request
}

// Turn is one scripted answer.
type Turn struct {
	// Response is the answer. A nil Finish becomes "stop" or "tool_calls".
	Response agent.Response
	// Err fails the call instead.
	Err error
	// Check looks at the request first; its error fails the call.
	Check func(req *agent.Request) error
}

// New returns a model with a script. When the test ends, turns that were not
// asked for fail it.
func New(t testing.TB, script ...Turn) *Model {
	t.Helper()
	m := &Model{Script: script}
	t.Cleanup(func() {
		if made := len(m.Requests()); made < len(script) {
			t.Errorf("the model was called %d times, the script has %d turns", made, len(script))
		}
	})
	return m
}

// Reply is a turn that ends with a text.
func Reply(text string) Turn {
	return Turn{Response: agent.Response{Message: agent.AssistantMessage(text), Usage: countedUsage}}
}

// Call is a turn that calls one tool. The arguments are any value that JSON takes.
func Call(tool string, arguments any) Turn {
	return Calls(ToolCall(tool, arguments))
}

// Calls is a turn that calls several tools side by side.
func Calls(calls ...agent.ToolCall) Turn {
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("call_%d", i+1)
		}
	}
	return Turn{Response: agent.Response{
		Message: agent.Message{Role: agent.RoleAssistant, ToolCalls: calls},
		Usage:   countedUsage,
	}}
}

// ToolCall is one call of a tool, for [Calls].
func ToolCall(tool string, arguments any) agent.ToolCall {
	data, err := json.Marshal(arguments)
	if err != nil {
		panic(fmt.Sprintf("agenttest: arguments of %s: %v", tool, err))
	}
	return agent.ToolCall{Name: tool, Arguments: data}
}

// countedUsage is what every scripted turn reports: 100 tokens in, 10 out.
var countedUsage = agent.Usage{Input: agent.Tokens(100), Output: agent.Tokens(10)}

// Generate answers a call from the script.
func (m *Model) Generate(ctx context.Context, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
	m.mu.Lock()
	m.requests = append(m.requests, req)
	n := len(m.requests)
	m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	response, err := m.answer(ctx, req, n)
	if err != nil {
		return nil, err
	}
	if response.Message.Role == "" {
		response.Message.Role = agent.RoleAssistant
	}
	if response.Finish == "" {
		response.Finish = agent.FinishStop
		if len(response.Message.ToolCalls) > 0 {
			response.Finish = agent.FinishToolCalls
		}
	}
	if text := response.Message.ContentText(); sink != nil && text != "" {
		sink(agent.Delta{Attempt: 1, Text: text})
	}
	return response, nil
}

func (m *Model) answer(ctx context.Context, req *agent.Request, n int) (*agent.Response, error) {
	if m.Respond != nil {
		return m.Respond(ctx, req)
	}
	if n > len(m.Script) {
		return nil, fmt.Errorf("agenttest: unexpected model call %d; the script has %d turns", n, len(m.Script))
	}
	turn := m.Script[n-1]
	if turn.Check != nil {
		if err := turn.Check(req); err != nil {
			return nil, err
		}
	}
	if turn.Err != nil {
		return nil, turn.Err
	}
	response := turn.Response
	return &response, nil
}

// Describe returns Info, for whatever model.
func (m *Model) Describe(context.Context, string) (agent.ModelInfo, error) { return m.Info, nil }

// Requests returns the requests so far, in the order in which they arrived.
func (m *Model) Requests() []*agent.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]*agent.Request(nil), m.requests...)
}
