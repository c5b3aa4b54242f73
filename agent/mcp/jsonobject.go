package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// member is one name and value of a JSON object.
type member struct {
	name  string
	value json.RawMessage
}

// object is a JSON object that keeps the order of its members, which models and
// prompt caches see.
type object []member

// parseObject reads one JSON object and nothing after it.
func parseObject(data []byte) (object, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	token, err := dec.Token()
	if err != nil {
		return nil, err
	}
	if token != json.Delim('{') {
		return nil, fmt.Errorf("is %s, not an object", jsonKind(data))
	}
	obj := object{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, err
		}
		obj = append(obj, member{name, value})
	}
	if _, err := dec.Token(); err != nil { // the closing brace
		return nil, err
	}
	return obj, nil
}

// get returns the last value under a name, as encoding/json does.
func (o object) get(name string) (json.RawMessage, bool) {
	for _, m := range slices.Backward(o) {
		if m.name == name {
			return m.value, true
		}
	}
	return nil, false
}

// set replaces a member where it stands, or adds it at the end.
func (o object) set(name string, value json.RawMessage) object {
	for i := range o {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, member{name, value})
}

// without returns the object less all members of a name.
func (o object) without(name string) object {
	kept := make(object, 0, len(o))
	for _, m := range o {
		if m.name != name {
			kept = append(kept, m)
		}
	}
	return kept
}

// json returns the object as compact JSON. Only the last of members with one name
// is kept.
func (o object) json() json.RawMessage {
	last := make(map[string]int, len(o))
	for i, m := range o {
		last[m.name] = i
	}
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, m := range o {
		if last[m.name] != i {
			continue
		}
		if buf.Len() > 1 {
			buf.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // a string always encodes
		buf.Write(name)
		buf.WriteByte(':')
		_ = json.Compact(&buf, m.value) // it was decoded as a RawMessage, so it is valid
	}
	buf.WriteByte('}')
	return buf.Bytes()
}

// jsonKind names the type of a JSON value, for errors.
func jsonKind(data []byte) string {
	data = bytes.TrimSpace(data)
	if len(data) == 0 {
		return "nothing"
	}
	switch data[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// isNull reports whether a value is absent or null.
func isNull(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) == 0 || string(data) == "null"
}

func isArray(value json.RawMessage) bool { return jsonKind(value) == "an array" }

func isObject(value json.RawMessage) bool { return jsonKind(value) == "an object" }

func isString(value json.RawMessage) bool { return jsonKind(value) == "a string" }
