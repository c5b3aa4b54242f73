package validation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/treadle-dev/treadle/internal/openjson"
)

// maxDepth is how deeply arrays and objects of a document may be nested.
const maxDepth = 1000

// holdsLines reports whether a file of that name holds one JSON value on each
// line, which is checked as the array of them.
func holdsLines(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	return ext == ".jsonl" || ext == ".ndjson"
}

// parseFile reads the document of a file by what its name says.
func parseFile(name string, data []byte) (any, error) {
	if holdsLines(name) {
		return parseLines(data)
	}
	return parseDocument(data)
}

// parseDocument reads a JSON text that holds one value and nothing after it.
// Numbers stay as they are written. A text that two readers may understand
// differently is refused: one that is not UTF-8, and one that gives a key twice.
func parseDocument(data []byte) (any, error) {
	if bad := firstInvalid(data); bad >= 0 {
		if bytes.HasPrefix(data, []byte("\xff\xfe")) || bytes.HasPrefix(data, []byte("\xfe\xff")) {
			return nil, errors.New("the file is UTF-16, and JSON is UTF-8")
		}
		return nil, fmt.Errorf("%s: the text is not UTF-8", position(data, int64(bad)))
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var document any
	if err := dec.Decode(&document); err != nil {
		return nil, placed(err, data, dec.InputOffset())
	}
	if rest := bytes.TrimLeft(data[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		at := position(data, int64(len(data)-len(rest)))
		if json.Valid(firstLine(rest)) {
			return nil, fmt.Errorf("%s after the end of the JSON value: a file with a value on each line is named .jsonl", at)
		}
		return nil, fmt.Errorf("%s after the end of the JSON value", at)
	}
	if err := inspect(data); err != nil {
		return nil, err
	}
	return document, nil
}

// parseLines reads a JSON value from each line that is not blank.
func parseLines(data []byte) (any, error) {
	values := []any{}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		value, err := parseDocument(bytes.TrimRight(line, "\r\n"))
		if err != nil {
			return nil, fmt.Errorf("value on line %d of the file: %w", number, err)
		}
		values = append(values, value)
	}
	return values, nil
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

// firstInvalid is where a text stops being UTF-8; -1 if nowhere.
func firstInvalid(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	at := 0
	for at < len(data) {
		r, size := utf8.DecodeRune(data[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return at
}

// inspect finds in a valid JSON text what decoding passes over.
func inspect(data []byte) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var open []map[string]bool // the keys of each open object, nil for an array
	wantsKey := false
	for {
		token, err := dec.Token()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return placed(err, data, dec.InputOffset()) // cannot be: the text has been decoded before
		}
		if key, isText := token.(string); isText && wantsKey {
			keys := open[len(open)-1]
			if keys[key] {
				return fmt.Errorf("%s: the key %q is given twice in one object",
					position(data, dec.InputOffset()-1), openjson.Excerpt(key, 100))
			}
			keys[key] = true
			wantsKey = false
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, map[string]bool{})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > maxDepth {
			return tooDeep(data, dec.InputOffset()-1)
		}
		wantsKey = len(open) > 0 && open[len(open)-1] != nil
	}
}

func tooDeep(data []byte, at int64) error {
	return fmt.Errorf("%s: nested more than %d levels deep", position(data, at), maxDepth)
}
