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
	arguments json.RawMessage
	extras    object
}

func readFragment(raw json.RawMessage) fragment {
	fields := asObject(raw)
	function := asObject(fields["function"])
	f := fragment{
		index:     number(fields["index"]),
		id:        word(fields["id"]),
		name:      text(function["name"]),
		arguments: function["arguments"],
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

// blank reports whether the fragment brings no arguments.
func (f *fragment) blank() bool { return strings.TrimSpace(argumentText(f.arguments)) == "" }

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
	arguments textMerge
	scan      objectScan
	extras    extrasMerge
}

func (p *pendingCall) addArguments(raw json.RawMessage) {
	if isNull(raw) {
		return
	}
	if bytes.TrimSpace(raw)[0] != '"' {
		raw = encode(argumentText(raw))
	}
	p.scan.add(p.arguments.add(raw))
}

// addName takes a name, or the next part of one. Whether it is repeated, grows or
// comes in parts, it is settled when the arguments begin.
func (p *pendingCall) addName(name string) {
	switch {
	case p.name == "", p.blank() && strings.HasPrefix(name, p.name):
		p.name = name
	case p.blank():
		p.name += name
	}
}

func (p *pendingCall) blank() bool { return strings.TrimSpace(p.arguments.String()) == "" }

// has reports whether the fragment repeats the whole arguments of the call.
func (p *pendingCall) has(f *fragment) bool {
	own, given := p.arguments.String(), argumentText(f.arguments)
	// What is much shorter is no repetition; to look would cost more than it brings.
	if !p.scan.complete || 2*len(given) < len(own) {
		return false
	}
	return bytes.Equal(compact([]byte(own)), compact([]byte(given)))
}

// ends reports whether the fragment adds nothing to the complete call whose index it
// has: a repetition or, where ids tell calls apart, an empty last piece.
func (p *pendingCall) ends(f *fragment) bool { return p.has(f) || p.id != "" && f.blank() }

func (m *callMerge) add(f *fragment, started func(name string)) {
	call := m.target(f)
	if call == nil {
		if f.id == "" && f.name == "" && f.blank() && f.extras == nil {
			return
		}
		call = &pendingCall{index: m.nextIndex(f.index)}
		m.calls = append(m.calls, call)
	}
	if call.id == "" {
		call.id = f.id
	}
	if f.name != "" {
		if call.name == "" {
			started(f.name)
		}
		call.addName(f.name)
	}
	if !call.has(f) {
		call.addArguments(f.arguments)
	}
	for key, value := range f.extras {
		call.extras.add(key, value)
	}
}

// target is the call that a fragment continues, or nil when it starts one.
func (m *callMerge) target(f *fragment) *pendingCall {
	if f.id != "" {
		for _, call := range slices.Backward(m.calls) {
			if call.id == f.id && (f.index == nil || call.index == *f.index) {
				return continued(call, f)
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
	newID := f.id != "" && last.id != "" && f.id != last.id
	rest := f.index != nil && f.id == "" // of the call that the index stands for
	switch {
	case newID && (last.blank() || f.index == nil):
		return nil
	case f.name != last.name && (!rest || last.id == "" || !last.blank()):
		return nil
	case last.scan.complete && (!rest || !last.ends(f)):
		return nil
	}
	return last
}

// continued is the call with the fragment's id, unless the fragment is the start of
// another call with the same one: a name with arguments, after complete ones. The
// same arguments are a repetition. An empty object may stand before the real ones.
func continued(call *pendingCall, f *fragment) *pendingCall {
	filled := call.scan.complete && strings.TrimSpace(call.arguments.String()) != "{}"
	if filled && f.name != "" && !f.blank() && !call.has(f) {
		return nil
	}
	return call
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
		raw := p.arguments.String()
		call.Arguments, call.Invalid = readArguments(raw, p.name, specs)
		if call.Invalid == "" && strings.HasPrefix(strings.TrimSpace(raw), `"`) {
			if call.Extra == nil {
				call.Extra = object{}
			}
			call.Extra[unwrappedKey] = quoted(raw)
		}
		calls = append(calls, call)
	}
	return calls
}
