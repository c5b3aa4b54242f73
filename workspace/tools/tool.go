package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/treadle-dev/treadle/agent"
)

// tool is one tool of a session, its arguments decoded into A.
type tool[A any] struct {
	session *session
	spec    agent.ToolSpec
	do      func(ctx context.Context, args A, call *agent.ToolCall) (*agent.ToolResult, error)
}

// Spec implements [agent.Tool]. What a caller does to it is its own affair.
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

// property is one argument in an input schema.
type property struct {
	Type        string    `json:"type"`
	Description string    `json:"description,omitempty"`
	Items       *property `json:"items,omitempty"`
	Minimum     *float64  `json:"minimum,omitempty"`
}

// schema gives an input schema as JSON.
func schema(required []string, properties map[string]property) json.RawMessage {
	text, _ := json.Marshal(map[string]any{ // strings and numbers marshal
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	return text
}
