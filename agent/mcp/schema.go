package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxRootRefs bounds how many $ref a schema's root may go through.
const maxRootRefs = 16

// inputSchema makes a server's input schema one that model endpoints take: an
// object schema with properties, in the latest dialect. It accepts the arguments
// that it did; what needs no change is left as it is, in its order. The notes say
// what of the schema was of no use. An error says why the schema is hopeless; the
// tool is then left out.
func inputSchema(raw json.RawMessage) (_ json.RawMessage, notes []string, err error) {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) || string(raw) == "true" { // no schema, or one that allows everything
		raw = json.RawMessage(`{}`)
	}
	switch deep := nesting(raw); {
	case len(raw) > maxSchemaSize:
		return nil, nil, fmt.Errorf("the input schema has %d bytes; at most %d are offered to a model", len(raw), maxSchemaSize)
	case deep > maxSchemaNesting:
		return nil, nil, fmt.Errorf("the input schema is %d levels deep; at most %d are offered to a model", deep, maxSchemaNesting)
	}
	schema, err := parseObject(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("the input schema %w", err)
	}
	m := &modernizer{
		dialect:   dialectOf(schema),
		recursive: bytes.Contains(raw, []byte(`"$recursiveAnchor"`)),
		moved:     map[string]string{},
	}
	modern, err := (&schemaWalk{dialect: m.dialect, before: requiredProperties, change: m.rewrite}).root(raw)
	if err != nil {
		return nil, nil, err
	}
	root, err := rootSchema(modern, m.follow)
	if err != nil {
		return nil, nil, err
	}
	checked, lost, err := checkRefs(root.json(), m)
	return checked, append(m.notes, lost...), err
}

// rootSchema gives the root the form that endpoints want of it.
func rootSchema(raw json.RawMessage, follow func(string) string) (object, error) {
	schema, err := parseObject(raw)
	if err != nil {
		return nil, err
	}
	if schema, err = inlineRootRef(schema, follow); err != nil {
		return nil, err
	}
	if schema, err = withObjectType(schema); err != nil {
		return nil, err
	}
	if schema, err = withProperties(schema); err != nil {
		return nil, err
	}
	if required, ok := schema.get("required"); ok && !isArray(required) {
		schema = schema.without("required") // null, or the boolean of draft 3, which says nothing here
	}
	return schema, nil
}

// inlineRootRef replaces a $ref at the root, which endpoints refuse, by what it
// points at. References further in stay, with the definitions they need. Where the
// two say different things, both must hold, and the reference moves into allOf.
func inlineRootRef(schema object, follow func(string) string) (object, error) {
	root := schema.json()
	for range maxRootRefs {
		value, ok := schema.get("$ref")
		if !ok {
			return schema, nil
		}
		if jsonKind(value) != "a string" {
			return nil, errors.New("the input schema has a $ref that is not a string")
		}
		ref := textOf(value)
		target, err := resolve(root, ref, follow)
		if err != nil {
			return nil, err
		}
		own := schema.without("$ref")
		if clash(own, target) {
			return own.also(object{{"allOf", jsonList([]json.RawMessage{object{{"$ref", value}}.json()})}}), nil
		}
		for _, m := range target {
			if _, taken := own.get(m.name); !taken {
				own = append(own, m)
			}
		}
		schema = own
	}
	return nil, fmt.Errorf("the input schema's $ref leads through more than %d others", maxRootRefs)
}

// clash reports whether a schema and what it refers to restrict the same thing in
// different ways, or the latter is a document of its own.
func clash(own, target object) bool {
	for _, m := range target {
		switch m.name {
		case "title", "description", "default", "examples", "$comment":
			continue
		case "$id":
			return true
		}
		if value, ok := own.get(m.name); ok && !bytes.Equal(value, m.value) {
			return true
		}
	}
	return false
}

// resolve follows a local JSON pointer, such as #/$defs/Query, to a schema that is
// an object.
func resolve(root json.RawMessage, ref string, follow func(string) string) (object, error) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && !strings.HasPrefix(pointer, "/") {
		return nil, fmt.Errorf("the input schema is only a $ref to %q, which does not lie inside it", ref)
	}
	found := root
	if pointer != "" {
		if found, ok = lookUp(root, follow(pointer)); !ok {
			return nil, fmt.Errorf("the input schema is a $ref to %q, which does not exist", ref)
		}
	}
	target, err := parseObject(found)
	if err != nil {
		return nil, fmt.Errorf("the input schema is a $ref to %q, which %w", ref, err)
	}
	return target, nil
}

func withObjectType(schema object) (object, error) {
	value, ok := schema.get("type")
	if !ok || isNull(value) {
		return append(object{{"type", json.RawMessage(`"object"`)}}, schema.without("type")...), nil
	}
	var one string
	if json.Unmarshal(value, &one) == nil {
		if one == "object" {
			return schema, nil
		}
		return nil, fmt.Errorf("the input schema is of type %q; arguments are always an object", one)
	}
	var several []string
	if json.Unmarshal(value, &several) == nil && slices.Contains(several, "object") {
		return schema.set("type", json.RawMessage(`"object"`)), nil
	}
	return nil, fmt.Errorf("the input schema is of type %s; arguments are always an object", value)
}

func withProperties(schema object) (object, error) {
	value, ok := schema.get("properties")
	if !ok || isNull(value) || isEmptyArray(value) { // an empty array is how PHP writes an empty object
		return schema.set("properties", json.RawMessage(`{}`)), nil
	}
	properties, err := parseObject(value)
	if err != nil {
		return nil, fmt.Errorf("the input schema's properties: %w", err)
	}
	for _, p := range properties {
		if kind := jsonKind(p.value); kind != "an object" && kind != "a boolean" {
			return nil, fmt.Errorf("the input schema of %q is %s, not a schema", p.name, kind)
		}
	}
	return schema, nil
}

func isEmptyArray(value json.RawMessage) bool {
	var items []json.RawMessage
	return isArray(value) && json.Unmarshal(value, &items) == nil && len(items) == 0
}
