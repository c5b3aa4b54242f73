package openaitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
)

// Request is one Chat Completions request as it came over the wire.
type Request struct {
	N        int // counts the requests of the server from 1
	Model    string
	Messages []Message
	Tools    []Tool
	Stream   bool
	// IncludeUsage says whether a stream is to end with its usage.
	IncludeUsage bool
	// Body holds every top-level field as sent.
	Body   map[string]json.RawMessage
	Path   string
	Query  url.Values
	Header http.Header
}

// Message is one message of a request. Content is its text: of several parts, the
// text parts one after the other.
type Message struct {
	Role       string
	Content    string
	ToolCalls  []ToolCall
	ToolCallID string
	// Raw is the message as sent.
	Raw json.RawMessage
}

// Tool is one function that a request offers.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Last is the last message of the request.
func (r *Request) Last() Message { return r.Messages[len(r.Messages)-1] }

// Results are the tool messages at the end of the request: the answers to the
// calls of the last assistant message.
func (r *Request) Results() []Message {
	from := len(r.Messages)
	for from > 0 && r.Messages[from-1].Role == "tool" {
		from--
	}
	return r.Messages[from:]
}

// Turns counts the assistant messages: 0 in the first request of a conversation.
func (r *Request) Turns() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

// Error is an error answer in OpenAI's form.
type Error struct {
	Status     int
	Type       string
	Code       string
	Param      string
	Message    string
	RetryAfter string // the Retry-After header
}

func (e *Error) write(w http.ResponseWriter) {
	if e.RetryAfter != "" {
		w.Header().Set("Retry-After", e.RetryAfter)
	}
	body := map[string]any{"message": e.Message, "type": e.Type, "param": nil, "code": nil}
	if e.Param != "" {
		body["param"] = e.Param
	}
	if e.Code != "" {
		body["code"] = e.Code
	}
	writeJSON(w, e.Status, map[string]any{"error": body})
}

func invalid(param, format string, args ...any) *Error {
	return &Error{
		Status: http.StatusBadRequest, Type: "invalid_request_error", Param: param,
		Message: fmt.Sprintf(format, args...),
	}
}

// names is what OpenAI accepts as a function's name.
var names = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// parseRequest reads a request and checks it as strictly as OpenAI does.
func parseRequest(data []byte) (Request, *Error) {
	req := Request{}
	if err := json.Unmarshal(data, &req.Body); err != nil {
		return req, invalid("", "We could not parse the JSON body of your request: %v", err)
	}
	for name, raw := range req.Body {
		if string(raw) == "null" {
			return req, invalid(name, "Invalid type for '%s': expected a value, but got null instead.", name)
		}
	}
	if json.Unmarshal(req.Body["model"], &req.Model) != nil || req.Model == "" {
		return req, invalid("model", "you must provide a model parameter")
	}
	var refusal *Error
	if req.Messages, refusal = parseMessages(req.Body["messages"]); refusal != nil {
		return req, refusal
	}
	if req.Tools, refusal = parseTools(req.Body["tools"]); refusal != nil {
		return req, refusal
	}
	if _, has := req.Body["parallel_tool_calls"]; has && len(req.Tools) == 0 {
		return req, invalid("parallel_tool_calls", "'parallel_tool_calls' is only allowed when 'tools' are specified.")
	}
	if raw, has := req.Body["stream"]; has && json.Unmarshal(raw, &req.Stream) != nil {
		return req, invalid("stream", "Invalid type for 'stream': expected a boolean.")
	}
	if raw, has := req.Body["stream_options"]; has {
		var options struct {
			IncludeUsage bool `json:"include_usage"`
		}
		switch {
		case !req.Stream:
			return req, invalid("stream_options", "The 'stream_options' parameter is only allowed when 'stream' is enabled.")
		case json.Unmarshal(raw, &options) != nil:
			return req, invalid("stream_options", "Invalid type for 'stream_options'.")
		}
		req.IncludeUsage = options.IncludeUsage
	}
	return req, nil
}

func parseTools(raw json.RawMessage) ([]Tool, *Error) {
	if raw == nil {
		return nil, nil
	}
	var wire []struct {
		Type     string
		Function *struct {
			Name        string
			Description string
			Parameters  json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, invalid("tools", "Invalid type for 'tools': %v", err)
	}
	if len(wire) == 0 {
		return nil, invalid("tools", "Invalid 'tools': empty array. Expected an array with minimum length 1.")
	}
	var tools []Tool
	seen := map[string]bool{}
	for i, t := range wire {
		at := fmt.Sprintf("tools[%d].function", i)
		switch {
		case t.Type != "function" || t.Function == nil:
			return nil, invalid(fmt.Sprintf("tools[%d].type", i), "Invalid value for 'tools[%d].type': supported is 'function'.", i)
		case !names.MatchString(t.Function.Name):
			return nil, invalid(at+".name", "Invalid '%s.name': string does not match pattern '%s'.", at, names)
		case seen[t.Function.Name]:
			return nil, invalid(at+".name", "Tool names must be unique: '%s' comes twice.", t.Function.Name)
		}
		seen[t.Function.Name] = true
		if t.Function.Parameters != nil {
			var schema struct{ Type any }
			if json.Unmarshal(t.Function.Parameters, &schema) != nil || schema.Type != "object" {
				return nil, invalid(at+".parameters", "Invalid schema for function '%s': schema must be a JSON Schema of 'type: \"object\"'.", t.Function.Name)
			}
		}
		tools = append(tools, Tool{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	return tools, nil
}
