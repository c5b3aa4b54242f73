package openaitest

import (
	"encoding/json"
	"fmt"
	"slices"
)

type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  json.RawMessage `json:"tool_calls"`
	ToolCallID *string         `json:"tool_call_id"`
}

// parseMessages reads a conversation and checks that it is one: known roles,
// content where it is needed, and every tool call answered, by the messages right
// after it, before anything else is said.
func parseMessages(raw json.RawMessage) ([]Message, *Error) {
	var list []json.RawMessage
	if raw == nil || json.Unmarshal(raw, &list) != nil {
		return nil, invalid("messages", "Missing required parameter: 'messages'.")
	}
	if len(list) == 0 {
		return nil, invalid("messages", "Invalid 'messages': empty array. Expected an array with minimum length 1.")
	}
	var messages []Message
	open := map[string]bool{}
	for i, item := range list {
		at := fmt.Sprintf("messages.[%d]", i)
		var wire wireMessage
		if err := json.Unmarshal(item, &wire); err != nil {
			return nil, invalid(at, "Invalid type for '%s': %v", at, err)
		}
		msg := Message{Role: wire.Role, Raw: item}
		var refusal *Error
		if msg.Content, refusal = parseContent(wire, at); refusal != nil {
			return nil, refusal
		}
		if wire.Role != "tool" && len(open) > 0 {
			return nil, unanswered(open)
		}
		switch wire.Role {
		case "system", "developer", "user":
		case "assistant":
			if msg.ToolCalls, refusal = parseCalls(wire.ToolCalls, at, open); refusal != nil {
				return nil, refusal
			}
		case "tool":
			if wire.ToolCallID == nil {
				return nil, invalid(at+".tool_call_id", "Missing parameter 'tool_call_id': messages with role 'tool' must have a 'tool_call_id'.")
			}
			msg.ToolCallID = *wire.ToolCallID
			if !open[msg.ToolCallID] {
				return nil, invalid(at+".role", "Invalid parameter: messages with role 'tool' must be a response to a preceding message with 'tool_calls'; '%s' answers none.", msg.ToolCallID)
			}
			delete(open, msg.ToolCallID)
		default:
			return nil, invalid(at+".role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'tool', and 'developer'.", wire.Role)
		}
		messages = append(messages, msg)
	}
	if len(open) > 0 {
		return nil, unanswered(open)
	}
	return messages, nil
}

func unanswered(open map[string]bool) *Error {
	ids := make([]string, 0, len(open))
	for id := range open {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return invalid("messages", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. No response for: %q", ids)
}

func parseContent(wire wireMessage, at string) (string, *Error) {
	if wire.Content == nil || string(wire.Content) == "null" {
		if wire.Role == "assistant" && wire.ToolCalls != nil {
			return "", nil
		}
		return "", invalid(at+".content", "Invalid value for '%s.content': expected a string, got null.", at)
	}
	var text string
	if json.Unmarshal(wire.Content, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Type string
		Text string
	}
	if json.Unmarshal(wire.Content, &parts) != nil || len(parts) == 0 {
		return "", invalid(at+".content", "Invalid type for '%s.content': expected a string or a list of parts.", at)
	}
	for i, part := range parts {
		allowed := part.Type == "text"
		if wire.Role == "user" {
			switch part.Type {
			case "image_url", "input_audio", "file":
				allowed = true
			}
		}
		if !allowed {
			return "", invalid(fmt.Sprintf("%s.content[%d].type", at, i), "Invalid value: '%s' in a message of role '%s'.", part.Type, wire.Role)
		}
		text += part.Text
	}
	return text, nil
}

func parseCalls(raw json.RawMessage, at string, open map[string]bool) ([]ToolCall, *Error) {
	if raw == nil {
		return nil, nil
	}
	var wire []struct {
		ID       string
		Type     string
		Function struct {
			Name      string
			Arguments *string
		}
	}
	if err := json.Unmarshal(raw, &wire); err != nil || len(wire) == 0 {
		return nil, invalid(at+".tool_calls", "Invalid '%s.tool_calls': expected a list of at least one call.", at)
	}
	var calls []ToolCall
	for i, c := range wire {
		where := fmt.Sprintf("%s.tool_calls[%d]", at, i)
		switch {
		case c.ID == "" || open[c.ID]:
			return nil, invalid(where+".id", "Invalid '%s.id': each call needs an id of its own.", where)
		case c.Type != "function":
			return nil, invalid(where+".type", "Invalid value for '%s.type': supported is 'function'.", where)
		case !names.MatchString(c.Function.Name):
			return nil, invalid(where+".function.name", "Invalid '%s.function.name': string does not match pattern '%s'.", where, names)
		case c.Function.Arguments == nil:
			return nil, invalid(where+".function.arguments", "Missing required parameter: '%s.function.arguments'.", where)
		case !json.Valid([]byte(*c.Function.Arguments)):
			// OpenAI itself takes any text; servers that parse it answer so.
			return nil, invalid(where+".function.arguments", "'%s.function.arguments' is not valid JSON.", where)
		}
		open[c.ID] = true
		calls = append(calls, ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: *c.Function.Arguments})
	}
	return calls, nil
}
