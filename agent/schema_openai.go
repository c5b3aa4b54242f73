package agent

import (
	"fmt"
	"slices"
	"strings"
)

// The documented limits of strict structured outputs.
const (
	strictMaxProperties = 5000
	strictMaxDepth      = 10
	strictMaxEnum       = 1000
	strictMaxText       = 120_000
)

var strictFormats = []any{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"}

// openAIRoot converts the whole schema to the strict profile.
func (c *schemaConversion) openAIRoot() any {
	root := c.follow(c.root, "")
	if root == nil {
		return nil
	}
	converted, _ := c.openAI(root, "", 1).(*schemaObject)
	if converted == nil {
		return nil
	}
	if converted.text("type") != "object" {
		c.problem("", "the root must be an object; wrap the value in one")
		return nil
	}
	definitions := newSchemaObject()
	// Converting one definition may bring up others.
	for i := 0; i < len(c.definitions); i++ { //nolint:intrange // the list grows meanwhile
		name := c.definitions[i]
		at := "/$defs/" + name
		target, _ := c.resolve("#" + at)
		if target == nil {
			target, _ = c.resolve("#/definitions/" + name)
		}
		c.textBytes += len(name)
		definitions.set(name, c.openAI(target, at, 1))
	}
	if len(definitions.names) > 0 {
		converted.set("$defs", definitions)
	}
	c.strictLimits()
	return converted
}

func (c *schemaConversion) strictLimits() {
	for _, limit := range []struct {
		what     string
		got, max int
	}{
		{"properties", c.properties, strictMaxProperties},
		{"enum values", c.enumValues, strictMaxEnum},
		{"bytes of names and enum values", c.textBytes, strictMaxText},
	} {
		if limit.got > limit.max {
			c.problem("", "it has %d %s; at most %d are allowed", limit.got, limit.what, limit.max)
		}
	}
}

// openAI converts one schema; depth counts the objects around it and itself.
func (c *schemaConversion) openAI(node any, at string, depth int) any {
	if object, ok := node.(*schemaObject); ok && object.has("$ref") {
		return c.openAIRef(object.text("$ref"), at)
	}
	schema := c.plainForm(node, at)
	if schema == nil {
		return nil
	}
	out := newSchemaObject()
	if schema.has("anyOf") {
		copyKeywords(out, schema, "title", "description")
		return c.openAIAnyOf(out, schema, at, depth)
	}
	types, nullable := typesOf(schema)
	switch {
	case len(types) == 0 && !nullable:
		c.problem(at, "it has no type; say which is wanted")
		return nil
	case (len(types) > 1 || nullable) && (slices.Contains(types, "object") || slices.Contains(types, "array")):
		return c.openAI(splitTypes(schema, types, nullable), at, depth)
	}
	copyKeywords(out, schema, "title", "description", "type")
	if slices.Contains(types, "object") {
		return c.openAIObject(out, schema, at, depth)
	}
	if slices.Contains(types, "array") {
		items, ok := schema.get("items")
		if !ok {
			c.problem(at, "the array says nothing of its items")
			return nil
		}
		out.set("items", c.openAI(items, at+"/items", depth))
		copyKeywords(out, schema, "minItems", "maxItems")
		return out
	}
	copyKeywords(out, schema, "enum", "pattern", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
	if format, ok := schema.get("format"); ok && slices.Contains(strictFormats, format) {
		out.set("format", format)
	}
	c.countEnum(out)
	return out
}

func (c *schemaConversion) countEnum(schema *schemaObject) {
	values, _ := schema.list("enum")
	c.enumValues += len(values)
	for _, value := range values {
		c.textBytes += len(fmt.Sprint(value))
	}
}

// openAIRef keeps a reference to a definition, or to the whole.
func (c *schemaConversion) openAIRef(ref, at string) any {
	out := newSchemaObject()
	if _, ok := c.resolve(ref); !ok {
		c.problem(at, "the reference %q leads to nothing here", ref)
		return nil
	}
	if ref == "#" {
		out.set("$ref", ref)
		return out
	}
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	if !ok {
		name, ok = strings.CutPrefix(ref, "#/definitions/")
	}
	if !ok || strings.ContainsAny(name, "/~%") {
		c.problem(at, "the reference %q does not lead to a plain name under $defs", ref)
		return nil
	}
	if !slices.Contains(c.definitions, name) {
		c.definitions = append(c.definitions, name)
	}
	out.set("$ref", "#/$defs/"+name)
	return out
}

func (c *schemaConversion) openAIAnyOf(out, schema *schemaObject, at string, depth int) any {
	branches, _ := schema.list("anyOf")
	converted := make([]any, len(branches))
	for i, branch := range branches {
		converted[i] = c.openAI(branch, fmt.Sprintf("%s/anyOf/%d", at, i), depth)
	}
	if len(schema.names) > 0 && (schema.has("properties") || schema.has("items")) {
		c.problem(at, "anyOf beside properties or items is not supported; put them into its branches")
		return nil
	}
	out.set("anyOf", converted)
	return out
}

// splitTypes writes a list of types as anyOf.
func splitTypes(schema *schemaObject, types []string, nullable bool) *schemaObject {
	if nullable {
		types = append(slices.Clone(types), "null")
	}
	out := newSchemaObject()
	copyKeywords(out, schema, "title", "description")
	branches := make([]any, len(types))
	for i, t := range types {
		branch := newSchemaObject()
		branch.set("type", t)
		switch t {
		case "object":
			copyKeywords(branch, schema, "properties", "required", "additionalProperties")
		case "array":
			copyKeywords(branch, schema, "items", "minItems", "maxItems")
		case "string":
			copyKeywords(branch, schema, "pattern", "format", "minLength", "maxLength")
		case "number", "integer":
			copyKeywords(branch, schema, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")
		}
		if values, ok := schema.list("enum"); ok {
			var own []any
			for _, value := range values {
				if kind := jsonType(value); kind == t || kind == "integer" && t == "number" {
					own = append(own, value)
				}
			}
			if len(own) == 0 {
				branches[i] = nil
				continue
			}
			branch.set("enum", own)
		}
		branches[i] = branch
	}
	out.set("anyOf", slices.DeleteFunc(branches, func(b any) bool { return b == nil }))
	return out
}

func (c *schemaConversion) openAIObject(out, schema *schemaObject, at string, depth int) any {
	if depth > strictMaxDepth {
		c.problem(at, "it lies deeper than %d levels of objects", strictMaxDepth)
		return nil
	}
	properties, ok := c.closedObject(schema, at)
	if !ok {
		return nil
	}
	required := requiredNames(schema)
	converted := newSchemaObject()
	names := make([]any, 0, len(properties.names))
	for _, name := range properties.names {
		c.properties++
		c.textBytes += len(name)
		property := c.openAI(properties.values[name], propertyAt(at, name), depth+1)
		if !slices.Contains(required, name) {
			property = nullableStrict(property)
		}
		converted.set(name, property)
		names = append(names, name)
	}
	out.set("properties", converted)
	out.set("required", names)
	out.set("additionalProperties", false)
	return out
}

// nullableStrict lets a converted schema also be null.
func nullableStrict(node any) any {
	schema, ok := node.(*schemaObject)
	if !ok {
		return node
	}
	null := newSchemaObject()
	null.set("type", "null")
	if branches, ok := schema.list("anyOf"); ok {
		for _, branch := range branches {
			if b, ok := branch.(*schemaObject); ok {
				if _, nullable := typesOf(b); nullable {
					return schema
				}
			}
		}
		schema.set("anyOf", append(slices.Clone(branches), null))
		return schema
	}
	types, nullable := typesOf(schema)
	switch {
	case nullable:
		return schema
	case len(types) == 0, types[0] == "object", types[0] == "array": // or a reference
		either := newSchemaObject()
		either.set("anyOf", []any{schema, null})
		return either
	}
	list := make([]any, 0, len(types)+1)
	for _, t := range types {
		list = append(list, t)
	}
	schema.set("type", append(list, "null"))
	if values, ok := schema.list("enum"); ok && !slices.Contains(values, nil) {
		schema.set("enum", append(slices.Clone(values), nil))
	}
	return schema
}
