package jsonedit

import (
	"encoding/json"
	"slices"
	"strconv"
)

// At is the value at a path of keys and list indices, nil when there is none.
func At(text []byte, path ...string) json.RawMessage {
	for _, token := range path {
		if IsObject(text) {
			text = Get(text, token)
		} else {
			text = element(text, token)
		}
		if text == nil {
			return nil
		}
	}
	return text
}

func element(list []byte, token string) []byte {
	spans := Elements(list)
	i := index(token, len(spans))
	if i < 0 {
		return nil
	}
	return list[spans[i].Start:spans[i].End]
}

// index is the list index that a token means, -1 when it is none of a list of n.
func index(token string, n int) int {
	i, err := strconv.Atoi(token)
	if err != nil || i < 0 || i >= n || strconv.Itoa(i) != token {
		return -1
	}
	return i
}

// Replace puts a value in the place of the one at a path of keys and list indices. A
// path that leads nowhere changes nothing.
func Replace(text []byte, path []string, value []byte) json.RawMessage {
	if len(path) == 0 {
		return value
	}
	if IsObject(text) {
		members := Members(text)
		i := last(members, path[0])
		if i < 0 {
			return text
		}
		members[i].Value = Replace(members[i].Value, path[1:], value)
		return join(members)
	}
	spans := Elements(text)
	i := index(path[0], len(spans))
	if i < 0 {
		return text
	}
	return spliced(text, spans, func(at int, element []byte) []byte {
		if at == i {
			return Replace(element, path[1:], value)
		}
		return element
	})
}

// MapStrings gives every text in a value, though not the keys, to a function, with the
// path of keys and list indices that leads there, and puts in its place what the
// function returns. A value without a change is returned as it is.
func MapStrings(text []byte, replace func(path []string, value string) string) json.RawMessage {
	return mapStrings(text, nil, replace)
}

func mapStrings(text []byte, path []string, replace func([]string, string) string) json.RawMessage {
	switch {
	case IsObject(text):
		members, changed := Members(text), false
		for i := range members {
			m := &members[i]
			value := mapStrings(m.Value, append(slices.Clip(path), m.Key), replace)
			changed = changed || string(value) != string(m.Value)
			m.Value = value
		}
		if changed {
			return join(members)
		}
	case IsList(text):
		changed := false
		mapped := spliced(text, Elements(text), func(at int, element []byte) []byte {
			value := mapStrings(element, append(slices.Clip(path), strconv.Itoa(at)), replace)
			changed = changed || string(value) != string(element)
			return value
		})
		if changed {
			return mapped
		}
	case starts(text, '"'):
		was := decodeString(text)
		if is := replace(path, was); is != was {
			return encodeString(is)
		}
	}
	return text
}

// spliced is a list with other elements.
func spliced(list []byte, spans []Span, replace func(at int, element []byte) []byte) json.RawMessage {
	out := []byte{'['}
	for i, span := range spans {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, replace(i, list[span.Start:span.End])...)
	}
	return append(out, ']')
}
