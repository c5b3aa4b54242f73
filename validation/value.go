package validation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// typeOf names the JSON type of a decoded value.
func typeOf(value any) string {
	switch value.(type) {
	case string:
		return typeString
	case json.Number:
		return typeNumber
	case bool:
		return typeBoolean
	case []any:
		return typeArray
	case map[string]any:
		return typeObject
	default:
		return "null"
	}
}

// describe shows a value to a reader: its type, and the value or as much of it as
// helps.
func describe(value any) string {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("string %q", excerpt(v, 100))
	case json.Number:
		return "number " + excerpt(v.String(), 60)
	case bool:
		return fmt.Sprintf("boolean %t", v)
	case []any:
		return "array of " + count(len(v), "element")
	case map[string]any:
		return "object of " + count(len(v), "member")
	default:
		return "null"
	}
}

// equalValues compares two JSON values: numbers by what they are worth, all else
// by structure.
func equalValues(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && compareNumbers(a, b) == 0
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalValues(a[i], b[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !equalValues(value, other) {
				return false
			}
		}
		return true
	default:
		return typeOf(a) == typeOf(b) && a == b
	}
}

// compareNumbers compares two numbers that a JSON decoder has accepted.
func compareNumbers(a, b json.Number) int {
	left, leftErr := parseNumber(a.String())
	right, rightErr := parseNumber(b.String())
	if leftErr != nil || rightErr != nil {
		return strings.Compare(a.String(), b.String())
	}
	return left.compare(right)
}

// parseDocument reads a JSON text that holds one value and nothing after it.
// Numbers stay as they are written.
func parseDocument(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var document any
	if err := dec.Decode(&document); err != nil {
		return nil, placed(err, data, dec.InputOffset())
	}
	if rest := bytes.TrimLeft(data[dec.InputOffset():], " \t\r\n"); len(rest) > 0 {
		return nil, fmt.Errorf("%s after the end of the JSON value", position(data, int64(len(data)-len(rest))))
	}
	return document, nil
}

// excerpt cuts a text to a number of bytes, at a whole character.
func excerpt(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
