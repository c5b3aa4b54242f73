// Package openjson decodes JSON objects into structs without losing what the
// structs do not know: unknown keys, their order, values of a wrong form, and the
// difference between absent, null and empty survive a round trip.
package openjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"
)

// Members keeps of a JSON object what its Go struct cannot hold, so that writing
// it back loses nothing: the order of the keys, keys that the struct does not
// know, values of a wrong type, and nulls and empty strings as distinct from
// absence.
type Members struct {
	order  []string
	kept   map[string]json.RawMessage // unknown keys and values that do not fit their field
	blank  map[string]json.RawMessage // values that left their field zero, such as null and ""
	whole  json.RawMessage            // set instead of all else when the value is no object
	faults []Fault
}

// Fault is one reason why an object does not say what its struct expects.
type Fault struct {
	Kind  FaultKind
	Key   string // empty for the object as a whole
	Wants string // of WrongType: the form that belongs here, such as "a list"
	Found string // of WrongType: what stands here
}

// FaultKind says what is wrong.
type FaultKind int

// The kinds of faults.
const (
	WrongType FaultKind = iota
	UnknownKey
	DuplicateKey
)

// Decode fills the struct that into points to. It keeps what does not fit as a
// fault and fails only on text that is not JSON.
func (m *Members) Decode(data []byte, into any) error {
	*m = Members{}
	dec := json.NewDecoder(bytes.NewReader(data))
	start, err := dec.Token()
	if err != nil {
		return err
	}
	if start != json.Delim('{') {
		m.whole = bytes.Clone(data)
		m.faults = append(m.faults, Fault{Kind: WrongType, Wants: "an object", Found: KindOf(data)})
		return nil
	}
	fields := fieldsOf(into)
	seen := map[string]bool{}
	for dec.More() {
		token, err := dec.Token()
		if err != nil {
			return err
		}
		key, ok := token.(string)
		if !ok {
			return errors.New("object key is not a string")
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		if seen[key] {
			m.faults = append(m.faults, Fault{Kind: DuplicateKey, Key: key})
			m.forget(key)
		} else {
			m.order = append(m.order, key)
		}
		seen[key] = true
		m.take(fields, key, raw)
	}
	return nil
}

// Faults are what Decode found wrong, in the order of the text.
func (m *Members) Faults() []Fault { return m.faults }

// Whole is the value as it was when it was no object, else nil.
func (m *Members) Whole() json.RawMessage { return m.whole }

// Kept is the text of a key that the struct does not know or whose value does not
// fit its field; nil when there is none.
func (m *Members) Kept(key string) json.RawMessage { return m.kept[key] }

// Blank is the text of a key whose value leaves its field zero, such as null and
// ""; nil when there is none.
func (m *Members) Blank(key string) json.RawMessage { return m.blank[key] }

// Keys are the keys that a struct knows, given a pointer to it.
func Keys(ptr any) []string {
	fields := fieldsOf(ptr)
	keys := make([]string, len(fields))
	for i, f := range fields {
		keys[i] = f.name
	}
	return keys
}

// forget drops an earlier value of a key that comes again: the last one counts.
func (m *Members) forget(key string) {
	delete(m.kept, key)
	delete(m.blank, key)
}

func (m *Members) take(fields []field, key string, raw json.RawMessage) {
	for _, f := range fields {
		if f.name != key {
			continue
		}
		f.value.SetZero()
		if err := f.set(raw); err != nil {
			f.value.SetZero()
			m.keep(key, raw)
			m.faults = append(m.faults, Fault{Kind: WrongType, Key: key, Wants: wanted(f.value.Type()), Found: KindOf(raw)})
			return
		}
		if f.value.IsZero() {
			if m.blank == nil {
				m.blank = map[string]json.RawMessage{}
			}
			m.blank[key] = raw
		}
		return
	}
	m.keep(key, raw)
	m.faults = append(m.faults, Fault{Kind: UnknownKey, Key: key})
}

func (m *Members) keep(key string, raw json.RawMessage) {
	if m.kept == nil {
		m.kept = map[string]json.RawMessage{}
	}
	m.kept[key] = raw
}

// Encode writes the struct that from points to, with all that Decode has kept.
func (m *Members) Encode(from any) ([]byte, error) {
	if m.whole != nil {
		return m.whole, nil
	}
	fields := fieldsOf(from)
	known := make(map[string]field, len(fields))
	for _, f := range fields {
		known[f.name] = f
	}
	out := objectWriter{}
	written := map[string]bool{}
	for _, key := range m.order {
		written[key] = true
		f, isField := known[key]
		switch {
		case isField && !f.value.IsZero():
			out.value(key, f.value.Interface())
		case m.kept[key] != nil:
			out.value(key, m.kept[key])
		case m.blank[key] != nil:
			out.value(key, m.blank[key])
		}
	}
	for _, f := range fields {
		if !written[f.name] && !f.value.IsZero() {
			out.value(f.name, f.value.Interface())
		}
	}
	return out.close()
}

// field is one field of a struct with its JSON name.
type field struct {
	name  string
	value reflect.Value
}

var errInexact = errors.New("the field cannot hold this value as it is")

// set decodes one value; null leaves the field as it is. It is stricter than
// encoding/json where that would take something else than what is written: a quoted
// number is no number, null is no text of a list, and -0 is no whole number.
func (f field) set(raw json.RawMessage) error {
	if KindOf(raw) == "null" {
		return nil
	}
	if f.value.Type() == reflect.TypeFor[json.Number]() && KindOf(raw) == "a string" {
		return errInexact
	}
	if err := json.Unmarshal(raw, f.value.Addr().Interface()); err != nil {
		return err
	}
	switch into := f.value.Interface().(type) {
	case []string:
		var elements []*string
		if err := json.Unmarshal(raw, &elements); err != nil || slices.Contains(elements, nil) {
			return errInexact
		}
	case []int:
		return exactNumbers(raw)
	case *int:
		if *into == 0 && raw[0] == '-' {
			return errInexact
		}
	}
	return nil
}

// exactNumbers refuses a list of whole numbers that has null or -0, which a Go list
// holds as 0.
func exactNumbers(raw []byte) error {
	var elements []*json.Number
	if err := json.Unmarshal(raw, &elements); err != nil {
		return err
	}
	for _, element := range elements {
		if element == nil || *element == "-0" {
			return errInexact
		}
	}
	return nil
}

// fieldsOf lists the fields with a JSON tag of the struct that ptr points to.
func fieldsOf(ptr any) []field {
	value := reflect.ValueOf(ptr).Elem()
	fields := make([]field, 0, value.NumField())
	for i := range value.NumField() {
		name, _, _ := strings.Cut(value.Type().Field(i).Tag.Get("json"), ",")
		if name != "" && name != "-" {
			fields = append(fields, field{name: name, value: value.Field(i)})
		}
	}
	return fields
}

// objectWriter writes a JSON object member by member.
type objectWriter struct {
	buf bytes.Buffer
	err error
}

func (w *objectWriter) value(key string, value any) {
	if w.err != nil {
		return
	}
	if w.buf.Len() == 0 {
		w.buf.WriteByte('{')
	} else {
		w.buf.WriteByte(',')
	}
	w.plain(key)
	w.buf.WriteByte(':')
	w.plain(value)
}

// plain writes a value without escaping HTML: patterns are full of <, > and &.
func (w *objectWriter) plain(value any) {
	enc := json.NewEncoder(&w.buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil && w.err == nil {
		w.err = err
		return
	}
	w.buf.Truncate(w.buf.Len() - 1) // the encoder's newline
}

func (w *objectWriter) close() ([]byte, error) {
	if w.err != nil {
		return nil, w.err
	}
	if w.buf.Len() == 0 {
		w.buf.WriteByte('{')
	}
	w.buf.WriteByte('}')
	return w.buf.Bytes(), nil
}

// wanted names the JSON form of a Go type.
func wanted(t reflect.Type) string {
	if t == reflect.TypeFor[json.Number]() {
		return "a number"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int:
		return "a whole number"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		return "a list of " + strings.TrimPrefix(strings.TrimPrefix(wanted(t.Elem()), "an "), "a ") + "s"
	default:
		return "an object"
	}
}

// KindOf names what kind of value a JSON text starts.
func KindOf(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "nothing"
	}
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	default:
		return fmt.Sprintf("the number %s", Excerpt(string(raw), 40))
	}
}

// Excerpt cuts a text to a number of bytes, at a whole character.
func Excerpt(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
