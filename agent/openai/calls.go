package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// fragment is a piece of a tool call. What is empty is unchanged.
type fragment struct {
	index     *int64
	id        string
	name      string
	arguments string
	extras    object
}

func readFragment(raw json.RawMessage) fragment {
	fields := asObject(raw)
	function := asObject(fields["function"])
	f := fragment{
		index:     number(fields["index"]),
		id:        text(fields["id"]),
		name:      text(function["name"]),
		arguments: argumentText(function["arguments"]),
	}
	for key, value := range fields {
		switch key {
		case "index", "id", "type", "function":
		default:
			if !isNull(value) {
				if f.extras == nil {
					f.extras = object{}
				}
				f.extras[key] = value
			}
		}
	}
	return f
}

// argumentText is the text of an arguments field, which is a string in the
// protocol, and a plain object from some servers.
func argumentText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) {
		return ""
	}
	if raw[0] == '"' {
		return text(raw)
	}
	return string(raw)
}

// callMerge puts tool calls together from fragments.
type callMerge struct{ calls []*pendingCall }

type pendingCall struct {
	index     int64
	id        string
	name      string
	arguments strings.Builder
	extras    extrasMerge
}

// open reports whether the arguments so far are the beginning of an object. The
// last letter is looked at first, since this is asked for every piece.
func (p *pendingCall) open() bool {
	arguments := strings.TrimSpace(p.arguments.String())
	return !strings.HasSuffix(arguments, "}") || !json.Valid([]byte(arguments))
}

func (m *callMerge) add(f fragment, started func(name string)) {
	call := m.target(f)
	if call == nil {
		if f.id == "" && f.name == "" && strings.TrimSpace(f.arguments) == "" && f.extras == nil {
			return
		}
		call = &pendingCall{index: m.nextIndex(f.index)}
		m.calls = append(m.calls, call)
	}
	if call.id == "" {
		call.id = f.id
	}
	if call.name == "" && f.name != "" {
		call.name = f.name
		started(f.name)
	}
	call.arguments.WriteString(f.arguments)
	for key, value := range f.extras {
		call.extras.add(key, value)
	}
}

// target is the call that a fragment continues, or nil when it starts one.
func (m *callMerge) target(f fragment) *pendingCall {
	if f.id != "" {
		for _, call := range m.calls {
			if call.id == f.id && (f.index == nil || call.index == *f.index) {
				return call
			}
		}
	}
	last := m.lastAt(f.index)
	if last == nil || f.name == "" {
		return last
	}
	// A name opens a call. It is repeated by servers that send it with every piece,
	// which shows while the arguments so far are open and the name is the same; and
	// servers that give all calls of a reply one index, or none, open the next call
	// with it.
	if last.name == "" {
		if last.id == "" || f.id == "" || last.id == f.id {
			return last
		}
		return nil
	}
	blank := strings.TrimSpace(last.arguments.String()) == ""
	newID := f.id != "" && last.id != "" && f.id != last.id
	switch {
	case blank && newID, f.name != last.name, !last.open():
		return nil
	}
	return last
}

// lastAt is the newest call with the index, or the newest of all without one.
func (m *callMerge) lastAt(index *int64) *pendingCall {
	for _, call := range slices.Backward(m.calls) {
		if index == nil || call.index == *index {
			return call
		}
	}
	return nil
}

func (m *callMerge) nextIndex(index *int64) int64 {
	if index != nil {
		return *index
	}
	next := int64(0)
	for _, call := range m.calls {
		next = max(next, call.index+1)
	}
	return next
}

// result returns the calls in the model's order. Calls without an id of their own
// get one made from the prefix, since results are paired by it.
func (m *callMerge) result(prefix string, specs []agent.ToolSpec) []agent.ToolCall {
	pending := slices.Clone(m.calls)
	slices.SortStableFunc(pending, func(a, b *pendingCall) int {
		switch {
		case a.index < b.index:
			return -1
		case a.index > b.index:
			return 1
		}
		return 0
	})
	var calls []agent.ToolCall
	used := map[string]bool{}
	for i, p := range pending {
		call := agent.ToolCall{ID: p.id, Name: p.name, Extra: p.extras.result()}
		for n := i; call.ID == "" || used[call.ID]; n++ {
			call.ID = fmt.Sprintf("call_%s_%d", prefix, n)
		}
		used[call.ID] = true
		call.Arguments, call.Invalid = readArguments(p.arguments.String(), p.name, specs)
		calls = append(calls, call)
	}
	return calls
}

// readArguments returns arguments as a JSON object, or the text as a JSON string
// with the reason why it is none. Blank text means no arguments. So does null, but
// only for tools that need none.
func readArguments(raw, tool string, specs []agent.ToolSpec) (arguments json.RawMessage, invalid string) {
	trimmed := strings.TrimSpace(raw)
	if trimmed == "" {
		return json.RawMessage(`{}`), ""
	}
	// Gateways in front of Anthropic models send the empty input that opens a call
	// and then the real one.
	if rest, ok := strings.CutPrefix(trimmed, "{}"); ok && asObject(json.RawMessage(rest)) != nil {
		trimmed = strings.TrimSpace(rest)
	}
	var parsed any
	if err := json.Unmarshal([]byte(trimmed), &parsed); err != nil {
		return quoted(raw), "the arguments are not valid JSON: " + err.Error()
	}
	switch parsed.(type) {
	case map[string]any:
		return json.RawMessage(trimmed), ""
	case nil:
		if !needsArguments(tool, specs) {
			return json.RawMessage(`{}`), ""
		}
	}
	return quoted(raw), "the arguments must be a JSON object, not " + kindOf(parsed)
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
