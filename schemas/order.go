package schemas

import (
	"bytes"
	"encoding/json"
	"slices"
)

// keywordOrder is the order in which the keywords of a schema are written, so that a
// reader meets what it is about first and the details last. Others come at the end.
var keywordOrder = []string{
	"$schema", "$id", "title", "description", "deprecated", "$ref", "type", "const", "enum", "default", "format",
	"pattern", "minLength", "minimum", "maximum", "minItems", "maxItems", "items", "required", "properties",
	"additionalProperties", "dependentRequired", "anyOf", "oneOf", "not", "allOf", "if", "then", "else", "$defs",
}

// member is a key of a JSON object with its value.
type member struct {
	key   string
	value json.RawMessage
}

// members are those of an object, in order; ok is false for other values.
func members(object []byte) (list []member, ok bool) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if start, err := dec.Token(); err != nil || start != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, false
		}
		m := member{key: key.(string)} //nolint:forcetypeassert // the key of an object
		if dec.Decode(&m.value) != nil {
			return nil, false
		}
		list = append(list, m)
	}
	return list, true
}

// ordered writes a schema with its keywords in order.
func ordered(schema []byte) []byte {
	list, ok := members(schema)
	if !ok {
		return schema // true or false
	}
	rank := func(m member) int {
		if at := slices.Index(keywordOrder, m.key); at >= 0 {
			return at
		}
		return len(keywordOrder)
	}
	slices.SortStableFunc(list, func(a, b member) int { return rank(a) - rank(b) })
	for i := range list {
		list[i].value = orderedPart(list[i].key, list[i].value)
	}
	return joined(list)
}

// orderedPart is the value of a keyword.
func orderedPart(keyword string, value []byte) []byte {
	switch keyword {
	case "items", "additionalProperties", "not", "if", "then", "else":
		return ordered(value)
	case "properties", "$defs":
		list, _ := members(value)
		for i := range list {
			list[i].value = ordered(list[i].value)
		}
		return joined(list)
	case "anyOf", "oneOf", "allOf":
		var list []json.RawMessage
		if json.Unmarshal(value, &list) != nil {
			return value
		}
		for i := range list {
			list[i] = ordered(list[i])
		}
		return append(append([]byte{'['}, bytes.Join(raws(list), []byte{','})...), ']')
	default:
		return value
	}
}

func raws(list []json.RawMessage) [][]byte {
	texts := make([][]byte, len(list))
	for i, text := range list {
		texts[i] = text
	}
	return texts
}

func joined(list []member) []byte {
	text := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, plain(m.key)...), ':'), m.value...)
	}
	return append(text, '}')
}

// plain is the JSON of a value with "<", ">" and "&" as they are.
func plain(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // is made of texts, numbers, lists and maps alone
	return bytes.TrimRight(text.Bytes(), "\n")
}
