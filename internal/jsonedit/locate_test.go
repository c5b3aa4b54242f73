package jsonedit_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/jsonedit"
)

func TestAPointerIsFoundWhereAReaderLooksForIt(t *testing.T) {
	t.Parallel()
	text := []byte("{\n  \"a\": [\n    1,\n    {\"b/c\": 2, \"~\": {\"x\": 1}},\n    {\"id\": 1,\n     \"id\": 2}\n  ],\n  \"Title\": 3\n}\n")
	for pointer, want := range map[string]string{
		"":                 "{\n  \"a\"",
		"/a":               `"a": [`,
		"/a/0":             "1,",
		"/a/1/b~1c":        `"b/c"`,
		"/a/1/~0/x":        `"x"`,
		"/a/2/id":          `"id": 2`, // the last one counts
		"/title":           `"Title"`,
		"/a/1/nothing":     `{"b/c"`,
		"/a/9/nothing":     `"a": [`,
		"/a/1/b~1c/deeper": `"b/c"`,
		"/":                "{\n  \"a\"",
	} {
		at := jsonedit.Locate(text, []string{"/a/0", pointer})
		assert.True(t, strings.HasPrefix(string(text[at[1]:]), want), "%s is found at %q", pointer, text[at[1]:])
		assert.True(t, strings.HasPrefix(string(text[at[0]:]), "1,"))
	}
}

func TestInATextThatIsNoJSONAPointerIsWhereItStopsBeingJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"{\n oops}": 3, "": 0, `{"a":`: 4, "{} x": 3} {
		assert.Equal(t, []int{want, want}, jsonedit.Locate([]byte(text), []string{"", "/a"}), text)
	}
}

func FuzzLocate(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":2}]}`), "/a/1/b")
	f.Add([]byte(`{"a`), "/~1//~0")
	f.Fuzz(func(t *testing.T, text []byte, pointer string) {
		for _, at := range jsonedit.Locate(text, []string{pointer, "", pointer + "/0"}) {
			if at < 0 || at > len(text) {
				t.Fatalf("offset %d in a text of %d", at, len(text))
			}
		}
	})
}

func TestTextsThatSayTheSameHaveOneCanonicalForm(t *testing.T) {
	t.Parallel()
	for _, same := range [][2]string{
		{`{"a":1,"b":[1,{"d":"x","c":null}]}`, " {\n\"b\" : [ 1 , { \"c\" : null, \"d\":\"\\u0078\"} ] ,\"a\":1 }\n"},
		{`{"a":1}`, `{"a":2,"a":1}`},
		{`[]`, ` [ ] `},
		{`"a"`, `"\u0061"`},
	} {
		assert.Equal(t, string(jsonedit.Canonical([]byte(same[0]))), string(jsonedit.Canonical([]byte(same[1]))))
	}
	for _, other := range [][2]string{{`[1,2]`, `[2,1]`}, {`[1,2]`, `[12]`}, {`{"a":1}`, `{"a":"1"}`}, {`1`, `1.0`}, {`{"a":{}}`, `{"a":[]}`}, {`{"a":null}`, `{}`}} {
		assert.NotEqual(t, string(jsonedit.Canonical([]byte(other[0]))), string(jsonedit.Canonical([]byte(other[1]))))
	}
}

func FuzzCanonical(f *testing.F) {
	f.Add([]byte(`{"b":[1,{"d":"\ud800","c":null}],"a":1,"b":2}`))
	f.Add([]byte(`{"a":`))
	f.Fuzz(func(t *testing.T, text []byte) {
		form := jsonedit.Canonical(text)
		if !json.Valid(text) {
			return
		}
		var spaced bytes.Buffer
		require.NoError(t, json.Indent(&spaced, text, " ", "\t"))
		require.Equal(t, string(form), string(jsonedit.Canonical(spaced.Bytes())))
	})
}
