package agent_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
)

type address struct {
	Street string `json:"street"`
	City   string `json:"city,omitempty" jsonschema:"minLength=2,maxLength=50"`
}

type invoice struct {
	Number   string     `json:"number" jsonschema:"description=As printed <top right>,pattern=^INV-[0-9]+$"`
	Currency string     `json:"currency" jsonschema:"enum=EUR,enum=USD"`
	Status   string     `json:"status,omitempty" jsonschema:"enum=open,enum=paid"`
	Issued   time.Time  `json:"issued"`
	Total    float64    `json:"total" jsonschema:"minimum=0"`
	Rating   int        `json:"rating,omitempty" jsonschema:"enum=1,enum=2,enum=3"`
	Billing  address    `json:"billing"`
	Delivery *address   `json:"delivery,omitempty"`
	Lines    []line     `json:"lines" jsonschema:"minItems=1"`
	Tags     []string   `json:"tags,omitempty"`
	Paid     bool       `json:"paid"`
	Related  []*invoice `json:"related,omitempty"`
}

type line struct {
	Text  string `json:"text" jsonschema:"format=idn-email"`
	Count uint   `json:"count"`
}

type tree struct {
	Name     string `json:"name"`
	Parent   *tree  `json:"parent,omitempty"`
	Children []tree `json:"children"`
}

// The one set of schemas that is converted for every profile.
var schemaSet = map[string]func() (*agent.Schema, error){
	"invoice": agent.SchemaFor[invoice],
	"tree":    agent.SchemaFor[tree],
	"mixed": func() (*agent.Schema, error) {
		return agent.ParseSchema(json.RawMessage(`{
			"$schema": "http://json-schema.org/draft-07/schema#",
			"title": "Mixed",
			"type": "object",
			"definitions": {"id": {"type": "string", "format": "uuid"}},
			"properties": {
				"kind": {"const": "mixed"},
				"version": {"const": 2},
				"id": {"$ref": "#/definitions/id", "description": "of the thing"},
				"maybe": {"type": ["string", "null"]},
				"either": {"type": ["string", "integer", "null"], "description": "a name or a number"},
				"list_or_one": {"type": ["array", "string"], "items": {"type": "string"}},
				"shape": {"oneOf": [
					{"type": "object", "properties": {"radius": {"type": "number", "exclusiveMinimum": 0}}, "required": ["radius"]},
					{"type": "object", "properties": {"width": {"type": "number"}, "inner": {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}}, "required": ["width"]}
				]},
				"merged": {"allOf": [
					{"type": "object", "properties": {"a": {"type": "string", "default": "x"}}, "required": ["a"]},
					{"properties": {"b": {"type": "integer"}}}
				]},
				"level": {"enum": [1, 2, null]}
			},
			"required": ["kind", "id", "shape"]
		}`))
	},
}

func TestSchemasAreConvertedForEachProfileAsShown(t *testing.T) {
	t.Parallel()
	for name, open := range schemaSet {
		schema, err := open()
		require.NoError(t, err, name)
		for _, profile := range []agent.SchemaProfile{agent.SchemaPlain, agent.SchemaOpenAIStrict, agent.SchemaGemini} {
			converted, err := schema.For(profile)
			require.NoError(t, err, "%s for %s", name, profile)
			var pretty bytes.Buffer
			require.NoError(t, json.Indent(&pretty, converted, "", "  "))
			golden(t, filepath.Join("schema", name+"."+string(profile)+".json"), pretty.String()+"\n")
			_, err = agent.ParseSchema(converted)
			assert.NoError(t, err, "what comes out is a schema: %s for %s", name, profile)
		}
	}
}

// walkSchema calls visit for every object in a JSON document.
func walkSchema(value any, inAnyOf bool, visit func(object map[string]any, inAnyOf bool)) {
	switch v := value.(type) {
	case map[string]any:
		visit(v, inAnyOf)
		for name, member := range v {
			walkSchema(member, inAnyOf || name == "anyOf", visit)
		}
	case []any:
		for _, item := range v {
			walkSchema(item, inAnyOf, visit)
		}
	}
}

func TestAStrictSchemaClosesEveryObjectAndRequiresEveryProperty(t *testing.T) {
	t.Parallel()
	for name, open := range schemaSet {
		schema, err := open()
		require.NoError(t, err)
		converted, err := schema.For(agent.SchemaOpenAIStrict)
		require.NoError(t, err)
		var document any
		require.NoError(t, json.Unmarshal(converted, &document))
		walkSchema(document, false, func(object map[string]any, _ bool) {
			properties, ok := object["properties"].(map[string]any)
			if !ok {
				return
			}
			assert.Equal(t, false, object["additionalProperties"], name)
			assert.Len(t, object["required"], len(properties), name)
		})
		for _, refused := range []string{"allOf", "oneOf", "const", "minLength", "default", "definitions", "$schema"} {
			assert.NotContains(t, string(converted), `"`+refused+`":`, name)
		}
	}
}

func TestAGeminiSchemaHasNothingThatGeminiRefuses(t *testing.T) {
	t.Parallel()
	for name, open := range schemaSet {
		schema, err := open()
		require.NoError(t, err)
		converted, err := schema.For(agent.SchemaGemini)
		require.NoError(t, err)
		assert.Less(t, len(converted), 100_000, "%s: recursion is bounded", name)
		var document any
		require.NoError(t, json.Unmarshal(converted, &document))
		walkSchema(document, false, func(object map[string]any, inAnyOf bool) {
			if inAnyOf {
				assert.NotContains(t, object, "required", name)
			}
			_, isList := object["type"].([]any)
			assert.False(t, isList, "%s: a list of types", name)
		})
		for _, refused := range []string{"allOf", "oneOf", "const", "$ref", "$defs", "additionalProperties", "default", "definitions", "$schema"} {
			assert.NotContains(t, string(converted), `"`+refused+`":`, name)
		}
	}
}

func TestWhatAProfileCannotSayIsAnErrorWithItsPlace(t *testing.T) {
	t.Parallel()
	type problem struct{ schema, openAI, gemini string }
	for name, c := range map[string]problem{
		"a map":            {`{"type":"object","properties":{"m":{"type":"object","additionalProperties":{"type":"string"}}}}`, "at /properties/m: an object with free keys", "at /properties/m: an object with free keys"},
		"anything":         {`{"type":"object","properties":{"x":{}}}`, "at /properties/x: it allows any value", "at /properties/x"},
		"true":             {`{"type":"object","properties":{"x":true}}`, "any value", "any value"},
		"false":            {`{"type":"object","properties":{"x":false}}`, "no value fits", "no value fits"},
		"the root":         {`{"type":"array","items":{"type":"string"}}`, "the root must be an object", ""},
		"a union as root":  {`{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"object","properties":{"b":{"type":"string"}}}]}`, "the root must be an object", ""},
		"not":              {`{"type":"object","properties":{"x":{"type":"string","not":{"const":"a"}}}}`, "not is not supported", "not is not supported"},
		"if":               {`{"type":"object","properties":{"x":{"type":"string"}},"if":{"required":["x"]},"then":{}}`, "if is not supported", "if is not supported"},
		"tuples":           {`{"type":"object","properties":{"x":{"type":"array","prefixItems":[{"type":"string"}]}}}`, "prefixItems", "prefixItems"},
		"no items":         {`{"type":"object","properties":{"x":{"type":"array"}}}`, "nothing of its items", "nothing of its items"},
		"patterns":         {`{"type":"object","patternProperties":{"^a":{"type":"string"}}}`, "patternProperties", "patternProperties"},
		"no properties":    {`{"type":"object","properties":{"x":{"type":"object","additionalProperties":false}}}`, "", "an object without properties"},
		"allOf conflict":   {`{"type":"object","properties":{"x":{"allOf":[{"type":"string"},{"type":"integer"}]}}}`, "more than one branch", "more than one branch"},
		"endless":          {`{"$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"required":["next"]}},"type":"object","properties":{"n":{"$ref":"#/$defs/n"}},"required":["n"]}`, "", "without an end"},
		"a circle":         {`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`, "circle", "without an end"},
		"a ref to a place": {`{"type":"object","properties":{"a":{"type":"string"},"b":{"$ref":"#/properties/a"}}}`, "plain name under $defs", ""},
	} {
		schema, err := agent.ParseSchema(json.RawMessage(c.schema))
		require.NoError(t, err, name)
		for profile, want := range map[agent.SchemaProfile]string{agent.SchemaOpenAIStrict: c.openAI, agent.SchemaGemini: c.gemini} {
			err := schema.Check(profile)
			if want == "" {
				assert.NoError(t, err, "%s for %s", name, profile)
				continue
			}
			var refused *agent.SchemaProfileError
			if assert.ErrorAs(t, err, &refused, "%s for %s", name, profile) {
				assert.ErrorContains(t, err, want, "%s for %s", name, profile)
				assert.Equal(t, profile, refused.Profile)
			}
		}
		assert.NoError(t, schema.Check(agent.SchemaPlain))
	}
	schema, err := agent.SchemaFor[invoice]()
	require.NoError(t, err)
	assert.ErrorContains(t, schema.Check("mystery"), "there is no schema profile")
}

func TestAllProblemsOfASchemaAreToldAtOnce(t *testing.T) {
	t.Parallel()
	type loose struct {
		Any  any               `json:"any"`
		Map  map[string]string `json:"map"`
		Raw  json.RawMessage   `json:"raw"`
		Fine string            `json:"fine"`
	}
	schema, err := agent.SchemaFor[loose]()
	require.NoError(t, err)
	for _, profile := range []agent.SchemaProfile{agent.SchemaOpenAIStrict, agent.SchemaGemini} {
		var refused *agent.SchemaProfileError
		require.ErrorAs(t, schema.Check(profile), &refused)
		places := map[string]bool{}
		for _, p := range refused.Problems {
			places[p.Pointer] = true
		}
		if profile == agent.SchemaOpenAIStrict {
			assert.Equal(t, map[string]bool{"/properties/any": true, "/properties/map": true, "/properties/raw": true}, places)
		}
		assert.True(t, places["/properties/any"])
	}
}

func TestTheStrictLimitsAreChecked(t *testing.T) {
	t.Parallel()
	deep := `{"type":"string"}`
	for range 11 {
		deep = `{"type":"object","properties":{"x":` + deep + `}}`
	}
	schema, err := agent.ParseSchema(json.RawMessage(deep))
	require.NoError(t, err)
	assert.ErrorContains(t, schema.Check(agent.SchemaOpenAIStrict), "deeper than 10 levels")
	values := make([]string, 1001)
	for i := range values {
		values[i] = strings.Repeat("v", 1+i)
	}
	data, err := json.Marshal(map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"enum": values}}})
	require.NoError(t, err)
	schema, err = agent.ParseSchema(data)
	require.NoError(t, err)
	err = schema.Check(agent.SchemaOpenAIStrict)
	assert.ErrorContains(t, err, "1001 enum values")
	assert.ErrorContains(t, err, "bytes of names and enum values")
}

func TestASchemaThatIsNoneIsRefusedWithWords(t *testing.T) {
	t.Parallel()
	for text, words := range map[string]string{
		``:                                      "not JSON",
		`{`:                                     "not JSON",
		`7`:                                     "neither an object nor a boolean",
		`{"type":"strin"}`:                      "at /type",
		`{"$ref":"file:///etc/passwd"}`:         "only references inside the schema",
		`{"$ref":"http://example.com/a.json"}`:  "only references inside the schema",
		`{"$ref":"other.json"}`:                 "only references inside the schema",
		`{"$ref":"#/$defs/missing"}`:            "cannot be used",
		`{"pattern":"(?=a)"}`:                   "cannot be used",
		`{"type":"string"} {}`:                  "not JSON",
		strings.Repeat(`{"not":`, 300):          "deeper than",
		`{"$schema":"http://example.com/mine"}`: "cannot be used",
	} {
		_, err := agent.ParseSchema(json.RawMessage(text))
		assert.ErrorContains(t, err, words, text)
	}
}

func TestATypeThatJSONCannotHoldHasNoSchema(t *testing.T) {
	t.Parallel()
	_, err := agent.SchemaOf(nil)
	require.Error(t, err)
	for _, kind := range []reflect.Type{reflect.TypeFor[chan int](), reflect.TypeFor[struct{ F func() }]()} {
		assert.NotPanics(t, func() { _, err = agent.SchemaOf(kind) })
		if err == nil {
			t.Logf("%s gives a schema", kind)
		}
	}
}

func TestTypesOfOneNameKeepDefinitionsOfTheirOwn(t *testing.T) {
	t.Parallel()
	type Outer struct {
		Mine   struct{ Role agent.Role } `json:"mine"`
		Theirs reflect.StructTag         `json:"theirs"`
		A      pair[address]             `json:"a"`
		B      pair[line]                `json:"b"`
	}
	schema, err := agent.SchemaFor[Outer]()
	require.NoError(t, err)
	require.NoError(t, schema.Check(agent.SchemaOpenAIStrict))
	require.NoError(t, schema.Validate(json.RawMessage(`{"mine":{"Role":"user"},"theirs":"x","a":{"one":{"street":"s"}},"b":{"one":{"text":"t","count":1}}}`)))
}

type pair[T any] struct {
	One T `json:"one"`
}

func TestValidationTellsPlacesAndWords(t *testing.T) {
	t.Parallel()
	schema, err := agent.SchemaFor[invoice]()
	require.NoError(t, err)
	err = schema.Validate(json.RawMessage(`{"number":"7","currency":"GBP","issued":"2026-01-02T03:04:05Z","total":"ten","billing":{"street":"s"},"lines":[],"paid":true,"more":1}`))
	var invalid *agent.SchemaError
	require.ErrorAs(t, err, &invalid)
	text := err.Error()
	for _, part := range []string{"/number", "/currency", "at /total: got string, want number", "/lines", "'more' not allowed"} {
		assert.Contains(t, text, part)
	}
	assert.NotContains(t, text, "treadle:///")
	assert.ErrorContains(t, schema.Validate(json.RawMessage(`{`)), "not JSON")
}

func TestANullThatOnlyStrictnessAskedForIsTakenOut(t *testing.T) {
	t.Parallel()
	schema, err := agent.SchemaFor[tree]()
	require.NoError(t, err)
	fit, err := schema.Fit(json.RawMessage(`{"name":"<a>","parent":null,"children":[{"name":"b","parent":{"name":"c","parent":null,"children":[]},"children":[]}]}`))
	require.NoError(t, err)
	assert.Equal(t, `{"name":"<a>","children":[{"name":"b","parent":{"name":"c","children":[]},"children":[]}]}`, string(fit))
	_, err = schema.Fit(json.RawMessage(`{"name":null,"parent":null,"children":[]}`))
	var invalid *agent.SchemaError
	require.ErrorAs(t, err, &invalid, "what is required may not be null")
	assert.Contains(t, err.Error(), "/name")

	nullable, err := agent.ParseSchema(json.RawMessage(`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"type":"string"},"c":{"enum":["x"]}}}`))
	require.NoError(t, err)
	fit, err = nullable.Fit(json.RawMessage(`{"a":null,"b":null,"c":null}`))
	require.NoError(t, err)
	assert.JSONEq(t, `{"a":null}`, string(fit), "a null that is allowed stays")
}

func TestWhatTheStrictSchemaAllowsFitsTheSchema(t *testing.T) {
	t.Parallel()
	for name, values := range map[string][]string{
		"mixed": {
			`{"kind":"mixed","version":null,"id":"6f1c2a34-0b5d-4e6f-8a9b-0c1d2e3f4a5b","maybe":null,"either":null,"list_or_one":null,"shape":{"radius":1},"merged":null,"level":null}`,
			`{"kind":"mixed","version":2,"id":"6f1c2a34-0b5d-4e6f-8a9b-0c1d2e3f4a5b","maybe":"m","either":7,"list_or_one":["a"],"shape":{"width":1,"inner":null},"merged":{"a":"a","b":null},"level":2}`,
			`{"kind":"mixed","version":2,"id":"6f1c2a34-0b5d-4e6f-8a9b-0c1d2e3f4a5b","maybe":"m","either":"e","list_or_one":"a","shape":{"width":1,"inner":{"a":"b"}},"merged":{"a":"a","b":1},"level":1}`,
		},
		"tree": {`{"name":"r","parent":null,"children":[{"name":"c","parent":{"name":"p","parent":null,"children":[]},"children":[]}]}`},
		"invoice": {
			`{"number":"INV-1","currency":"EUR","status":null,"issued":"2026-01-02T03:04:05Z","total":1.5,"rating":null,"billing":{"street":"s","city":null},"delivery":null,"lines":[{"text":"t","count":1}],"tags":null,"paid":true,"related":null}`,
			`{"number":"INV-1","currency":"EUR","status":"open","issued":"2026-01-02T03:04:05Z","total":1.5,"rating":3,"billing":{"street":"s","city":"Oslo"},"delivery":{"street":"s","city":null},"lines":[{"text":"t","count":1}],"tags":["a"],"paid":true,"related":[{"number":"INV-2","currency":"USD","status":null,"issued":"2026-01-02T03:04:05Z","total":0,"rating":null,"billing":{"street":"s","city":null},"delivery":null,"lines":[{"text":"t","count":1}],"tags":null,"paid":false,"related":null}]}`,
		},
	} {
		schema, err := schemaSet[name]()
		require.NoError(t, err)
		strict, err := schema.For(agent.SchemaOpenAIStrict)
		require.NoError(t, err)
		converted, err := agent.ParseSchema(strict)
		require.NoError(t, err)
		for _, value := range values {
			require.NoError(t, converted.Validate(json.RawMessage(value)), "%s allows it", name)
			fit, err := schema.Fit(json.RawMessage(value))
			require.NoError(t, err, "%s fits", name)
			require.NoError(t, schema.Validate(fit))
		}
	}
}

func FuzzSchemas(f *testing.F) {
	for _, open := range schemaSet {
		schema, err := open()
		require.NoError(f, err)
		f.Add([]byte(schema.JSON()), []byte(`{"name":null}`))
	}
	f.Add([]byte(`{"allOf":[{"$ref":"#"}]}`), []byte(`null`))
	f.Add([]byte(`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#"},{"type":"null"}]}}}`), []byte(`[1]`))
	f.Fuzz(func(t *testing.T, raw, value []byte) {
		schema, err := agent.ParseSchema(raw)
		if err != nil {
			return
		}
		_, _ = schema.Fit(value)
		for _, profile := range []agent.SchemaProfile{agent.SchemaOpenAIStrict, agent.SchemaGemini} {
			converted, err := schema.For(profile)
			if err == nil {
				require.True(t, json.Valid(converted))
			}
		}
	})
}
