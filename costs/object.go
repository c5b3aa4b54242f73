package costs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"
)

// object is a JSON object whose fields are kept as they are until they are
// needed, so that what this package does not know survives a rewrite.
type object map[string]json.RawMessage

var (
	errNotObject = errors.New("not a JSON object")
	errTwice     = errors.New("the field is there twice")
)

// readObject reads an object of valid JSON; nothing and null are an empty one. A
// field that is there twice is refused, because a rewrite would lose one of them.
func readObject(raw json.RawMessage) (object, error) {
	o := object{}
	err := members(raw, func(name string, value json.RawMessage) error {
		if _, twice := o[name]; twice {
			return fmt.Errorf("%q: %w", name, errTwice)
		}
		o[name] = value
		return nil
	})
	if err != nil {
		return nil, err
	}
	return o, nil
}

// encode writes the object with sorted keys. Its values are valid JSON already and
// are not looked into again.
func (o object) encode() json.RawMessage {
	size := len("{}")
	for name, value := range o {
		size += len(name) + len(value) + len(`"":,`)
	}
	raw := append(make([]byte, 0, size), '{')
	for i, name := range slices.Sorted(maps.Keys(o)) {
		if i > 0 {
			raw = append(raw, ',')
		}
		raw = append(raw, quote(name)...)
		raw = append(raw, ':')
		raw = append(raw, o[name]...)
	}
	return append(raw, '}')
}

// quote returns the JSON of a text, with "<", ">" and "&" as they are.
func quote(text string) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // neither a text nor a buffer can fail
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

func (o object) setString(name, value string) { o[name] = quote(value) }

// time reads a field; an absent or null one is the zero time.
func (o object) time(name string) (time.Time, error) {
	raw := o[name]
	if len(raw) == 0 || string(raw) == "null" {
		return time.Time{}, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", name, err)
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %w", name, err)
	}
	return clampYear(at.UTC()), nil
}

func (o object) setTime(name string, at time.Time) {
	if at.IsZero() {
		delete(o, name)
		return
	}
	o.setString(name, at.UTC().Format(time.RFC3339Nano))
}
