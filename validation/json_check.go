package validation

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// jsonCheck is a compiled [JSONCheck].
type jsonCheck struct {
	path                 *query
	required             bool
	valueType            string
	minLength, maxLength *int
	minValue, maxValue   *exactNumber
	pattern              *regexp.Regexp
	consistency          *consistency
	// gather takes all matches of the path together as one array.
	gather bool
}

// asksMore reports whether anything but existence is asked for.
func (j *jsonCheck) asksMore() bool {
	return j.valueType != "" || j.measures() || j.bounded() || j.pattern != nil || j.consistency != nil
}

func (j *jsonCheck) measures() bool { return j.minLength != nil || j.maxLength != nil }

func (j *jsonCheck) bounded() bool { return j.minValue != nil || j.maxValue != nil }

// run gives one result for each thing that the check asks. A value of the wrong
// type is reported as that alone: what else it lacks follows from it.
func (j *jsonCheck) run(ctx context.Context, document any) []CheckResult {
	matches, missing, err := j.path.find(ctx, document)
	if err != nil {
		return []CheckResult{{
			Path: j.path.text, CheckType: CheckPath, Expected: "a path that can be evaluated", Actual: err.Error(), ErrorMsg: err.Error(),
		}}
	}
	results := []CheckResult{j.existence(len(matches), missing)}
	if len(matches) == 0 {
		return results
	}
	if j.gather {
		matches = []match{{value: gathered(matches)}}
	}
	if j.valueType != "" {
		result, right := j.judge(CheckValueType, "of type "+j.valueType, matches, func(value any) string {
			if typeOf(value) == j.valueType {
				return ""
			}
			return describe(value)
		})
		results, matches = append(results, result), right
	}
	if len(matches) == 0 {
		return results
	}
	return append(results, j.limits(ctx, document, matches)...)
}

func (j *jsonCheck) limits(ctx context.Context, document any, matches []match) []CheckResult {
	var results []CheckResult
	ask := func(check CheckType, expected string, complaint func(any) string) {
		result, _ := j.judge(check, expected, matches, complaint)
		results = append(results, result)
	}
	if j.measures() {
		ask(CheckLength, j.lengthText(), j.lengthComplaint)
	}
	if j.pattern != nil {
		ask(CheckPattern, "a string that matches "+j.pattern.String(), func(value any) string { return j.patternComplaint(ctx, value) })
	}
	if j.bounded() {
		ask(CheckValueRange, j.rangeText(), j.rangeComplaint)
	}
	if j.consistency != nil {
		expected, complaint := j.consistency.against(ctx, document)
		ask(CheckConsistency, expected, complaint)
	}
	return results
}

// existence judges must_exist.
func (j *jsonCheck) existence(found int, missing []match) CheckResult {
	result := CheckResult{Path: j.path.text, CheckType: CheckMustExist, Passed: true, Expected: "present", Actual: "present"}
	switch {
	case !j.required:
		result.Expected = "present or absent"
		if found == 0 {
			result.Actual = "absent"
		}
	case len(missing) > 0:
		result.Passed = false
		result.Actual = "absent"
		if !j.path.single {
			result.Actual = fmt.Sprintf("absent at %d of %d places: %s", len(missing), found+len(missing), listed(missing, func(m match) string { return j.path.place(m.at) }))
		}
		result.ErrorMsg = fmt.Sprintf("%s must be present, is %s", j.path.text, result.Actual)
	case found == 0:
		result.Passed = false
		result.Actual = "nothing matches"
		result.ErrorMsg = fmt.Sprintf("%s must match something, but nothing in the file does", j.path.text)
	}
	return result
}

// judge applies one question to every match; the complaint is empty for a value
// that passes. It also returns the matches that passed.
func (j *jsonCheck) judge(check CheckType, expected string, matches []match, complaint func(any) string) (CheckResult, []match) {
	result := CheckResult{Path: j.path.text, CheckType: check, Passed: true, Expected: expected}
	type failure struct {
		at     *place
		actual string
	}
	var failures []failure
	var passed []match
	for _, m := range matches {
		if actual := complaint(m.value); actual != "" {
			failures = append(failures, failure{m.at, actual})
		} else {
			passed = append(passed, m)
		}
	}
	switch {
	case len(failures) == 0 && len(matches) == 1:
		result.Actual = describe(matches[0].value)
	case len(failures) == 0:
		result.Actual = fmt.Sprintf("all %d matches", len(matches))
	case len(matches) == 1 && (j.path.single || j.gather):
		result.Actual = failures[0].actual
	default:
		result.Actual = fmt.Sprintf("%d of %d matches fail: %s", len(failures), len(matches),
			listed(failures, func(f failure) string { return j.path.place(f.at) + " is " + f.actual }))
	}
	if len(failures) > 0 {
		result.Passed = false
		result.ErrorMsg = fmt.Sprintf("%s must be %s; found: %s", j.path.text, expected, result.Actual)
	}
	return result, passed
}

// maxListed is how many failing places one result names.
const maxListed = 5

func listed[T any](items []T, text func(T) string) string {
	var parts []string
	for _, item := range items[:min(len(items), maxListed)] {
		parts = append(parts, text(item))
	}
	if more := len(items) - maxListed; more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(parts, "; ")
}

func gathered(matches []match) []any {
	values := make([]any, 0, len(matches))
	for _, m := range matches {
		values = append(values, m.value)
	}
	return values
}

func (j *jsonCheck) lengthText() string {
	switch {
	case j.maxLength == nil:
		return fmt.Sprintf("at least %d long", *j.minLength)
	case j.minLength == nil:
		return fmt.Sprintf("at most %d long", *j.maxLength)
	default:
		return fmt.Sprintf("%d to %d long", *j.minLength, *j.maxLength)
	}
}

func (j *jsonCheck) lengthComplaint(value any) string {
	var length int
	var unit string
	switch v := value.(type) {
	case string:
		length, unit = len(v), "byte"
	case []any:
		length, unit = len(v), "element"
	default:
		return describe(value) + ", which has no length"
	}
	if j.minLength != nil && length < *j.minLength || j.maxLength != nil && length > *j.maxLength {
		return count(length, unit) + " long"
	}
	return ""
}

func (j *jsonCheck) patternComplaint(ctx context.Context, value any) string {
	text, ok := value.(string)
	if ok && matches(ctx, j.pattern, text) {
		return ""
	}
	return describe(value)
}

func (j *jsonCheck) rangeText() string {
	switch {
	case j.maxValue == nil:
		return "a number of at least " + j.minValue.String()
	case j.minValue == nil:
		return "a number of at most " + j.maxValue.String()
	default:
		return fmt.Sprintf("a number from %s to %s", j.minValue, j.maxValue)
	}
}

func (j *jsonCheck) rangeComplaint(value any) string {
	written, ok := value.(json.Number)
	if !ok {
		return describe(value)
	}
	number, err := parseNumber(written.String())
	if err != nil {
		return describe(value)
	}
	if j.minValue != nil && number.compare(j.minValue) < 0 || j.maxValue != nil && number.compare(j.maxValue) > 0 {
		return describe(value)
	}
	return ""
}
