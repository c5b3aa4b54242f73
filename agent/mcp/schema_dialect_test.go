package mcp

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestOldWordsAreWrittenInTheLatestDialect(t *testing.T) {
	t.Parallel()
	inA := func(dialect, property string) string {
		if dialect != "" {
			dialect = `"$schema":"http://json-schema.org/` + dialect + `#",`
		}
		return `{` + dialect + `"type":"object","properties":{"p":` + property + `}}`
	}
	for given, want := range map[string]string{
		inA("", `{"minimum":1,"exclusiveMinimum":true}`):                                                                                          inA("", `{"exclusiveMinimum":1}`),
		inA("", `{"maximum":9,"exclusiveMaximum":false}`):                                                                                         inA("", `{"maximum":9}`),
		inA("", `{"exclusiveMaximum":true}`):                                                                                                      inA("", `{}`),
		inA("", `{"items":[{"type":"string"}],"additionalItems":false}`):                                                                          inA("", `{"prefixItems":[{"type":"string"}],"items":false}`),
		inA("draft-07/schema", `{"items":[],"additionalItems":{"type":"string"}}`):                                                                inA("", `{"items":{"type":"string"}}`),
		inA("", `{"type":"any"}`):                                                                                                                 inA("", `{}`),
		inA("", `{"type":["string",{"type":"object","required":true}]}`):                                                                          inA("", `{"anyOf":[{"type":"string"},{"type":"object"}]}`),
		inA("", `{"type":"string","nullable":true}`):                                                                                              inA("", `{"type":["string","null"]}`),
		inA("", `{"type":["string","null"],"nullable":true}`):                                                                                     inA("", `{"type":["string","null"]}`),
		inA("", `{"nullable":true}`):                                                                                                              inA("", `{"nullable":true}`),
		inA("", `{"properties":[],"additionalProperties":null}`):                                                                                  inA("", `{"properties":{}}`),
		inA("draft-04/schema", `{"id":"#here","type":"string"}`):                                                                                  inA("", `{"type":"string","$anchor":"here"}`),
		inA("draft-07/schema", `{"$id":"#here","type":"string"}`):                                                                                 inA("", `{"type":"string","$anchor":"here"}`),
		inA("draft-07/schema", `{"id":"kept","type":"string"}`):                                                                                   inA("", `{"id":"kept","type":"string"}`),
		inA("draft-07/schema", `{"dependencies":{"a":["b"],"c":{"minProperties":2}}}`):                                                            inA("", `{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"minProperties":2}}}`),
		inA("", `{"dependencies":{"a":["b"]}}`):                                                                                                   inA("", `{"dependencies":{"a":["b"]}}`),
		inA("draft-07/schema", `{"$ref":"#/properties/p/definitions/d","minLength":3,"description":"d","definitions":{"d":{}}}`):                  inA("", `{"$ref":"#/properties/p/definitions/d","description":"d","definitions":{"d":{}}}`),
		inA("draft-03/schema", `{"divisibleBy":2,"extends":{"minimum":1},"disallow":"string"}`):                                                   inA("", `{"multipleOf":2,"allOf":[{"minimum":1}],"not":{"type":"string"}}`),
		inA("", `{"extends":"a base class","disallow":7}`):                                                                                        inA("", `{"extends":"a base class","disallow":7}`),
		inA("draft-03/schema", `{"type":"object","required":true,"properties":{"q":{"required":true},"r":{"required":false}}}`):                   `{"type":"object","properties":{"p":{"type":"object","properties":{"q":{},"r":{}},"required":["q"]}},"required":["p"]}`,
		`{"$schema":"https://json-schema.org/draft/2019-09/schema","type":"object","properties":{"p":{"$recursiveRef":"#"}}}`:                     inA("", `{"$ref":"#"}`),
		`{"$schema":"tag:example.com,2030:schemas","type":"object","properties":{"p":{"$dynamicRef":"#t"}},"$defs":{"t":{"$dynamicAnchor":"t"}}}`: `{"type":"object","properties":{"p":{"$dynamicRef":"#t"}},"$defs":{"t":{"$dynamicAnchor":"t"}}}`,
		// A reference through what moved leads there still.
		`{"type":"object","properties":{"a":{"items":[{"type":"string"}]},"b":{"$ref":"#/properties/a/items/0"}}}`: `{"type":"object","properties":{"a":{"prefixItems":[{"type":"string"}]},"b":{"$ref":"#/properties/a/prefixItems/0"}}}`,
		// A reference to the schema by its own address is one inside it.
		`{"$id":"https://example.com/s.json","type":"object","properties":{"a":{"$ref":"s.json#/$defs/x"}},"$defs":{"x":{}}}`: `{"$id":"https://example.com/s.json","type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{}}}`,
		// What is said beside a reference at the root holds too.
		`{"$ref":"#/$defs/a","properties":{"y":{}},"$defs":{"a":{"type":"object","properties":{"x":{}}}}}`: `{"type":"object","properties":{"y":{}},"$defs":{"a":{"type":"object","properties":{"x":{}}}},"allOf":[{"$ref":"#/$defs/a"}]}`,
	} {
		got, notes, err := inputSchema(json.RawMessage(given))
		require.NoError(t, err, given)
		assert.Equal(t, want, string(got), given)
		assert.Empty(t, notes, given)
	}
}

func TestWhatOnlyPartOfASchemaGetsWrongCostsThatPartAndIsTold(t *testing.T) {
	t.Parallel()
	for given, want := range map[string][2]string{
		`{"$ref":"#/$defs/lost","description":"d"}`:      {`{"description":"d"}`, `at /properties/p: $ref "#/$defs/lost" leads nowhere`},
		`{"$ref":"https://example.com/other.json"}`:      {`{}`, `leads nowhere inside it`},
		`{"$ref":"#nowhere"}`:                            {`{}`, `leads nowhere`},
		`{"$ref":7}`:                                     {`{}`, `leads nowhere`},
		`{"type":"file"}`:                                {`{}`, `"file" is no type`},
		`{"type":["string","int"],"description":"kept"}`: {`{"description":"kept"}`, `"int" is no type`},
	} {
		got, notes, err := inputSchema(json.RawMessage(`{"type":"object","properties":{"p":` + given + `}}`))
		require.NoError(t, err, given)
		assert.JSONEq(t, `{"type":"object","properties":{"p":`+want[0]+`}}`, string(got), given)
		require.Len(t, notes, 1, given)
		assert.Contains(t, notes[0], want[1])
	}
}

func TestASchemaOutOfAllBoundsIsHopeless(t *testing.T) {
	t.Parallel()
	nested := func(n int) string { return strings.Repeat(`{"properties":{"p":`, n) + `{}` + strings.Repeat(`}}`, n) }
	_, _, err := inputSchema(json.RawMessage(nested(maxSchemaDepth - 1)))
	require.NoError(t, err)
	_, _, err = inputSchema(json.RawMessage(nested(maxSchemaDepth)))
	require.ErrorContains(t, err, "more than 50 schemas inside each other")
	_, _, err = inputSchema(json.RawMessage(nested(4000)))
	require.ErrorContains(t, err, "is 8001 levels deep; at most 200")
	_, _, err = inputSchema(json.RawMessage(`{"description":"` + strings.Repeat(`{[\"`, 1000) + `","default":` + strings.Repeat("[", 199) + strings.Repeat("]", 199) + `}`))
	require.NoError(t, err)
	_, _, err = inputSchema(json.RawMessage(`{"description":"` + strings.Repeat("x", maxSchemaSize) + `"}`))
	require.ErrorContains(t, err, "at most 262144")
}

// schemas draws schemas in one dialect, of few names and small numbers, so that
// what they say often matters to the instances drawn with them.
type schemas struct {
	old bool // draft 4; else 2020-12
}

func (s schemas) draw(t *rapid.T, depth int) any {
	if !s.old && rapid.IntRange(0, 11).Draw(t, "boolean") == 0 {
		return rapid.Bool().Draw(t, "all")
	}
	schema := map[string]any{}
	for range rapid.IntRange(0, 3).Draw(t, "keywords") {
		s.keyword(t, schema, depth)
	}
	return schema
}

func (s schemas) keyword(t *rapid.T, schema map[string]any, depth int) {
	number := rapid.IntRange(-2, 4)
	name := rapid.SampledFrom([]string{"a", "b", "type", "properties", "required", "$ref", "items", "id", "exclusiveMinimum"})
	names := rapid.SliceOfNDistinct(name, 1, 2, rapid.ID[string])
	words := []string{"type", "types", "minimum", "maximum", "length", "required", "enum", "default"}
	if depth > 0 {
		words = append(words, "properties", "properties", "items", "tuple", "allOf", "anyOf", "not", "additional", "pattern", "dependencies", "ref")
	}
	kinds := []string{"object", "array", "string", "integer", "number", "boolean", "null"}
	switch word := rapid.SampledFrom(words).Draw(t, "keyword"); word {
	case "type":
		schema["type"] = rapid.SampledFrom(kinds).Draw(t, "type")
	case "types":
		schema["type"] = rapid.SliceOfNDistinct(rapid.SampledFrom(kinds), 1, 3, rapid.ID[string]).Draw(t, "types")
	case "minimum", "maximum":
		exclusive := "exclusiveMinimum"
		if word == "maximum" {
			exclusive = "exclusiveMaximum"
		}
		if s.old {
			schema[word] = number.Draw(t, word)
			schema[exclusive] = rapid.Bool().Draw(t, exclusive)
		} else {
			schema[exclusive] = number.Draw(t, exclusive)
		}
	case "length":
		schema["minLength"], schema["maxItems"] = rapid.IntRange(0, 2).Draw(t, "length"), rapid.IntRange(0, 3).Draw(t, "items")
	case "required":
		schema["required"] = names.Draw(t, "required")
	case "enum":
		schema["enum"] = []any{rapid.SampledFrom([]any{1, "a", nil, true}).Draw(t, "enum"), map[string]any{"type": "any", "exclusiveMinimum": true}}
	case "default": // data that looks like a schema
		schema["default"] = map[string]any{"$ref": "#/nowhere", "required": true, "items": []any{}, "nullable": true, "type": "string"}
	case "properties":
		properties := map[string]any{}
		for _, n := range names.Draw(t, "properties") {
			properties[n] = s.draw(t, depth-1)
		}
		schema["properties"] = properties
	case "items":
		delete(schema, "additionalItems")
		schema["items"] = s.draw(t, depth-1)
	case "tuple":
		first, rest := []any{s.draw(t, depth-1)}, s.draw(t, depth-1)
		if s.old {
			schema["items"], schema["additionalItems"] = first, rest
		} else {
			schema["prefixItems"], schema["items"] = first, rest
		}
	case "allOf", "anyOf":
		schema[word] = []any{s.draw(t, depth-1), s.draw(t, depth-1)}
	case "not":
		schema["not"] = s.draw(t, depth-1)
	case "additional":
		schema["additionalProperties"] = s.draw(t, depth-1)
	case "pattern":
		schema["patternProperties"] = map[string]any{"^[a-i]": s.draw(t, depth-1)}
	case "dependencies":
		if s.old {
			schema["dependencies"] = map[string]any{"a": names.Draw(t, "names"), "type": s.draw(t, depth-1)}
		} else {
			schema["dependentRequired"] = map[string]any{"a": names.Draw(t, "names")}
			schema["dependentSchemas"] = map[string]any{"type": s.draw(t, depth-1)}
		}
	case "ref":
		schema["$ref"] = rapid.SampledFrom([]string{"#/definitions/one", "#/definitions/two", "#/definitions/ca~1n%27t"}).Draw(t, "ref")
	}
}

// document draws a whole input schema, with definitions that may refer to each
// other and to themselves, below a property so that no reference is its own answer.
func (s schemas) document(t *rapid.T) map[string]any {
	definition := func() any {
		return map[string]any{"properties": map[string]any{"a": s.draw(t, 2)}}
	}
	return map[string]any{
		"type":        "object",
		"properties":  map[string]any{"a": s.draw(t, 3), "type": s.draw(t, 3), "required": s.draw(t, 2)},
		"definitions": map[string]any{"one": definition(), "two": definition(), "ca/n't": definition()},
	}
}

func instance(t *rapid.T, depth int) any {
	kinds := []string{"number", "string", "null", "boolean"}
	if depth > 0 {
		kinds = append(kinds, "object", "object", "array", "array")
	}
	switch rapid.SampledFrom(kinds).Draw(t, "kind") {
	case "number":
		return rapid.SampledFrom([]any{-2, -1, 0, 1, 1.5, 2, 4}).Draw(t, "number")
	case "string":
		return rapid.SampledFrom([]string{"", "a", "abc"}).Draw(t, "string")
	case "boolean":
		return rapid.Bool().Draw(t, "bool")
	case "object":
		return members(t, depth)
	case "array":
		list := []any{}
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			list = append(list, instance(t, depth-1))
		}
		return list
	}
	return nil
}

func members(t *rapid.T, depth int) map[string]any {
	object := map[string]any{}
	name := rapid.SampledFrom([]string{"a", "b", "type", "properties", "required", "$ref", "items", "id", "exclusiveMinimum", "z"})
	for _, n := range rapid.SliceOfNDistinct(name, 0, 5, rapid.ID[string]).Draw(t, "names") {
		object[n] = instance(t, depth-1)
	}
	return object
}

func compileAs(t require.TestingT, draft *jsonschema.Draft, schema json.RawMessage) *jsonschema.Schema {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(draft)
	require.NoError(t, compiler.AddResource("test:///schema.json", doc))
	compiled, err := compiler.Compile("test:///schema.json")
	require.NoError(t, err, string(schema))
	return compiled
}

func TestASchemaOfTheLatestDialectIsNotChanged(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		document := schemas{}.document(t)
		given, err := json.Marshal(document)
		require.NoError(t, err)
		compileAs(t, jsonschema.Draft2020, given)
		got, notes, err := inputSchema(given)
		require.NoError(t, err)
		require.Empty(t, notes)
		require.Equal(t, string(given), string(got))

		document["$schema"] = "https://json-schema.org/draft/2020-12/schema"
		named, err := json.Marshal(document)
		require.NoError(t, err)
		got, _, err = inputSchema(named)
		require.NoError(t, err)
		require.JSONEq(t, string(given), string(got))
	})
}

func TestASchemaOfDraft4AcceptsTheSameInTheLatestDialect(t *testing.T) {
	t.Parallel()
	var accepted, refused int
	rapid.Check(t, func(t *rapid.T) {
		document := schemas{old: true}.document(t)
		document["$schema"] = "http://json-schema.org/draft-04/schema#"
		given, err := json.Marshal(document)
		require.NoError(t, err)
		before := compileAs(t, jsonschema.Draft4, given)
		got, _, err := inputSchema(given)
		require.NoError(t, err)
		after := compileAs(t, jsonschema.Draft2020, got)
		for range 10 {
			arguments, err := json.Marshal(members(t, 4))
			require.NoError(t, err)
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(arguments))
			require.NoError(t, err)
			want := before.Validate(value)
			if (want == nil) != (after.Validate(value) == nil) {
				t.Fatalf("%s\nby %s: %v\nby %s: %v", arguments, given, want, got, after.Validate(value))
			}
			if want == nil {
				accepted++
			} else {
				refused++
			}
		}
	})
	least := float64(min(accepted, refused)) / math.Max(1, float64(accepted+refused))
	assert.Greater(t, least, 0.05, "accepted %d, refused %d: the instances must tell schemas apart", accepted, refused)
}

func BenchmarkInputSchema(b *testing.B) {
	given := json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string","description":"where"},` +
		`"edits":{"type":"array","items":{"type":"object","properties":{"oldText":{"type":"string"},"newText":{"type":"string"}},"required":["oldText","newText"],"additionalProperties":false}},` +
		`"dryRun":{"type":"boolean","default":false}},"required":["path","edits"],"additionalProperties":false}`)
	for b.Loop() {
		if _, _, err := inputSchema(given); err != nil {
			b.Fatal(err)
		}
	}
}
