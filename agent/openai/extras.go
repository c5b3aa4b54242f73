package openai

import (
	"bytes"
	"encoding/json"
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

// mergeExtra joins the pieces of a provider's own field as they stream in: text
// is continued, objects are merged, lists of numbered entries are merged entry by
// entry.
func mergeExtra(into, from json.RawMessage) json.RawMessage {
	from = compact(from)
	switch {
	case isNull(into):
		if list := asList(from); list != nil {
			return encode(mergeEntries(nil, list), from)
		}
		return from
	case isNull(from):
		return into
	}
	switch {
	case into[0] == '"' && from[0] == '"':
		return encode(text(into)+text(from), into)
	case into[0] == '{' && from[0] == '{':
		merged := asObject(into)
		for key, value := range asObject(from) {
			// Inside an object only whole values are known to arrive.
			if !isNull(value) {
				merged[key] = value
			}
		}
		return encode(merged, into)
	case into[0] == '[' && from[0] == '[':
		return encode(mergeEntries(asList(into), asList(from)), into)
	}
	return from
}

// mergeEntries joins streamed entries, such as reasoning details: an entry with
// the index and type of the last one continues it.
func mergeEntries(entries, more []json.RawMessage) []json.RawMessage {
	for _, entry := range more {
		if n := len(entries); n > 0 && continues(asObject(entries[n-1]), asObject(entry)) {
			entries[n-1] = joinEntry(asObject(entries[n-1]), asObject(entry))
			continue
		}
		entries = append(entries, entry)
	}
	return entries
}

func continues(last, next object) bool {
	if last == nil || next == nil || isNull(next["index"]) {
		return false
	}
	return string(last["index"]) == string(next["index"]) && text(last["type"]) == text(next["type"])
}

func joinEntry(into, from object) json.RawMessage {
	for key, value := range from {
		switch key {
		case "text", "summary", "data", "thinking":
			if !isNull(into[key]) && !isNull(value) {
				into[key] = encode(text(into[key])+text(value), into[key])
				continue
			}
		}
		if !isNull(value) {
			into[key] = value
		}
	}
	return encode(into, nil)
}

func encode(v any, otherwise json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return otherwise
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
