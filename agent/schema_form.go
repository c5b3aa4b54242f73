package agent

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

// unsayable are keywords that shape a value and that no profile has.
var unsayable = []string{
	"not", "if", "then", "else", "dependentRequired", "dependentSchemas", "dependencies",
	"patternProperties", "propertyNames", "unevaluatedProperties", "unevaluatedItems",
	"prefixItems", "additionalItems", "contains", "$dynamicRef", "$recursiveRef",
}

// plainForm brings a schema to the form that both profiles start from: one object,
// allOf merged into it, oneOf as anyOf, const as enum, and its type written out.
// It returns nil after a problem.
func (c *schemaConversion) plainForm(node any, at string) *schemaObject {
	schema, ok := node.(*schemaObject)
	if !ok || len(schema.names) == 0 {
		if node == false {
			c.problem(at, "no value fits it")
		} else {
			c.problem(at, "it allows any value; say which type is wanted")
		}
		return nil
	}
	schema = schema.clone()
	for _, keyword := range unsayable {
		if schema.has(keyword) {
			c.problem(at, "%s is not supported", keyword)
			return nil
		}
	}
	if schema.has("allOf") {
		if schema = c.mergeAllOf(schema, at); schema == nil {
			return nil
		}
	}
	if oneOf, ok := schema.get("oneOf"); ok && !schema.has("anyOf") {
		schema.delete("oneOf")
		schema.set("anyOf", oneOf)
	}
	if value, ok := schema.get("const"); ok {
		schema.delete("const")
		schema.set("enum", []any{value})
	}
	if !schema.has("type") {
		inferType(schema)
	}
	return schema
}

// mergeAllOf puts the branches of allOf into the schema. A keyword that stands in
// two of them with different values cannot be merged, except for properties and
// required, which add up.
func (c *schemaConversion) mergeAllOf(schema *schemaObject, at string) *schemaObject {
	branches, _ := schema.list("allOf")
	merged := schema.clone()
	merged.delete("allOf")
	for i, branch := range branches {
		where := fmt.Sprintf("%s/allOf/%d", at, i)
		resolved := c.follow(branch, where)
		if resolved == nil {
			return nil
		}
		if resolved.has("allOf") || resolved.has("$ref") {
			c.problem(where, "an allOf inside an allOf is not supported; write the properties in one object")
			return nil
		}
		for _, name := range resolved.names {
			if !mergeKeyword(merged, name, resolved.values[name]) {
				c.problem(where, "%s stands in more than one branch of allOf; write one object", name)
				return nil
			}
		}
	}
	return merged
}

func mergeKeyword(merged *schemaObject, name string, value any) bool {
	before, ok := merged.get(name)
	if !ok {
		merged.set(name, value)
		return true
	}
	switch name {
	case "title", "description", "$comment":
		return true
	case "additionalProperties":
		return before == value
	case "required":
		a, okA := before.([]any)
		b, okB := value.([]any)
		merged.set(name, append(slices.Clone(a), b...))
		return okA && okB
	case "properties":
		a, okA := before.(*schemaObject)
		b, okB := value.(*schemaObject)
		if !okA || !okB {
			return false
		}
		all := a.clone()
		for _, property := range b.names {
			if all.has(property) {
				return false
			}
			all.set(property, b.values[property])
		}
		merged.set(name, all)
		return true
	}
	text, ok := before.(string)
	return ok && value == any(text)
}

// follow resolves a chain of references to an object, or reports a problem.
func (c *schemaConversion) follow(node any, at string) *schemaObject {
	for range maxRefChain {
		schema, ok := node.(*schemaObject)
		if !ok {
			c.problem(at, "it is not an object schema")
			return nil
		}
		if !schema.has("$ref") {
			return schema
		}
		target, ok := c.resolve(schema.text("$ref"))
		if !ok {
			c.problem(at, "the reference %q leads to nothing here", schema.text("$ref"))
			return nil
		}
		node = target
	}
	c.problem(at, "its references lead in a circle")
	return nil
}

const maxRefChain = 16

// resolve follows a local reference, such as #/$defs/Item.
func (c *schemaConversion) resolve(ref string) (any, bool) {
	if ref == "#" {
		return c.root, true
	}
	pointer, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil, false
	}
	at := c.root
	for token := range strings.SplitSeq(pointer, "/") {
		if decoded, err := url.PathUnescape(token); err == nil {
			token = decoded
		}
		object, ok := at.(*schemaObject)
		if !ok {
			return nil, false
		}
		if at, ok = object.get(strings.NewReplacer("~1", "/", "~0", "~").Replace(token)); !ok {
			return nil, false
		}
	}
	return at, true
}

// inferType writes out the type that other keywords imply.
func inferType(schema *schemaObject) {
	switch {
	case schema.has("$ref"), schema.has("anyOf"):
	case schema.has("properties"), schema.has("additionalProperties"), schema.has("required"):
		schema.set("type", "object")
	case schema.has("items"):
		schema.set("type", "array")
	case schema.has("pattern"), schema.has("minLength"), schema.has("maxLength"), schema.has("format"):
		schema.set("type", "string")
	case schema.has("minimum"), schema.has("maximum"), schema.has("multipleOf"):
		schema.set("type", "number")
	case schema.has("enum"):
		values, _ := schema.list("enum")
		var types []any
		for _, value := range values {
			if t := any(jsonType(value)); !slices.Contains(types, t) {
				types = append(types, t)
			}
		}
		switch len(types) {
		case 0:
		case 1:
			schema.set("type", types[0])
		default:
			schema.set("type", types)
		}
	}
}

func jsonType(value any) string {
	switch v := value.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	}
	return "object"
}

// typesOf are the types of a schema, without null, and whether null is one.
func typesOf(schema *schemaObject) (types []string, nullable bool) {
	var all []any
	switch t := schema.values["type"].(type) {
	case string:
		all = []any{t}
	case []any:
		all = t
	}
	for _, t := range all {
		if t == any("null") {
			nullable = true
		} else if text, ok := t.(string); ok {
			types = append(types, text)
		}
	}
	return types, nullable
}

// copyKeywords copies the members that are there, in the order of the names.
func copyKeywords(to, from *schemaObject, names ...string) {
	for _, name := range names {
		if value, ok := from.get(name); ok {
			to.set(name, value)
		}
	}
}

// closedObject reports whether an object schema names all its properties, or
// tells why not.
func (c *schemaConversion) closedObject(schema *schemaObject, at string) (*schemaObject, bool) {
	properties, _ := schema.object("properties")
	if properties == nil {
		properties = newSchemaObject()
	}
	additional, given := schema.get("additionalProperties")
	_, isSchema := additional.(*schemaObject)
	free := !given || additional != false
	switch {
	case isSchema, free && len(properties.names) == 0:
		c.problem(at, "an object with free keys is not supported; use a list of objects with a key and a value")
		return nil, false
	}
	return properties, true
}

func requiredNames(schema *schemaObject) []string {
	list, _ := schema.list("required")
	var names []string
	for _, item := range list {
		if name, ok := item.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

func propertyAt(at, name string) string { return at + "/properties/" + workspace.PointerEscape(name) }
