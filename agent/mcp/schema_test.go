package mcp

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestASchemaBecomesOneThatEndpointsTake(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		``:                        `{"type":"object","properties":{}}`,
		`null`:                    `{"type":"object","properties":{}}`,
		`true`:                    `{"type":"object","properties":{}}`,
		`{}`:                      `{"type":"object","properties":{}}`,
		` { "type" : "object" } `: `{"type":"object","properties":{}}`, //nolint:gocritic // white space is the case
		`{"type":null,"properties":null,"required":null}`:    `{"type":"object","properties":{}}`,
		`{"type":"object","properties":[]}`:                  `{"type":"object","properties":{}}`,
		`{"type":["object","null"],"properties":{"a":true}}`: `{"type":"object","properties":{"a":true}}`,
		`{"properties":{"z":{},"a":{}},"required":["z"]}`:    `{"type":"object","properties":{"z":{},"a":{}},"required":["z"]}`,
		`{"type":"object","properties":{},"required":true}`:  `{"type":"object","properties":{}}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","id":"x","type":"object","properties":{"n":{"minimum":0,"exclusiveMinimum":true}}}`:         `{"$id":"x","type":"object","properties":{"n":{"exclusiveMinimum":0}}}`,
		`{"type":"object","properties":{"properties":{"type":"string"},"type":{"type":"string"},"$ref":{"type":"string"},"required":{"type":"boolean"}}}`: `{"type":"object","properties":{"properties":{"type":"string"},"type":{"type":"string"},"$ref":{"type":"string"},"required":{"type":"boolean"}}}`,
		`{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}}}`:            `{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}}}}}`,
		`{"$ref":"#/definitions/Q","definitions":{"Q":{"type":"object","properties":{"q":{"type":"integer"}}}}}`:                                          `{"definitions":{"Q":{"type":"object","properties":{"q":{"type":"integer"}}}},"type":"object","properties":{"q":{"type":"integer"}}}`,
		`{"$ref":"#/$defs/a~1b","$defs":{"a/b":{"$ref":"#/$defs/c"},"c":{"description":"deep"}}}`:                                                         `{"type":"object","$defs":{"a/b":{"$ref":"#/$defs/c"},"c":{"description":"deep"}},"description":"deep","properties":{}}`,
		`{"oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}},"x-large":12345678901234567890}`:                                   `{"type":"object","oneOf":[{"required":["a"]},{"required":["b"]}],"properties":{"a":{},"b":{}},"x-large":12345678901234567890}`,
	} {
		got, _, err := inputSchema(json.RawMessage(given))
		require.NoError(t, err, given)
		assert.Equal(t, want, string(got), given)
	}
}

func TestAHopelessSchemaSaysWhy(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		`false`:                                 "is a boolean, not an object",
		`[]`:                                    "is an array, not an object",
		`"object"`:                              "is a string, not an object",
		`{"type":"array"}`:                      `of type "array"`,
		`{"type":["string","null"]}`:            `of type ["string","null"]`,
		`{"type":7}`:                            "of type 7",
		`{"properties":["a"]}`:                  "properties: is an array",
		`{"properties":{"a":"text"}}`:           `schema of "a" is a string`,
		`{"$ref":"https://example.com/s.json"}`: "does not lie inside it",
		`{"$ref":"#/$defs/none"}`:               "does not exist",
		`{"$ref":3}`:                            "not a string",
		`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`: "more than 16 others",
		`{"$ref":"#/$defs/a","$defs":{"a":[]}}`:                   "is an array",
	} {
		_, _, err := inputSchema(json.RawMessage(given))
		assert.ErrorContains(t, err, want, given)
	}
}

func FuzzInputSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{}}}`)
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":["object"]}}}`)
	f.Add(`{"a":1,"a":2,"properties":[],"required":null}`)
	f.Add(`{"type":"object","tYpe":["0"]}`)
	f.Fuzz(func(t *testing.T, given string) {
		if !json.Valid([]byte(given)) {
			return // it comes out of a decoded message
		}
		got, _, err := inputSchema(json.RawMessage(given))
		if err != nil {
			return
		}
		var schema map[string]json.RawMessage // a struct would take "tYpe" for "type"
		require.NoError(t, json.Unmarshal(got, &schema), string(got))
		require.Equal(t, `"object"`, string(schema["type"]), string(got))
		var properties map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(schema["properties"], &properties), string(got))
		require.NotNil(t, properties, string(got))
		again, _, err := inputSchema(got)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again), "normalising twice changes nothing")
	})
}
