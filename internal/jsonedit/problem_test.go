package jsonedit_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/treadle-dev/treadle/internal/jsonedit"
)

func TestWhyATextIsNoJSONIsSaidForItsAuthor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a": 1}`:                  "",
		"":                          "the file is empty",
		" \r\n":                     "the file is empty",
		"\xef\xbb\xbf{}":            "it begins with a byte order mark, which JSON does not allow; save it as UTF-8 without one",
		"\xff\xfe{\x00}\x00":        "it is encoded as UTF-16; save it as UTF-8",
		"{\n\"id\": oops}":          "line 2, column 7: invalid character 'o' looking for beginning of value",
		"{\r\n  \"a\": 1,\r\n}":     "line 3, column 1: invalid character '}' looking for beginning of object key string",
		"{\"a\": [1,\n 2":           "line 2, column 3: the text ends too early",
		"{\n\n\n":                   "line 1, column 2: the text ends too early",
		"{} x":                      "line 1, column 4: invalid character 'x' after top-level value",
		strings.Repeat("[", 10_001): "line 1, column 10001: lists and objects are nested more than 10,000 deep",
		`{"a": "` + "\x00" + `"}`:   `line 1, column 8: invalid character '\x00' in string literal`,
		"{'a': 1}":                  `line 1, column 2: invalid character '\'' looking for beginning of object key string`,
		"// why\n{}":                "line 1, column 1: invalid character '/' looking for beginning of value",
	} {
		assert.Equal(t, want, jsonedit.Problem([]byte(text)), "%.40q", text)
	}
}

func TestAnEditedTextHasTheLineEndsOfTheOldOne(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "{\r\n}\r\n", string(jsonedit.LineEnds([]byte("{\r\n}\n"), []byte("[\r\n]"))))
	assert.Equal(t, "{\r\n}\n", string(jsonedit.LineEnds([]byte("{\r\n}\n"), []byte("[\r\n]\n"))), "mixed ones stay")
	assert.Equal(t, "{\n}", string(jsonedit.LineEnds([]byte("{\n}"), []byte("[]"))))
}
