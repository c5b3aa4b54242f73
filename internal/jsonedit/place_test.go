package jsonedit_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/jsonedit"
)

const routes = `{"routes":[{"id":"a","n":1.0},{"id":"b","to":"a"}],"a":"a"}`

func TestAPathLeadsThroughObjectsAndLists(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "1.0", string(jsonedit.At([]byte(routes), "routes", "0", "n")))
	for _, nowhere := range [][]string{{"routes", "2"}, {"routes", "-1"}, {"routes", "00"}, {"routes", "x"}, {"a", "b"}, {"b"}} {
		assert.Nil(t, jsonedit.At([]byte(routes), nowhere...))
		assert.JSONEq(t, routes, string(jsonedit.Replace([]byte(routes), nowhere, []byte("2"))))
	}
	assert.Equal(t, `{"routes":[{"id":"a","n":2.00},{"id":"b","to":"a"}],"a":"a"}`, string(jsonedit.Replace([]byte(routes), []string{"routes", "0", "n"}, []byte("2.00"))))
}

func TestTextsAreReplacedByWhereTheyStand(t *testing.T) {
	t.Parallel()
	var paths [][]string
	mapped := jsonedit.MapStrings([]byte(routes), func(path []string, text string) string {
		paths = append(paths, path)
		if path[len(path)-1] == "to" {
			return "<" + text + ">"
		}
		return text
	})
	assert.Equal(t, `{"routes":[{"id":"a","n":1.0},{"id":"b","to":"<a>"}],"a":"a"}`, string(mapped))
	assert.Equal(t, [][]string{{"routes", "0", "id"}, {"routes", "1", "id"}, {"routes", "1", "to"}, {"a"}}, paths)
}

func FuzzPlaces(f *testing.F) {
	f.Add([]byte(routes), "routes", "0")
	f.Add([]byte(` [ { "a" : [ "\u0061" ] } ] `), "0", "a")
	f.Fuzz(func(t *testing.T, text []byte, first, second string) {
		if !json.Valid(text) {
			return
		}
		same := jsonedit.MapStrings(text, func(_ []string, text string) string { return text })
		require.Equal(t, string(text), string(same))
		path := []string{first, second}
		replaced := jsonedit.Replace(text, path, []byte(`"new"`))
		require.True(t, json.Valid(replaced))
		if jsonedit.At(text, path...) == nil {
			require.True(t, jsonedit.Equal(text, replaced))
			return
		}
		require.Equal(t, `"new"`, string(jsonedit.At(replaced, path...)))
	})
}
