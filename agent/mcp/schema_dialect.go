package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// dialect is the version of JSON Schema that a schema is written in: 3, 4, 6, 7,
// 2019 or 2020. A schema that does not say, or says something unheard of, is taken
// for the latest, as the protocol has it.
type dialect int

const latestDialect dialect = 2020

func dialectOf(schema object) dialect {
	raw, _ := schema.get("$schema")
	address := strings.TrimSuffix(textOf(raw), "#")
	_, path, _ := strings.Cut(address, "json-schema.org/")
	versions := map[string]dialect{
		"draft-03/schema": 3, "draft-04/schema": 4, "draft-06/schema": 6, "draft-07/schema": 7,
		"draft/2019-09/schema": 2019,
	}
	if version, ok := versions[path]; ok {
		return version
	}
	return latestDialect
}

// modernizer writes a schema of an older dialect in the words of the latest, so
// that it accepts what it did. Words that mean nothing in the latest, such as a
// boolean exclusiveMinimum, are translated whatever dialect a schema claims.
type modernizer struct {
	dialect   dialect
	recursive bool              // $recursiveAnchor is used
	moved     map[string]string // what became of keywords, by their pointers: refs may lead through them
	notes     []string
}

func (m *modernizer) note(at schemaPlace, format string, args ...any) {
	place := at.pointer
	if place == "" {
		place = "its root"
	}
	m.notes = append(m.notes, fmt.Sprintf("the input schema at %s: ", place)+fmt.Sprintf(format, args...))
}

func (m *modernizer) rewrite(schema object, at schemaPlace) object {
	schema = schema.without("$schema") // means nothing to a model, and some endpoints refuse it
	schema = m.aloneWithRef(schema)
	schema = m.identity(schema)
	schema = m.recursion(schema)
	if m.dialect == 3 {
		schema = m.draft3(schema, at)
	}
	schema = m.types(schema, at)
	schema = nullable(schema)
	schema = exclusive(schema, "exclusiveMinimum", "minimum")
	schema = exclusive(schema, "exclusiveMaximum", "maximum")
	schema = m.tuple(schema, at)
	return m.dependencies(schema, at)
}

// aloneWithRef takes away what an older dialect does not look at beside a $ref.
// Words for the reader stay, and so do definitions, which other refs lead to.
func (m *modernizer) aloneWithRef(schema object) object {
	if _, ok := schema.get("$ref"); !ok || m.dialect > 7 {
		return schema
	}
	return slices.DeleteFunc(schema, func(m member) bool {
		switch m.name {
		case "$ref", "title", "description", "default", "examples", "$comment", "definitions", "$defs":
			return false
		}
		return true
	})
}

// identity writes a schema's name of itself as the latest dialect does: $id for an
// address, $anchor for a name inside the document.
func (m *modernizer) identity(schema object) object {
	own := "$id"
	if m.dialect <= 4 {
		own = "id"
	}
	raw, ok := schema.get(own)
	var id string
	if !ok || json.Unmarshal(raw, &id) != nil || m.dialect > 7 {
		return schema
	}
	address, anchor, _ := strings.Cut(id, "#")
	schema = schema.rename(own, "$id")
	schema = schema.set("$id", jsonText(address))
	if address == "" {
		schema = schema.without("$id")
	}
	if anchor != "" && !strings.Contains(anchor, "/") {
		schema = schema.set("$anchor", jsonText(anchor))
	}
	return schema
}

// recursion writes draft 2019's $recursiveRef as a $ref, which it is where nothing
// is named to lead it elsewhere.
func (m *modernizer) recursion(schema object) object {
	if raw, ok := schema.get("$recursiveRef"); ok && m.dialect == 2019 && !m.recursive && textOf(raw) == "#" {
		return schema.rename("$recursiveRef", "$ref")
	}
	return schema
}

func (m *modernizer) draft3(schema object, at schemaPlace) object {
	schema = schema.rename("divisibleBy", "multipleOf")
	if base, ok := schema.get("extends"); ok {
		target := "allOf"
		if !isArray(base) {
			target, base = "allOf/0", jsonList([]json.RawMessage{base})
		}
		m.move(at, "extends", target)
		schema = schema.rename("extends", "allOf").set("allOf", base)
	}
	if types, ok := schema.get("disallow"); ok {
		not := m.types(object{{"type", types}}, at)
		schema = schema.rename("disallow", "not").set("not", not.json())
	}
	return schema
}

// types keeps the types that exist. "any" is draft 3's word for no restriction, and
// a list may hold schemas there.
func (m *modernizer) types(schema object, at schemaPlace) object {
	raw, ok := schema.get("type")
	if !ok {
		return schema
	}
	var list []json.RawMessage
	if !isArray(raw) {
		list = []json.RawMessage{raw}
	} else if json.Unmarshal(raw, &list) != nil {
		return schema
	}
	var alternatives []json.RawMessage
	schemas := false
	for _, one := range list {
		switch word := textOf(one); {
		case word == "any":
			return schema.without("type")
		case isObject(one):
			schemas = true
			alternatives = append(alternatives, one)
		case isType(word):
			alternatives = append(alternatives, object{{"type", one}}.json())
		default:
			if at.pointer == "" {
				return schema // what the root is, is looked at by itself
			}
			if !isNull(one) {
				m.note(at, "%s is no type; any value is taken there", clipped(string(one), 40))
			}
			return schema.without("type")
		}
	}
	switch {
	case len(list) == 0:
		return schema.without("type")
	case !schemas:
		return schema
	}
	return schema.without("type").also(object{{"anyOf", jsonList(alternatives)}})
}

func isType(word string) bool {
	switch word {
	case "object", "array", "string", "number", "integer", "boolean", "null":
		return true
	}
	return false
}

// nullable writes OpenAPI's word for "or null" as a type.
func nullable(schema object) object {
	if raw, _ := schema.get("nullable"); string(raw) != "true" {
		return schema
	}
	raw, ok := schema.get("type")
	var types []string
	if one := textOf(raw); one != "" {
		types = []string{one}
	} else if !ok || json.Unmarshal(raw, &types) != nil {
		return schema // without a type it means nothing
	}
	if !slices.Contains(types, "null") {
		types = append(types, "null")
	}
	list := make([]json.RawMessage, len(types))
	for i, t := range types {
		list[i] = jsonText(t)
	}
	return schema.without("nullable").set("type", jsonList(list))
}

// exclusive writes the boolean of drafts 3 and 4 as the number that it is about.
func exclusive(schema object, flag, bound string) object {
	raw, ok := schema.get(flag)
	if !ok || jsonKind(raw) != "a boolean" {
		return schema
	}
	limit, bounded := schema.get(bound)
	if string(raw) == "true" && bounded {
		return schema.without(bound).set(flag, limit)
	}
	return schema.without(flag)
}

// tuple writes a list of items as prefixItems, and what then comes after it as
// items.
func (m *modernizer) tuple(schema object, at schemaPlace) object {
	items, ok := schema.get("items")
	if !ok || !isArray(items) {
		return schema
	}
	m.move(at, "items", "prefixItems")
	if isEmptyArray(items) {
		schema = schema.without("items")
	} else {
		schema = schema.rename("items", "prefixItems")
	}
	if _, ok := schema.get("additionalItems"); ok {
		m.move(at, "additionalItems", "items")
		schema = schema.rename("additionalItems", "items")
	}
	return schema
}

// dependencies takes apart what the latest dialect has two words for. There it
// means nothing, and is left alone.
func (m *modernizer) dependencies(schema object, at schemaPlace) object {
	raw, ok := schema.get("dependencies")
	if !ok || m.dialect > 7 {
		return schema
	}
	all, err := parseObject(raw)
	if err != nil {
		return schema
	}
	var names, schemas object
	for _, d := range all {
		switch {
		case isArray(d.value):
			names = append(names, d)
		case jsonKind(d.value) == "a string": // draft 3's list of one
			names = append(names, member{d.name, jsonList([]json.RawMessage{d.value})})
		default:
			schemas = append(schemas, d)
		}
	}
	m.move(at, "dependencies", "dependentSchemas")
	schema = schema.without("dependencies")
	if len(names) > 0 {
		schema = schema.set("dependentRequired", names.json())
	}
	if len(schemas) > 0 {
		schema = schema.set("dependentSchemas", schemas.json())
	}
	return schema
}

// requiredProperties writes draft 3's "required": true of a property as a name in
// the list of its object, before the property is looked at. Any other required that
// is no list says nothing.
func requiredProperties(schema object) object {
	var required []json.RawMessage
	raw, ok := schema.get("required")
	if ok && (!isArray(raw) || json.Unmarshal(raw, &required) != nil) {
		schema = schema.without("required")
	}
	listed := len(required)
	value, _ := schema.get("properties")
	properties, err := parseObject(value)
	if err != nil {
		return schema
	}
	changed := false
	for i := range properties {
		property, err := parseObject(properties[i].value)
		if err != nil {
			continue
		}
		flag, ok := property.get("required")
		if !ok || jsonKind(flag) != "a boolean" {
			continue
		}
		changed = true
		properties[i].value = property.without("required").json()
		name := properties[i].name
		if string(flag) == "true" && !slices.ContainsFunc(required, func(r json.RawMessage) bool { return textOf(r) == name }) {
			required = append(required, jsonText(name))
		}
	}
	if changed {
		schema = schema.set("properties", properties.json())
	}
	if len(required) > listed {
		schema = schema.set("required", jsonList(required))
	}
	return schema
}

func (m *modernizer) move(at schemaPlace, from, to string) {
	m.moved[at.in(from).pointer] = to
}

// follow returns where a pointer leads after all moves.
func (m *modernizer) follow(pointer string) string {
	var old, now strings.Builder
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		old.WriteString("/" + token)
		if to, ok := m.moved[old.String()]; ok {
			token = to
		}
		now.WriteString("/" + token)
	}
	return now.String()
}

// also adds what must hold besides, under allOf where its keywords are taken.
func (o object) also(extra object) object {
	for _, m := range extra {
		if _, taken := o.get(m.name); !taken {
			continue
		}
		var all []json.RawMessage
		if raw, ok := o.get("allOf"); ok && json.Unmarshal(raw, &all) != nil {
			return o
		}
		return o.set("allOf", jsonList(append(all, extra.json())))
	}
	return append(o, extra...)
}

// rename gives a member another name, where it stands. An older member of that name
// is gone.
func (o object) rename(from, to string) object {
	if _, ok := o.get(from); !ok || from == to {
		return o
	}
	o = o.without(to)
	for i := range o {
		if o[i].name == from {
			o[i].name = to
		}
	}
	return o
}

func jsonText(s string) json.RawMessage {
	data, err := json.Marshal(s)
	if err != nil { // no string fails to encode
		return json.RawMessage(strconv.Quote(s))
	}
	return data
}
