package validation

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
)

// consistency is a compiled [ConsistencyCheck].
type consistency struct {
	kind  string
	other *query
}

// against looks up the other side once and returns what a value is expected to be
// and the complaint about one that is not.
func (c *consistency) against(ctx context.Context, document any) (expected string, complaint func(any) string) {
	other, problem := c.otherSide(ctx, document)
	if problem != "" {
		return fmt.Sprintf("%s with %s", c.kind, c.other.text), func(any) string { return "not comparable, since " + problem }
	}
	holds, words := c.relation(other)
	expected = fmt.Sprintf("%s %s (%s)", words, c.other.text, describe(other))
	return expected, func(value any) string {
		if holds(value) {
			return ""
		}
		return describe(value)
	}
}

// otherSide is the value to compare with. For the checks that want an array the
// matches of a wildcard path are that array.
func (c *consistency) otherSide(ctx context.Context, document any) (value any, problem string) {
	matches, missing, err := c.other.find(ctx, document)
	switch {
	case err != nil:
		return nil, err.Error()
	case c.other.endsOpen && (c.kind == consistencyArrayLength || c.kind == consistencyInArray):
		return gathered(matches), ""
	case c.kind == consistencyInArray && !c.other.single && len(missing) == 0:
		return gathered(matches), ""
	case len(matches) == 0:
		return nil, c.other.text + " is absent"
	case len(matches) > 1:
		return nil, fmt.Sprintf("%s matches %d values instead of one", c.other.text, len(matches))
	default:
		return matches[0].value, ""
	}
}

// relation gives the test of a value against the other one, and how to say it.
func (c *consistency) relation(other any) (holds func(value any) bool, words string) {
	switch c.kind {
	case consistencyEquals:
		want := canonical(other) // once: there may be many values to compare with a large one
		return func(value any) bool { return canonical(value) == want }, "equal to"
	case consistencyGreaterThan:
		return func(value any) bool { order, ok := compareValues(value, other); return ok && order > 0 }, "greater than"
	case consistencyLessThan:
		return func(value any) bool { order, ok := compareValues(value, other); return ok && order < 0 }, "less than"
	case consistencyArrayLength:
		return func(value any) bool { return matchesLength(value, other) }, "the number of elements of"
	default:
		return memberOf(other), "an element of"
	}
}

// compareValues orders two numbers, or two strings by their bytes, which orders
// dates in ISO form. Other pairs have no order.
func compareValues(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return 0, false
		}
		return compareNumbers(a, b), true
	case string:
		b, ok := b.(string)
		if !ok {
			return 0, false
		}
		return strings.Compare(a, b), true
	default:
		return 0, false
	}
}

// matchesLength holds when one side is an array and the other its length.
func matchesLength(a, b any) bool {
	if _, ok := b.([]any); !ok {
		a, b = b, a
	}
	elements, isArray := b.([]any)
	number, isNumber := a.(json.Number)
	return isArray && isNumber && compareNumbers(number, json.Number(fmt.Sprint(len(elements)))) == 0
}

// memberOf tests whether values are elements of a list. The list is indexed once:
// long lists are checked against long lists.
func memberOf(list any) func(value any) bool {
	elements, ok := list.([]any)
	if !ok {
		return func(any) bool { return false }
	}
	index := make(map[string]struct{}, len(elements))
	for _, element := range elements {
		index[canonical(element)] = struct{}{}
	}
	return func(value any) bool {
		_, ok := index[canonical(value)]
		return ok
	}
}
