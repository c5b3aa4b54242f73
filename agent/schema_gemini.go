package agent

import (
	"fmt"
	"slices"
	"strings"
)

// Bounds of the Gemini profile. References are written out, and one that leads
// back to itself is written out so many times on each path.
const (
	geminiMaxRecursion = 3
	geminiMaxNodes     = 3000
)

func (c *schemaConversion) geminiRoot() any {
	c.open = map[string]int{}
	converted, ok := c.gemini(c.root, "", false)
	if !ok && len(c.problems) == 0 {
		c.problem("", "it refers to itself without an end")
	}
	return converted
}

// gemini converts one schema. It returns false after a problem, and for what lies
// beyond the bound of a recursion. Inside anyOf nothing is required.
func (c *schemaConversion) gemini(node any, at string, inAnyOf bool) (*schemaObject, bool) {
	if c.nodes++; c.nodes > geminiMaxNodes {
		c.problem("", "written out without references it has more than %d parts", geminiMaxNodes)
		return nil, false
	}
	if object, ok := node.(*schemaObject); ok && object.has("$ref") {
		return c.geminiRef(object, at, inAnyOf)
	}
	schema := c.plainForm(node, at)
	if schema == nil {
		return nil, false
	}
	if schema.has("anyOf") {
		return c.geminiAnyOf(schema, at, inAnyOf)
	}
	types, nullable := typesOf(schema)
	if len(types) > 1 {
		return c.geminiAnyOf(splitTypes(schema, types, nullable), at, inAnyOf)
	}
	if len(types) == 0 {
		c.problem(at, "it has no type besides null; say which is wanted")
		return nil, false
	}
	out := newSchemaObject()
	out.set("type", types[0])
	copyKeywords(out, schema, "title", "description")
	if nullable {
		out.set("nullable", true)
	}
	switch types[0] {
	case "object":
		return c.geminiObject(out, schema, at, inAnyOf)
	case "array":
		return c.geminiArray(out, schema, at, inAnyOf)
	case "string":
		copyKeywords(out, schema, "minLength", "maxLength", "pattern")
		if schema.text("format") == "date-time" {
			out.set("format", "date-time")
		}
	case "number", "integer":
		copyKeywords(out, schema, "minimum", "maximum")
	}
	geminiEnum(out, schema, types[0])
	return out, true
}

// geminiEnum keeps enums of strings; the others are told in words, since Gemini
// refuses them.
func geminiEnum(out, schema *schemaObject, kind string) {
	values, ok := schema.list("enum")
	if !ok {
		return
	}
	var texts []any
	var words []string
	for _, value := range values {
		switch v := value.(type) {
		case nil:
			out.set("nullable", true)
		case string:
			texts = append(texts, v)
		default:
			words = append(words, fmt.Sprint(value))
		}
	}
	if kind == "string" && len(texts) > 0 {
		out.set("enum", texts)
	}
	if len(words) > 0 {
		out.set("description", strings.TrimSpace(out.text("description")+" One of: "+strings.Join(words, ", ")+"."))
	}
}

func (c *schemaConversion) geminiRef(object *schemaObject, at string, inAnyOf bool) (*schemaObject, bool) {
	ref := object.text("$ref")
	target, ok := c.resolve(ref)
	if !ok {
		c.problem(at, "the reference %q leads to nothing here", ref)
		return nil, false
	}
	if c.open[ref] == geminiMaxRecursion {
		return nil, false
	}
	c.open[ref]++
	defer func() { c.open[ref]-- }()
	out, ok := c.gemini(target, at, inAnyOf)
	if ok && object.has("description") {
		out.set("description", object.values["description"])
	}
	return out, ok
}

func (c *schemaConversion) geminiAnyOf(schema *schemaObject, at string, inAnyOf bool) (*schemaObject, bool) {
	branches, _ := schema.list("anyOf")
	var converted []any
	nullable := false
	for i, branch := range branches {
		if isNullSchema(branch) {
			nullable = true
			continue
		}
		if onlyRequires(branch) && schema.has("properties") {
			continue // which of the properties must be there cannot be said
		}
		if one, ok := c.gemini(branch, fmt.Sprintf("%s/anyOf/%d", at, i), true); ok {
			converted = append(converted, one)
		}
	}
	if schema.has("properties") && len(converted) == 0 {
		rest := schema.clone()
		rest.delete("anyOf")
		return c.gemini(rest, at, inAnyOf)
	}
	var out *schemaObject
	switch {
	case schema.has("properties") || schema.has("items"):
		c.problem(at, "anyOf beside properties or items is not supported; put them into its branches")
		return nil, false
	case len(converted) == 0:
		return nil, false
	case len(converted) == 1:
		out = converted[0].(*schemaObject) //nolint:forcetypeassert // a branch is an object
	default:
		out = newSchemaObject()
		out.set("anyOf", converted)
	}
	copyKeywords(out, schema, "title", "description")
	if nullable {
		out.set("nullable", true)
	}
	return out, true
}

func isNullSchema(node any) bool {
	schema, ok := node.(*schemaObject)
	return ok && schema.values["type"] == any("null")
}

func onlyRequires(node any) bool {
	schema, ok := node.(*schemaObject)
	return ok && len(schema.names) == 1 && schema.has("required")
}

func (c *schemaConversion) geminiObject(out, schema *schemaObject, at string, inAnyOf bool) (*schemaObject, bool) {
	properties, ok := c.closedObject(schema, at)
	if !ok {
		return nil, false
	}
	if len(properties.names) == 0 {
		c.problem(at, "an object without properties is not supported")
		return nil, false
	}
	required := requiredNames(schema)
	converted := newSchemaObject()
	for _, name := range properties.names {
		property, ok := c.gemini(properties.values[name], propertyAt(at, name), inAnyOf)
		switch {
		case ok:
			converted.set(name, property)
		case slices.Contains(required, name):
			return nil, false // without it the object would not fit the schema
		}
	}
	if len(converted.names) == 0 {
		return nil, false
	}
	out.set("properties", converted)
	if !inAnyOf && len(required) > 0 {
		names := make([]any, 0, len(required))
		for _, name := range required {
			if converted.has(name) {
				names = append(names, name)
			}
		}
		out.set("required", names)
	}
	return out, true
}

func (c *schemaConversion) geminiArray(out, schema *schemaObject, at string, inAnyOf bool) (*schemaObject, bool) {
	items, ok := schema.get("items")
	if !ok {
		c.problem(at, "the array says nothing of its items")
		return nil, false
	}
	before := len(c.problems)
	converted, ok := c.gemini(items, at+"/items", inAnyOf)
	if ok {
		out.set("items", converted)
		copyKeywords(out, schema, "minItems", "maxItems")
		return out, true
	}
	if len(c.problems) > before || schema.has("minItems") {
		return nil, false
	}
	// Beyond the bound of a recursion the list is empty.
	text := newSchemaObject()
	text.set("type", "string")
	out.set("items", text)
	out.set("maxItems", 0)
	return out, true
}
