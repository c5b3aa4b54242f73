package agent

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func anyJSON(depth int) *rapid.Generator[any] {
	leaf := rapid.SampledFrom([]any{nil, true, "", "a", "b", 0.0, 1.0, 1.5, -3.0, 1e20, 123456789012345.0})
	if depth == 0 {
		return leaf
	}
	return rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(anyJSON(depth-1), 0, 3), func(s []any) any { return s }),
		rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), anyJSON(depth-1), 0, 3), func(m map[string]any) any { return m }),
	)
}

func anySchema(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		s := map[string]any{}
		put := func(keyword string, g *rapid.Generator[any]) {
			if rapid.IntRange(0, 3).Draw(t, keyword) == 0 {
				s[keyword] = g.Draw(t, keyword)
			}
		}
		if rapid.IntRange(0, 9).Draw(t, "typed") > 0 {
			s["type"] = rapid.SampledFrom([]any{"object", "object", "array", "string", "integer", "number", "boolean", "null"}).Draw(t, "type")
		}
		put("minimum", rapid.SampledFrom([]any{-1.0, 1.0, 1.5}))
		put("maximum", rapid.SampledFrom([]any{0.0, 2.0, 1e19}))
		put("enum", rapid.SampledFrom([]any{[]any{"a"}, []any{"a", "b"}, []any{"a", 1.0}}))
		put("additionalProperties", rapid.SampledFrom([]any{true, false, map[string]any{"type": "string"}}))
		put("required", rapid.SampledFrom([]any{[]any{}, []any{"a"}, []any{"a", "b"}}))
		put("description", rapid.Just[any]("words"))
		put("$schema", rapid.SampledFrom([]any{"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema"}))
		put("not", rapid.Just[any](map[string]any{}))
		if depth > 0 {
			put("items", anySchema(depth-1))
			put("properties", rapid.Map(rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), anySchema(depth-1), 0, 2), func(m map[string]any) any { return m }))
		}
		return s
	})
}

// What the quick check lets pass, the validator lets pass too.
func TestTheQuickCheckAcceptsNothingThatTheValidatorRefuses(t *testing.T) {
	t.Parallel()
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		source, err := json.Marshal(anySchema(2).Draw(t, "schema"))
		require.NoError(t, err)
		check := inputCheck{source: source}
		for range 5 {
			value, err := json.Marshal(anyJSON(2).Draw(t, "value"))
			require.NoError(t, err)
			if rapid.Bool().Draw(t, "indented") {
				value, err = json.MarshalIndent(json.RawMessage(value), "", " ")
				require.NoError(t, err)
			}
			problem := check.check(value).problem
			if check.quick == nil {
				return
			}
			if check.quick.accepts(value) {
				accepted++
				full := inputCheck{source: source}
				full.readOnce.Do(func() {}) // leaves the quick check out
				require.Empty(t, full.check(value).problem, "%s for %s", source, value)
			} else if len(value) <= exactDigits { // a long number is left to the validator
				require.NotEmpty(t, problem, "plain schemas are decided alike: %s for %s", source, value)
			}
		}
	})
	assert.Positive(t, accepted)
}

func TestTheQuickCheckReadsWhatModelsSend(t *testing.T) {
	t.Parallel()
	const schema = `{"type":"object","properties":{"name":{"type":"string"},"level":{"type":"integer","minimum":1},"tags":{"type":"array","items":{"type":"string"}},"any":{}},"required":["name"]}`
	closed := strings.TrimSuffix(schema, "}") + `,"additionalProperties":false}`
	for _, c := range []struct {
		schema, sent string
		fits         bool
	}{
		{schema, `{"name":"a"}`, true},
		{schema, ` { "name" : "a\"}" , "level" : 3 , "tags" : [ "x" , "y" ] } `, true},
		{schema, `{"name":"","more":{"a":[{"b":"]}"},1,null]},"any":[[],{}]}`, true},
		{closed, `{"name":"a","any":{"x":1}}`, true},
		{closed, `{"name":"a","more":1}`, false},
		{schema, `{"level":1}`, false},
		{schema, `{"name":"a","level":0}`, false},
		{schema, `{"name":"a","level":"1"}`, false},
		{schema, `{"name":"a","tags":["x",1]}`, false},
		{schema, `{"name":"a","tags":{}}`, false},
		{schema, `{"name":null}`, false},
		{schema, `{}`, false},
		{schema, `{"name":"a","name":1}`, false},
	} {
		check := inputCheck{source: json.RawMessage(c.schema)}
		check.read()
		require.NotNil(t, check.quick)
		assert.Equal(t, c.fits, check.quick.accepts([]byte(c.sent)), c.sent)
	}
}

func FuzzTheQuickCheckEndsWhateverTheText(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"c"}],"d":tru`, `{"a":"\`, `{"a" 1}`, `[[[[`, `}`, `{"x":{"a":1}}`} {
		f.Add([]byte(seed))
	}
	check := inputCheck{source: json.RawMessage(`{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"string"}}}},"n":{"type":"number"}},"required":["a"]}`)}
	check.read()
	f.Fuzz(func(t *testing.T, text []byte) {
		accepted := check.quick.accepts(text)
		if accepted && json.Valid(text) {
			full := inputCheck{source: check.source}
			full.readOnce.Do(func() {})
			require.Empty(t, full.check(text).problem)
		}
	})
}
