package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// schemaObject is a JSON object that keeps the order of its members: models
// answer in the order of the properties that they are shown.
type schemaObject struct {
	names  []string
	values map[string]any // *schemaObject, []any, string, json.Number, bool or nil
}

func newSchemaObject() *schemaObject { return &schemaObject{values: map[string]any{}} }

func (o *schemaObject) get(name string) (any, bool) {
	value, ok := o.values[name]
	return value, ok
}

func (o *schemaObject) has(name string) bool {
	_, ok := o.values[name]
	return ok
}

func (o *schemaObject) set(name string, value any) {
	if _, ok := o.values[name]; !ok {
		o.names = append(o.names, name)
	}
	o.values[name] = value
}

func (o *schemaObject) delete(name string) {
	if _, ok := o.values[name]; ok {
		delete(o.values, name)
		o.names = slices.DeleteFunc(o.names, func(n string) bool { return n == name })
	}
}

// clone copies the object, and not what its members hold.
func (o *schemaObject) clone() *schemaObject {
	c := &schemaObject{names: slices.Clone(o.names), values: make(map[string]any, len(o.values))}
	maps.Copy(c.values, o.values)
	return c
}

// object and list return a member of that kind, or nothing.
func (o *schemaObject) object(name string) (*schemaObject, bool) {
	value, ok := o.values[name].(*schemaObject)
	return value, ok
}

func (o *schemaObject) list(name string) ([]any, bool) {
	value, ok := o.values[name].([]any)
	return value, ok
}

func (o *schemaObject) text(name string) string {
	value, _ := o.values[name].(string)
	return value
}

// MarshalJSON writes the members in their order.
func (o *schemaObject) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, name := range o.names {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := marshalPlain(name)
		if err != nil {
			return nil, err
		}
		value, err := marshalPlain(o.values[name])
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// marshalPlain is [json.Marshal] without the escaping of HTML, which would only
// make descriptions hard to read for a model.
func marshalPlain(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

const maxSchemaNesting = 200

// parseSchemaJSON reads one JSON value in order.
func parseSchemaJSON(data []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	value, err := decodeOrdered(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows the JSON value")
	}
	return value, nil
}

func decodeOrdered(decoder *json.Decoder, depth int) (any, error) {
	if depth > maxSchemaNesting {
		return nil, fmt.Errorf("it nests deeper than %d levels", maxSchemaNesting)
	}
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		object := newSchemaObject()
		for decoder.More() {
			name, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			value, err := decodeOrdered(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			object.set(name.(string), value) //nolint:forcetypeassert // the decoder gives nothing else here
		}
		_, err := decoder.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			value, err := decodeOrdered(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err := decoder.Token()
		return list, err
	}
	return token, nil
}
