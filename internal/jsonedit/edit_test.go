package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/jsonedit"
)

func TestAValueIsPutWhereItsPathLeads(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text  string
		path  []string
		value string
		want  string
	}{
		{`{"a":1.0,"b":2}`, []string{"b"}, `3`, `{"a":1.0,"b":3}`},
		{`{"a":1.0}`, []string{"b", "c"}, `[]`, `{"a":1.0,"b":{"c":[]}}`},
		{`{"b":null}`, []string{"b", "c"}, `1`, `{"b":{"c":1}}`},
		{`{"b":1,"b":2,"c":3}`, []string{"b"}, `9`, `{"b":1,"b":9,"c":3}`},
		{`{"\u0061":1}`, []string{"a"}, `2`, `{"\u0061":2}`},
		{`{}`, []string{"<&>"}, `2`, `{"<&>":2}`},
		{`{}`, nil, `2`, `2`},
	} {
		got, err := jsonedit.Set([]byte(tc.text), tc.path, []byte(tc.value))
		require.NoError(t, err)
		assert.Equal(t, tc.want, string(got))
	}
	_, err := jsonedit.Set([]byte(`{"a":[1]}`), []string{"a", "0"}, []byte(`2`))
	assert.ErrorIs(t, err, jsonedit.ErrNoObject)
}

func TestAKeyIsTakenAwayHoweverOftenItStands(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		text string
		path []string
		want string
	}{
		{`{"a":1,"b":2,"a":3}`, []string{"a"}, `{"b":2}`},
		{`{"a":{"b":2}}`, []string{"a", "b"}, `{"a":{}}`},
		{`{"a":7}`, []string{"a", "b"}, `{"a":7}`},
		{`{ "a" : 7 }`, []string{"c"}, `{ "a" : 7 }`},
		{`[1]`, []string{"c"}, `[1]`},
		{`{"a":1}`, nil, `{"a":1}`},
	} {
		assert.Equal(t, tc.want, string(jsonedit.Unset([]byte(tc.text), tc.path)))
	}
}

func TestMergingKeepsTheSpellingOfWhatIsTheSame(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ old, wanted, want string }{
		{`{"n":1.0,"s":"\u0041","big":123456789012345678901}`, `{"big":123456789012345678901,"s":"A","n":1.0,"x":1}`, `{"n":1.0,"s":"\u0041","big":123456789012345678901,"x":1}`},
		{`{"n":1.0}`, `{"n":1}`, `{"n":1}`},
		{`{"a":{"z":1,"y":[{"q":"\/","r":1}]},"b":2}`, `{"b":2,"a":{"y":[{"r":2,"q":"/"},3],"z":1}}`, `{"a":{"z":1,"y":[{"q":"\/","r":2},3]},"b":2}`},
		{`{"a":1,"b":2}`, `{"b":2}`, `{"b":2}`},
		{`{"a":1,"a":2,"b":3}`, `{"a":2,"b":4}`, `{"a":1,"a":2,"b":4}`},
		{`{"a":null}`, `{}`, `{}`},
		{`{"a":null}`, `{"a":""}`, `{"a":""}`},
		{`[1,2]`, `[1]`, `[1]`},
		{`7`, `{}`, `{}`},
	} {
		assert.Equal(t, tc.want, string(jsonedit.Merge([]byte(tc.old), []byte(tc.wanted))))
	}
}

func TestTextsAreTheSameByWhatTheySay(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		a, b string
		want bool
	}{
		{`{"a":1,"b":[true,null]}`, ` { "b" : [ true , null ] , "a" : 1 } `, true},
		{`"\u00e9"`, `"é"`, true},
		{`1`, `1.0`, false},
		{`10`, `1e1`, false},
		{`{"a":null}`, `{}`, false},
		{`[]`, `null`, false},
		{`""`, `null`, false},
		{`false`, `null`, false},
		{`[1,2]`, `[2,1]`, false},
		{`{"a":1,"a":2}`, `{"a":2}`, true},
		{``, `1`, false},
	} {
		assert.Equal(t, tc.want, jsonedit.Equal([]byte(tc.a), []byte(tc.b)), "%s and %s", tc.a, tc.b)
	}
}

func TestPlacesInATextAreFound(t *testing.T) {
	t.Parallel()
	text := []byte(` [ {"a":"]"} , [ ] ,"x\"," , 1e5 ] `)
	parts := []string{}
	for _, span := range jsonedit.Elements(text) {
		parts = append(parts, string(text[span.Start:span.End]))
	}
	assert.Equal(t, []string{`{"a":"]"}`, `[ ]`, `"x\","`, `1e5`}, parts)
	assert.JSONEq(t, `{"c":1}`, string(jsonedit.Get([]byte(`{"a":1,"a":{"b":{"c":1}}}`), "a", "b")))
	assert.Nil(t, jsonedit.Get([]byte(`{"a":1}`), "a", "b"))
	assert.Nil(t, jsonedit.Elements([]byte(`{}`)))
	assert.Nil(t, jsonedit.Members([]byte(`[]`)))
	assert.Equal(t, "{\n    \"a\": {},\n    \"b\": [\n      1.0\n    ]\n  }", string(jsonedit.Indent([]byte(`{"a":{ },"b":[1.0]}`), "  ")))
}

// FuzzScan takes every valid text apart and puts it together again, and lets no text
// cause a panic.
func FuzzScan(f *testing.F) {
	for _, seed := range []string{`{"a":[1,{"b":"\"]}"}],"a":null}`, `[]`, ` "x" `, `{"\ud800":1e-9}`, `[`, `{"a"`, `{"a":`, `"\`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		members, elements := jsonedit.Members(text), jsonedit.Elements(text)
		if !json.Valid(text) {
			return
		}
		var parts [][]byte
		for _, m := range members {
			require.Equal(t, text[m.Span.Start:m.Span.End], []byte(m.Value))
			parts = append(parts, append(append(bytes.Clone(m.Name), ':'), m.Value...))
		}
		for _, span := range elements {
			parts = append(parts, text[span.Start:span.End])
		}
		joined := bytes.Join(parts, []byte(","))
		switch {
		case jsonedit.IsObject(text):
			joined = append(append([]byte{'{'}, joined...), '}')
		case jsonedit.IsList(text):
			joined = append(append([]byte{'['}, joined...), ']')
		default:
			return
		}
		var want, got bytes.Buffer
		require.NoError(t, json.Compact(&want, text))
		require.NoError(t, json.Compact(&got, joined))
		require.Equal(t, want.String(), got.String())
		require.True(t, jsonedit.Equal(text, joined))
		require.Equal(t, string(text), string(jsonedit.Merge(text, joined)))
	})
}
