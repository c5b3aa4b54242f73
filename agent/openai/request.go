package openai

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// ownFields are decided here; a request that sets them as options would not be
// the call that its caller gets.
var ownFields = [...]string{"messages", "model", "stream", "tools"}

// requestBody writes a request as the wire wants it.
func (l *LLM) requestBody(req *agent.Request, model string, stream bool) ([]byte, error) {
	body := map[string]any{"model": model}
	messages, err := l.wireMessages(req.Messages)
	if err != nil {
		return nil, err
	}
	body["messages"] = messages
	if len(req.Tools) > 0 {
		tools, err := wireTools(req.Tools)
		if err != nil {
			return nil, err
		}
		body["tools"] = tools
		if req.SerialTools && !l.profile.NoParallelSwitch {
			body["parallel_tool_calls"] = false
		}
	}
	if req.Temperature != nil {
		body["temperature"] = *req.Temperature
	}
	if req.MaxOutputTokens != nil {
		field := "max_tokens"
		if l.profile.CompletionTokens {
			field = "max_completion_tokens"
		}
		body[field] = *req.MaxOutputTokens
	}
	if req.Output != nil {
		body["response_format"] = responseFormat(req.Output)
	}
	if stream {
		body["stream"] = true
		if !l.profile.NoStreamUsage {
			body["stream_options"] = map[string]bool{"include_usage": true}
		}
	}
	for name, raw := range req.Options {
		for _, own := range ownFields {
			if name == own {
				return nil, fmt.Errorf("the option %q cannot be set: it is made from the request", name)
			}
		}
		if !json.Valid(raw) {
			return nil, fmt.Errorf("the option %q is not valid JSON", name)
		}
		body[name] = raw
	}
	if encoded := encode(body); encoded != nil {
		return encoded, nil
	}
	return nil, fmt.Errorf("the request cannot be written as JSON")
}

type wireTool struct {
	Type     string       `json:"type"`
	Function wireFunction `json:"function"`
}

type wireFunction struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
}

func wireTools(specs []agent.ToolSpec) ([]wireTool, error) {
	tools := make([]wireTool, 0, len(specs))
	for i := range specs {
		spec := &specs[i]
		schema := spec.InputSchema
		if isNull(schema) {
			schema = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		if asObject(schema) == nil {
			return nil, fmt.Errorf("the input schema of tool %q is not a JSON object", spec.Name)
		}
		tools = append(tools, wireTool{Type: "function", Function: wireFunction{
			Name: spec.Name, Description: spec.Description, Parameters: schema,
		}})
	}
	return tools, nil
}

// wireMessages writes a conversation. Tool messages can hold text only on the
// wire, so what else a run of results holds follows it as a user message.
func (l *LLM) wireMessages(messages []agent.Message) ([]map[string]any, error) {
	wire := make([]map[string]any, 0, len(messages))
	var attached []any
	flush := func() {
		if len(attached) > 0 {
			wire = append(wire, map[string]any{"role": "user", "content": attached})
			attached = nil
		}
	}
	for i := range messages {
		msg := &messages[i]
		if msg.Role != agent.RoleTool {
			flush()
		}
		encoded, err := l.wireMessage(msg)
		if err != nil {
			return nil, fmt.Errorf("message %d (%s): %w", i, msg.Role, err)
		}
		wire = append(wire, encoded)
		if msg.Role == agent.RoleTool {
			parts, err := toolAttachments(msg)
			if err != nil {
				return nil, fmt.Errorf("message %d (%s): %w", i, msg.Role, err)
			}
			attached = append(attached, parts...)
		}
	}
	flush()
	return wire, nil
}

func (l *LLM) wireMessage(msg *agent.Message) (map[string]any, error) {
	switch msg.Role {
	case agent.RoleSystem:
		return map[string]any{"role": "system", "content": msg.ContentText()}, nil
	case agent.RoleUser:
		content, err := wireContent(msg)
		return map[string]any{"role": "user", "content": content}, err
	case agent.RoleAssistant:
		return l.wireAssistant(msg)
	case agent.RoleTool:
		return map[string]any{"role": "tool", "tool_call_id": msg.ToolCallID, "content": msg.ContentText()}, nil
	}
	return nil, fmt.Errorf("the role %q is not one of system, user, assistant, tool", msg.Role)
}

func (l *LLM) wireAssistant(msg *agent.Message) (map[string]any, error) {
	for _, part := range msg.Content {
		if part.Type != agent.PartText {
			return nil, fmt.Errorf("an assistant message can hold text only, not %q", part.Type)
		}
	}
	wire := map[string]any{"role": "assistant", "content": msg.ContentText()}
	if len(msg.ToolCalls) > 0 {
		if msg.ContentText() == "" && l.profile.NullContent {
			wire["content"] = nil
		}
		calls := make([]map[string]any, 0, len(msg.ToolCalls))
		for i := range msg.ToolCalls {
			calls = append(calls, l.wireCall(&msg.ToolCalls[i], msg.Extra))
		}
		wire["tool_calls"] = calls
	}
	if l.ownExtras(msg.Extra) {
		l.replayMessage(wire, msg.Extra)
	}
	if _, has := wire["reasoning_content"]; !has && l.profile.FillReasoning && len(msg.ToolCalls) > 0 {
		wire["reasoning_content"] = ""
	}
	return wire, nil
}

func (l *LLM) wireCall(call *agent.ToolCall, messageExtra object) map[string]any {
	// Servers parse the arguments in the history, so broken ones are not repeated.
	arguments := "{}"
	if call.Invalid == "" && asObject(call.Arguments) != nil {
		arguments = string(call.Arguments)
	}
	wire := map[string]any{
		"id": call.ID, "type": "function",
		"function": map[string]any{"name": wireName(call.Name), "arguments": arguments},
	}
	if l.ownExtras(messageExtra) {
		for _, key := range l.profile.ReplayCall {
			if raw, ok := call.Extra[key]; ok {
				wire[key] = raw
			}
		}
	}
	return wire
}

// replayMessage sends the extras back that the profile names. Reasoning comes in
// up to three spellings of one text, of which the first that is there is enough.
func (l *LLM) replayMessage(wire map[string]any, extra object) {
	reasoned := false
	for _, key := range l.profile.ReplayMessage {
		raw, ok := extra[key]
		if !ok {
			continue
		}
		switch key {
		case "reasoning_details", "reasoning_content", "reasoning":
			if reasoned {
				continue
			}
			reasoned = true
		}
		wire[key] = raw
	}
}

// originKey marks, in a message's Extra, the provider that wrote it.
const originKey = "treadle_provider"

// ownExtras reports whether extras come from this provider. Unmarked ones do, by
// the word of whoever wrote them.
func (l *LLM) ownExtras(extra object) bool {
	origin, marked := extra[originKey]
	return !marked || text(origin) == l.cfg.Provider
}

// markExtras puts the provider's name on extras.
func (l *LLM) markExtras(msg *agent.Message) {
	has := len(msg.Extra) > 0
	for i := range msg.ToolCalls {
		has = has || len(msg.ToolCalls[i].Extra) > 0
	}
	if !has {
		return
	}
	if msg.Extra == nil {
		msg.Extra = object{}
	}
	msg.Extra[originKey] = encode(l.cfg.Provider)
}

// wireName makes a name that a model invented fit what servers accept in a
// history: 1 to 64 letters, digits, "_" and "-".
func wireName(name string) string {
	fit := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if fit == "" {
		return "unnamed"
	}
	return fit[:min(len(fit), 64)]
}

// responseFormat asks for one JSON value of a schema. An OutputSchema has the very
// fields of json_schema.
func responseFormat(output *agent.OutputSchema) map[string]any {
	return map[string]any{"type": "json_schema", "json_schema": output}
}
