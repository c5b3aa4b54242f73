package validation

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/internal/openjson"
)

// The value types and the consistency checks, as they are written in a schema.
const (
	typeString  = "string"
	typeNumber  = "number"
	typeBoolean = "boolean"
	typeArray   = "array"
	typeObject  = "object"

	consistencyEquals      = "equals"
	consistencyGreaterThan = "greater_than"
	consistencyLessThan    = "less_than"
	consistencyArrayLength = "array_length"
	consistencyInArray     = "in_array"
)

func valueTypes() []string {
	return []string{typeString, typeNumber, typeBoolean, typeArray, typeObject}
}

func consistencyTypes() []string {
	return []string{consistencyEquals, consistencyGreaterThan, consistencyLessThan, consistencyArrayLength, consistencyInArray}
}

func (c *compiler) jsonCheck(j *JSONCheck, pointer string) *jsonCheck {
	if !c.faults(&j.rest, pointer, j) {
		return nil
	}
	check := &jsonCheck{
		required:  j.MustExist == nil || *j.MustExist,
		path:      c.query(j.Path, pointer+"/path"),
		valueType: j.ValueType,
		minLength: j.MinLength, maxLength: j.MaxLength,
		minValue: c.number(j.MinValue.String(), pointer+"/min_value"),
		maxValue: c.number(j.MaxValue.String(), pointer+"/max_value"),
		pattern:  c.pattern(j.Pattern, pointer+"/pattern"),
	}
	if j.ValueType != "" && !slices.Contains(valueTypes(), j.ValueType) {
		c.report(codeValueTypeUnknown, pointer+"/value_type",
			fmt.Sprintf("unknown value type %q", openjson.Excerpt(j.ValueType, 40)), "use one of "+strings.Join(valueTypes(), ", "))
	}
	c.bounds(j.MinLength, j.MaxLength, pointer, "min_length", "max_length")
	if check.minValue != nil && check.maxValue != nil && check.minValue.compare(check.maxValue) > 0 {
		c.report(codeLimitContradiction, pointer+"/min_value",
			fmt.Sprintf("min_value %s is above max_value %s, so nothing passes", j.MinValue, j.MaxValue), "exchange them, or leave one out")
	}
	c.limitsFitType(j, pointer)
	if j.ConsistencyCheck != nil {
		check.consistency = c.consistency(j.ConsistencyCheck, pointer+"/consistency_check")
	}
	check.gather = check.path != nil && check.path.endsOpen &&
		(j.ValueType == typeArray || j.ValueType == "" && check.consistency != nil && check.consistency.kind == consistencyArrayLength)
	if !check.required && !check.asksMore() {
		c.report(codeCheckVacuous, pointer, "the check of an optional value that asks nothing else can never fail",
			"set must_exist to true, or say what the value must be")
	}
	return check
}

// limitsFitType reports limits that no value of the declared type can meet.
func (c *compiler) limitsFitType(j *JSONCheck, pointer string) {
	if j.ValueType == "" || !slices.Contains(valueTypes(), j.ValueType) {
		return
	}
	limits := []struct {
		key   string
		given bool
		fits  []string
	}{
		{"min_length", j.MinLength != nil, []string{typeString, typeArray}},
		{"max_length", j.MaxLength != nil, []string{typeString, typeArray}},
		{"pattern", j.Pattern != "", []string{typeString}},
		{"min_value", j.MinValue != "", []string{typeNumber}},
		{"max_value", j.MaxValue != "", []string{typeNumber}},
	}
	for _, limit := range limits {
		if limit.given && !slices.Contains(limit.fits, j.ValueType) {
			c.report(codeLimitType, pointer+"/"+limit.key,
				fmt.Sprintf("%s does not apply to the value type %s, so nothing passes", limit.key, j.ValueType),
				"it applies to "+strings.Join(limit.fits, " and "))
		}
	}
}

func (c *compiler) consistency(con *ConsistencyCheck, pointer string) *consistency {
	if !c.faults(&con.rest, pointer, con) {
		return nil
	}
	if !slices.Contains(consistencyTypes(), con.Type) {
		c.report(codeConsistencyUnknown, pointer+"/type",
			fmt.Sprintf("unknown consistency check %q", openjson.Excerpt(con.Type, 40)), "use one of "+strings.Join(consistencyTypes(), ", "))
	}
	return &consistency{kind: con.Type, other: c.query(con.CompareWithPath, pointer+"/compare_with_path")}
}

func (c *compiler) query(text, pointer string) *query {
	if strings.TrimSpace(text) == "" {
		c.report(codePathMissing, pointer, "the check has no path", "give a JSONPath such as $.status; $ is the whole document")
		return nil
	}
	q, err := parseQuery(text)
	if err != nil {
		c.report(codePathInvalid, pointer, fmt.Sprintf("%q is no JSONPath: %v", openjson.Excerpt(text, 100), err), pathHint(text))
		return nil
	}
	return q
}

func pathHint(text string) string {
	switch {
	case !strings.HasPrefix(text, "$"):
		return "a path begins with $, as in $.status"
	case strings.Contains(text, "-") || strings.Contains(text, " "):
		return "names with other than letters, digits and _ are quoted, as in $['due-date']"
	default:
		return "see RFC 9535"
	}
}

func (c *compiler) number(text, pointer string) *exactNumber {
	if text == "" {
		return nil
	}
	n, err := parseNumber(text)
	if err != nil {
		c.report(codeFieldType, pointer, fmt.Sprintf("%q is no number", openjson.Excerpt(text, 40)), "write a JSON number, such as 0.5")
		return nil
	}
	return n
}

func (c *compiler) pattern(text, pointer string) *regexp.Regexp {
	if text == "" {
		return nil
	}
	if repaired, ok := unescapeTwice(text); ok {
		c.report(codePatternRepaired, pointer,
			fmt.Sprintf("the pattern %q is escaped twice and read as %q", openjson.Excerpt(text, 100), openjson.Excerpt(repaired, 100)),
			"in JSON a regular expression's backslash is written as two, not four")
		text = repaired
	}
	re, err := compilePattern(text)
	if err != nil {
		hint := "patterns are Go regular expressions (RE2 syntax)"
		if strings.Contains(text, "(?=") || strings.Contains(text, "(?!") || strings.Contains(text, "(?<") {
			hint += ", which have no lookahead and no lookbehind"
		}
		c.report(codePatternInvalid, pointer, fmt.Sprintf("the pattern is invalid: %v", err), hint)
		return nil
	}
	return re
}

// unescapeTwice undoes a second round of escaping. It holds back unless every
// backslash of the pattern is doubled and stands before something that a regular
// expression escapes: a lone pair may well ask for a literal backslash.
func unescapeTwice(pattern string) (string, bool) {
	const escapable = `dDwWsSbB.+*?()[]{}|^$/-`
	var out strings.Builder
	changed := false
	for i := 0; i < len(pattern); i++ {
		if pattern[i] != '\\' {
			out.WriteByte(pattern[i])
			continue
		}
		if i+2 >= len(pattern) || pattern[i+1] != '\\' || !strings.ContainsRune(escapable, rune(pattern[i+2])) {
			return "", false
		}
		out.WriteByte('\\')
		out.WriteByte(pattern[i+2])
		i += 2
		changed = true
	}
	if !changed {
		return "", false
	}
	if _, err := compilePattern(out.String()); err != nil {
		return "", false
	}
	return out.String(), true
}
