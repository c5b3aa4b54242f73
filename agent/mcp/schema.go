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
// object schema with properties. What it need not touch it leaves as it is, in
// its order and its dialect. An error says why the schema is hopeless; the tool
// is then left out.
func inputSchema(raw json.RawMessage) (json.RawMessage, error) {
	raw = bytes.TrimSpace(raw)
	if isNull(raw) || string(raw) == "true" { // no schema, or one that allows everything
		raw = json.RawMessage(`{}`)
	}
	schema, err := parseObject(raw)
	if err != nil {
		return nil, fmt.Errorf("the input schema %w", err)
	}
	if schema, err = inlineRootRef(schema); err != nil {
		return nil, err
	}
	// The dialect's name means nothing to a model, and some endpoints refuse it.
	schema = schema.without("$schema")
	if schema, err = withObjectType(schema); err != nil {
		return nil, err
	}
	if schema, err = withProperties(schema); err != nil {
		return nil, err
	}
	if required, ok := schema.get("required"); ok && !isArray(required) {
		schema = schema.without("required") // null, or the boolean of draft 3, which says nothing here
	}
	return schema.json(), nil
}

// inlineRootRef replaces a $ref at the root, which endpoints refuse, by what it
// points at. References further in stay, with the definitions they need.
func inlineRootRef(schema object) (object, error) {
	root := schema
	for range maxRootRefs {
		value, ok := schema.get("$ref")
		if !ok {
			return schema, nil
		}
		var ref string
		if json.Unmarshal(value, &ref) != nil {
			return nil, errors.New("the input schema has a $ref that is not a string")
		}
		target, err := resolve(root, ref)
		if err != nil {
			return nil, err
		}
		merged := schema.without("$ref")
		for _, m := range target {
			if _, own := merged.get(m.name); !own {
				merged = append(merged, m)
			}
		}
		schema = merged
	}
	return nil, fmt.Errorf("the input schema's $ref leads through more than %d others", maxRootRefs)
}

// resolve follows a local JSON pointer, such as #/$defs/Query.
func resolve(root object, ref string) (object, error) {
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, fmt.Errorf("the input schema is only a $ref to %q, which does not lie inside it", ref)
	}
	at := root
	for token := range strings.SplitSeq(pointer, "/") {
		token = strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		value, ok := at.get(token)
		if !ok {
			return nil, fmt.Errorf("the input schema is a $ref to %q, which does not exist", ref)
		}
		next, err := parseObject(value)
		if err != nil {
			return nil, fmt.Errorf("the input schema is a $ref to %q, where %q %w", ref, token, err)
		}
		at = next
	}
	return at, nil
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

func isArray(value json.RawMessage) bool { return jsonKind(value) == "an array" }

func isEmptyArray(value json.RawMessage) bool {
	var items []json.RawMessage
	return isArray(value) && json.Unmarshal(value, &items) == nil && len(items) == 0
}
