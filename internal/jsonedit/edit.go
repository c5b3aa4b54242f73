package jsonedit

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
)

// ErrNoObject is why a path leads nowhere: something on it is no object.
var ErrNoObject = errors.New("is no object, so it has no keys")

// Get is the value at a path of keys, nil when there is none. Where a key stands
// twice, the last one counts, here and in all functions.
func Get(text []byte, path ...string) json.RawMessage {
	for _, key := range path {
		members := Members(text)
		i := last(members, key)
		if i < 0 {
			return nil
		}
		text = members[i].Value
	}
	return text
}

// Set puts a value at a path of keys of an object. Objects on the way that are absent
// or null are made.
func Set(object []byte, path []string, value []byte) (json.RawMessage, error) {
	if len(path) == 0 {
		return value, nil
	}
	if !IsObject(object) {
		if string(bytes.TrimSpace(object)) != "null" && len(object) > 0 {
			return nil, ErrNoObject
		}
		object = []byte("{}")
	}
	members := Members(object)
	i := last(members, path[0])
	if i < 0 {
		members = append(members, Member{Key: path[0], Name: encodeString(path[0])})
		i = len(members) - 1
	}
	inner, err := Set(members[i].Value, path[1:], value)
	if err != nil {
		return nil, err
	}
	members[i].Value = inner
	return join(members), nil
}

// Unset takes a key away, however often it stands there. A path that leads nowhere
// changes nothing.
func Unset(object []byte, path []string) json.RawMessage {
	members := Members(object)
	if len(path) == 0 {
		return object
	}
	i := last(members, path[0])
	switch {
	case i < 0:
		return object
	case len(path) == 1:
		members = slices.DeleteFunc(members, func(m Member) bool { return m.Key == path[0] })
	default:
		members[i].Value = Unset(members[i].Value, path[1:])
	}
	return join(members)
}

// Merge gives old the content of wanted. What both have stays as old spells it, and
// where old has it; what is new comes last.
func Merge(old, wanted []byte) json.RawMessage {
	if Equal(old, wanted) {
		return old
	}
	return merge(old, wanted)
}

func merge(old, wanted []byte) json.RawMessage {
	switch {
	case bytes.Equal(old, wanted):
		return old
	case IsObject(old) && IsObject(wanted):
		return mergeObjects(Members(old), Members(wanted))
	case IsList(old) && IsList(wanted):
		return mergeLists(old, wanted)
	case IsObject(old) || IsList(old) || !Equal(old, wanted):
		return wanted
	}
	return old
}

func mergeObjects(old, wanted []Member) json.RawMessage {
	var merged []Member
	for i, m := range old {
		switch j := last(wanted, m.Key); {
		case j < 0:
		case last(old, m.Key) == i:
			m.Value = merge(m.Value, wanted[j].Value)
			merged = append(merged, m)
		default: // an earlier one of several, which does not count
			merged = append(merged, m)
		}
	}
	for i, m := range wanted {
		if last(old, m.Key) < 0 && last(wanted, m.Key) == i {
			merged = append(merged, m)
		}
	}
	return join(merged)
}

// mergeLists merges element by element: a list has no keys that would say which
// element of one is which of the other.
func mergeLists(old, wanted []byte) json.RawMessage {
	was, is := Elements(old), Elements(wanted)
	out := []byte{'['}
	for i, span := range is {
		if i > 0 {
			out = append(out, ',')
		}
		element := wanted[span.Start:span.End]
		if i < len(was) {
			element = merge(old[was[i].Start:was[i].End], element)
		}
		out = append(out, element...)
	}
	return append(out, ']')
}

// Equal reports whether two texts say the same: strings however they are escaped,
// objects whatever the order of their keys. Numbers are the same when they are spelled
// the same, since 1 and 1.0 are two things for some readers.
func Equal(a, b []byte) bool {
	a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
	switch {
	case bytes.Equal(a, b):
		return true
	case len(a) == 0 || len(b) == 0 || a[0] != b[0]:
		return false
	}
	left, err := plain(a)
	if err != nil {
		return false
	}
	right, err := plain(b)
	return err == nil && reflect.DeepEqual(left, right)
}

// plain is a text as maps, lists and plain values, with numbers as they are spelled.
func plain(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value any
	err := dec.Decode(&value)
	return value, err
}

// Indent lays a text out over lines with two spaces a level. The prefix begins every
// line but the first. Empty objects and lists stay on one line.
func Indent(text []byte, prefix string) []byte {
	var out bytes.Buffer
	_ = json.Indent(&out, text, prefix, "  ") // the text is valid JSON
	return out.Bytes()
}

// LineEnds gives a text the line ends of another one, where all of that one's are CR LF.
func LineEnds(text, like []byte) []byte {
	if n := bytes.Count(like, []byte("\r\n")); n == 0 || n != bytes.Count(like, []byte("\n")) {
		return text
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
}

func last(members []Member, key string) int {
	for i, member := range slices.Backward(members) {
		if member.Key == key {
			return i
		}
	}
	return -1
}

func join(members []Member) json.RawMessage {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(append(out, m.Name...), ':'), m.Value...)
	}
	return append(out, '}')
}

func encodeString(s string) json.RawMessage {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string always encodes
	return bytes.TrimSpace(out.Bytes())
}
