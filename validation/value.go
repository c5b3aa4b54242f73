package validation

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/openjson"
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
		return fmt.Sprintf("string %q", openjson.Excerpt(v, 100))
	case json.Number:
		return "number " + openjson.Excerpt(v.String(), 60)
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

// canonical writes a JSON value so that equal values have equal texts.
func canonical(value any) string {
	var out strings.Builder
	writeCanonical(&out, value)
	return out.String()
}

func writeCanonical(out *strings.Builder, value any) {
	switch v := value.(type) {
	case string:
		out.WriteString(strconv.Quote(v))
	case json.Number:
		out.WriteString(canonicalNumber(v))
	case []any:
		out.WriteByte('[')
		for _, element := range v {
			writeCanonical(out, element)
			out.WriteByte(',')
		}
		out.WriteByte(']')
	case map[string]any:
		out.WriteByte('{')
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out.WriteString(strconv.Quote(key))
			out.WriteByte(':')
			writeCanonical(out, v[key])
			out.WriteByte(',')
		}
		out.WriteByte('}')
	default:
		fmt.Fprint(out, v) // true, false, and nil for null
	}
}

func canonicalNumber(number json.Number) string {
	parsed, err := parseNumber(number.String())
	if err != nil {
		return number.String()
	}
	return parsed.canonical()
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

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
