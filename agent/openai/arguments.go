package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// unwrappedKey keeps, in a call's Extra, arguments that came as JSON inside JSON as
// the model wrote them.
const unwrappedKey = "treadle_arguments"

// readArguments returns arguments as a JSON object, or the text as a JSON string
// with the reason why it is none. Blank text means no arguments. So does null, but
// only for tools that need none.
func readArguments(raw, tool string, specs []agent.ToolSpec) (arguments json.RawMessage, invalid string) {
	trimmed := strings.TrimSpace(raw)
	if trimmed == "" {
		return json.RawMessage(`{}`), ""
	}
	var parsed any
	if err := json.Unmarshal([]byte(trimmed), &parsed); err != nil {
		if only := onlyObject(trimmed); only != nil {
			return only, ""
		}
		return quoted(raw), "the arguments are not valid JSON: " + err.Error()
	}
	switch value := parsed.(type) {
	case map[string]any:
		return json.RawMessage(trimmed), ""
	case string:
		if inner := strings.TrimSpace(value); asObject(json.RawMessage(inner)) != nil {
			return json.RawMessage(inner), ""
		}
	case nil:
		if !needsArguments(tool, specs) {
			return json.RawMessage(`{}`), ""
		}
	}
	return quoted(raw), "the arguments must be a JSON object, not " + kindOf(parsed)
}

// onlyObject is the one object that a text of several holds, or nil: gateways in
// front of Anthropic models send the empty input that opens a call before the real
// one, and some servers send the whole again after its pieces.
func onlyObject(trimmed string) json.RawMessage {
	values, rest := jsonValues([]byte(trimmed))
	if len(values) == 0 || len(rest) > 0 {
		return nil
	}
	only := values[0]
	for _, value := range values[1:] {
		switch {
		case len(asObject(only)) == 0:
			only = value
		case !bytes.Equal(compact(only), compact(value)):
			return nil
		}
	}
	if asObject(only) == nil || asObject(values[0]) == nil {
		return nil
	}
	return only
}

func quoted(raw string) json.RawMessage {
	q, err := json.Marshal(raw)
	if err != nil { // a string always encodes
		return json.RawMessage(`""`)
	}
	return q
}

func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case []any:
		return "an array"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	}
	return "a number"
}

func needsArguments(tool string, specs []agent.ToolSpec) bool {
	for _, spec := range specs {
		if spec.Name == tool {
			return len(asList(asObject(spec.InputSchema)["required"])) > 0
		}
	}
	return false
}
