package openai

import (
	"bytes"
	"encoding/json"
	"maps"
)

// isExtra reports whether a field of a message is the provider's own. The rest is
// in the message already, or an annotation that no provider wants back.
func isExtra(key string) bool {
	switch key {
	case "role", "content", "refusal", "tool_calls", "function_call", "name",
		"annotations", "audio", "logprobs", "content_filter_results",
		"content_filter_offsets", "content_filter_result":
		return false
	}
	return true
}

// extrasMerge joins the pieces of a provider's own fields as they stream in: text
// is continued, objects are merged, lists of numbered entries are merged entry by
// entry. Pieces of text are kept apart until the end, since a long reasoning
// arrives in tens of thousands of them.
type extrasMerge map[string]*extraMerge

type extraMerge struct {
	kind    byte // the first byte of the JSON value
	text    textMerge
	fields  object
	entries []*entryMerge
	raw     json.RawMessage
}

// entryMerge is one entry of a list; texts are its fields that are continued.
type entryMerge struct {
	fields object
	texts  map[string]*textMerge
	raw    json.RawMessage // an entry that is no object
}

func (m *extrasMerge) add(key string, raw json.RawMessage) {
	raw = compact(raw)
	if isNull(raw) {
		return
	}
	if *m == nil {
		*m = extrasMerge{}
	}
	extra := (*m)[key]
	if extra == nil || extra.kind != raw[0] {
		extra = &extraMerge{kind: raw[0]}
		(*m)[key] = extra
	}
	switch extra.kind {
	case '"':
		extra.text.add(raw)
	case '{':
		extra.fields = overlay(extra.fields, asObject(raw))
	case '[':
		for _, entry := range asList(raw) {
			extra.addEntry(entry)
		}
	default:
		extra.raw = raw
	}
}

// addWhole takes a field of a whole message, whose lists stay as they are.
func (m *extrasMerge) addWhole(key string, raw json.RawMessage) {
	list := asList(raw)
	if list == nil {
		m.add(key, raw)
		return
	}
	if *m == nil {
		*m = extrasMerge{}
	}
	extra := &extraMerge{kind: '['}
	for _, entry := range list {
		extra.entries = append(extra.entries, &entryMerge{raw: compact(entry)})
	}
	(*m)[key] = extra
}

// result is what was put together, or nil for nothing.
func (m extrasMerge) result() object {
	if len(m) == 0 {
		return nil
	}
	all := object{}
	for key, extra := range m {
		all[key] = extra.result()
	}
	return all
}

func (e *extraMerge) result() json.RawMessage {
	switch e.kind {
	case '"':
		return encode(e.text.String())
	case '{':
		return encode(e.fields)
	case '[':
		list := make([]json.RawMessage, 0, len(e.entries))
		for _, entry := range e.entries {
			list = append(list, entry.result())
		}
		return encode(list)
	}
	return e.raw
}

// addEntry takes an entry of a streamed list, such as reasoning details. It may
// continue the last one.
func (e *extraMerge) addEntry(raw json.RawMessage) {
	fields := asObject(raw)
	if fields == nil {
		e.entries = append(e.entries, &entryMerge{raw: raw})
		return
	}
	var last *entryMerge
	if n := len(e.entries); n > 0 {
		last = e.entries[n-1]
	}
	if last == nil || !last.continuedBy(fields) {
		last = &entryMerge{texts: map[string]*textMerge{}}
		e.entries = append(e.entries, last)
	}
	for _, key := range [...]string{"text", "summary", "data", "thinking"} {
		raw := fields[key]
		if isNull(raw) || raw[0] != '"' {
			continue
		}
		if last.texts[key] == nil {
			last.texts[key] = &textMerge{}
		}
		last.texts[key].add(raw)
		delete(fields, key)
	}
	last.fields = overlay(last.fields, fields)
}

// continuedBy reports whether fields are the next piece of the entry: of its type,
// and of its index or, where entries have none, before its signature.
func (e *entryMerge) continuedBy(fields object) bool {
	if e.fields == nil || text(e.fields["type"]) != text(fields["type"]) {
		return false
	}
	if isNull(fields["index"]) {
		return isNull(e.fields["index"]) && isNull(e.fields["signature"]) && len(e.texts) > 0 && isThought(fields)
	}
	return string(e.fields["index"]) == string(fields["index"])
}

// isThought reports whether an entry is a piece of reasoning and nothing else.
func isThought(fields object) bool {
	for key := range fields {
		switch key {
		case "type", "index", "id", "format", "text", "summary", "thinking", "signature":
		default:
			return false
		}
	}
	return true
}

func (e *entryMerge) result() json.RawMessage {
	if e.fields == nil {
		return e.raw
	}
	all := object{}
	maps.Copy(all, e.fields)
	for key, joined := range e.texts {
		all[key] = encode(joined.String())
	}
	return encode(all)
}

// overlay sets the fields that have a value. Null in the first piece stays.
func overlay(into, from object) object {
	if into == nil {
		into = object{}
	}
	for key, value := range from {
		if _, has := into[key]; !has || !isNull(value) {
			into[key] = value
		}
	}
	return into
}

// encode is JSON without HTML escapes, or nil for what JSON cannot express.
func encode(v any) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSpace(out.Bytes())
}

func compact(raw json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil {
		return raw
	}
	return out.Bytes()
}
