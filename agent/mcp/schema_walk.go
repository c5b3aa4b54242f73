package mcp

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/treadle-dev/treadle/workspace"
)

// Bounds of a schema that is offered to a model.
const (
	maxSchemaSize    = 256 << 10 // bytes; about 64,000 tokens in every request
	maxSchemaDepth   = 50        // schemas inside each other
	maxSchemaNesting = 200       // objects and arrays inside each other
)

// holds says what a keyword's value is made of.
type holds int

const (
	plainValue    holds = iota // data, in which nothing is a keyword
	oneSchema                  // additionalProperties
	schemaList                 // allOf
	schemasByName              // properties
	dependency                 // dependencies: schemas or lists of names, by name
	oneOrMore                  // items, extends: a schema or a list of them
	someSchemas                // type, disallow of draft 3: names, with schemas among them
)

// keyword tells where schemas are inside a schema. Everything else, such as default,
// enum and const, is data; and so are words of draft 3 in any other dialect, where
// they may be anybody's.
func (w *schemaWalk) keyword(m member) holds {
	switch m.name {
	case "additionalProperties", "propertyNames", "unevaluatedProperties",
		"unevaluatedItems", "contains", "not", "if", "then", "else", "contentSchema":
		return oneSchema
	case "additionalItems":
		if isObject(m.value) {
			return oneSchema
		}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return schemaList
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		return schemasByName
	case "dependencies":
		if isObject(m.value) {
			return dependency
		}
	case "items":
		return oneOrMore
	case "extends":
		if w.dialect == 3 {
			return oneOrMore
		}
	case "type":
		return someSchemas
	case "disallow":
		if w.dialect == 3 {
			return someSchemas
		}
	}
	return plainValue
}

// schemaPlace is where a schema stands inside another.
type schemaPlace struct {
	pointer string // JSON pointer
	name    string // the last token of the pointer
	under   string // the keyword that it stands under
	depth   int    // schemas around it
}

func (p schemaPlace) in(tokens ...string) schemaPlace {
	for _, token := range tokens {
		p.pointer += "/" + workspace.PointerEscape(token)
		p.name = token
	}
	return p
}

// schemaWalk goes through a schema and all schemas inside it.
type schemaWalk struct {
	dialect dialect
	// before, where it is not nil, rewrites a schema that is an object before those
	// inside it.
	before func(schema object) object
	// change rewrites a schema that is an object, after those inside it.
	change func(schema object, at schemaPlace) object
}

// root walks a whole schema. An error says that something stands where a schema
// must.
func (w *schemaWalk) root(raw json.RawMessage) (json.RawMessage, error) {
	return w.schema(raw, schemaPlace{})
}

func (w *schemaWalk) schema(raw json.RawMessage, at schemaPlace) (json.RawMessage, error) {
	if jsonKind(raw) == "a boolean" {
		return raw, nil
	}
	schema, err := parseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("the input schema of %q is %s, not a schema (at %s)", at.name, jsonKind(raw), at.pointer)
	}
	if at.depth++; at.depth > maxSchemaDepth {
		return nil, fmt.Errorf("the input schema has more than %d schemas inside each other", maxSchemaDepth)
	}
	if w.before != nil {
		schema = w.before(schema)
	}
	inner := make(object, 0, len(schema))
	for _, m := range schema {
		value, err := w.value(m, at)
		switch {
		case err != nil:
			return nil, err
		case value != nil:
			inner = append(inner, member{m.name, value})
		}
	}
	return w.change(inner, at).json(), nil
}

// value returns the new value of a keyword; nil takes it away, which a null
// deserves where a schema must stand.
func (w *schemaWalk) value(m member, at schemaPlace) (json.RawMessage, error) {
	kind := w.keyword(m)
	if kind == plainValue {
		return m.value, nil
	}
	if isNull(m.value) {
		return nil, nil
	}
	at = at.in(m.name)
	at.under = m.name
	switch {
	case kind == oneSchema, kind == oneOrMore && !isArray(m.value):
		return w.schema(m.value, at)
	case kind == schemaList, kind == oneOrMore:
		return w.list(m.value, at, func(json.RawMessage) bool { return true })
	case kind == someSchemas && isArray(m.value):
		return w.list(m.value, at, isObject)
	case kind == someSchemas && isObject(m.value):
		return w.schema(m.value, at)
	case kind == someSchemas:
		return m.value, nil
	}
	return w.named(m.value, at)
}

func (w *schemaWalk) list(raw json.RawMessage, at schemaPlace, isSchema func(json.RawMessage) bool) (json.RawMessage, error) {
	var items []json.RawMessage
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, fmt.Errorf("the input schema's %s: is %s, not a list of schemas", at.name, jsonKind(raw))
	}
	for i, item := range items {
		if !isSchema(item) {
			continue
		}
		var err error
		if items[i], err = w.schema(item, at.in(strconv.Itoa(i))); err != nil {
			return nil, err
		}
	}
	return jsonList(items), nil
}

func (w *schemaWalk) named(raw json.RawMessage, at schemaPlace) (json.RawMessage, error) {
	if isEmptyArray(raw) { // how PHP writes an empty object
		return json.RawMessage(`{}`), nil
	}
	named, err := parseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("the input schema's %s: %w", at.name, err)
	}
	for i := range named {
		if at.under == "dependencies" && !isObject(named[i].value) {
			continue // names, or true
		}
		if named[i].value, err = w.schema(named[i].value, at.in(named[i].name)); err != nil {
			return nil, err
		}
	}
	return named.json(), nil
}

// nesting counts how deep objects and arrays of valid JSON are inside each other.
func nesting(raw json.RawMessage) int {
	depth, deepest := 0, 0
	inText := false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case inText && c == '\\':
			i++ // what follows is a part of the text
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// jsonList writes a list of JSON values.
func jsonList(items []json.RawMessage) json.RawMessage {
	list := json.RawMessage{'['}
	for i, item := range items {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, item...)
	}
	return append(list, ']')
}
