package validation_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/treadle-dev/treadle/validation"
)

func TestAValueMustBeWhatItsCheckSays(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, check, document string
		failed                []string
	}{
		{"a path that is there exists", `{"path":"$.a"}`, `{"a":1}`, nil},
		{"null exists", `{"path":"$.a"}`, `{"a":null}`, nil},
		{"null has no value type", `{"path":"$.a","value_type":"object"}`, `{"a":null}`, []string{"value_type"}},
		{"absent must_exist means that it must exist", `{"path":"$.a","pattern":"x"}`, `{}`, []string{"must_exist"}},
		{"an optional value may be absent", `{"path":"$.a","must_exist":false,"pattern":"x"}`, `{}`, nil},
		{"an optional value that is there is checked", `{"path":"$.a","must_exist":false,"pattern":"x"}`, `{"a":"y"}`, []string{"pattern"}},
		{"the whole document has a path", `{"path":"$","value_type":"array","min_length":2}`, `[1,2]`, nil},
		{"a negative index counts from the end", `{"path":"$.a[-1]","value_type":"string"}`, `{"a":[1,"x"]}`, nil},

		{"a string is a string", `{"path":"$.a","value_type":"string"}`, `{"a":"1"}`, nil},
		{"a quoted number is no number", `{"path":"$.a","value_type":"number"}`, `{"a":"1"}`, []string{"value_type"}},
		{"a boolean is a boolean", `{"path":"$.a","value_type":"boolean"}`, `{"a":false}`, nil},
		{"zero is no boolean", `{"path":"$.a","value_type":"boolean"}`, `{"a":0}`, []string{"value_type"}},
		{"an array is no object", `{"path":"$.a","value_type":"object"}`, `{"a":[]}`, []string{"value_type"}},
		{"a wrong type is reported alone", `{"path":"$.a","value_type":"string","min_length":3,"pattern":"x"}`, `{"a":1}`, []string{"value_type"}},

		{"the length of a string counts bytes", `{"path":"$.a","max_length":3}`, `{"a":"ääx"}`, []string{"length"}},
		{"a string may be as long as the limit", `{"path":"$.a","min_length":5,"max_length":5}`, `{"a":"ääx"}`, nil},
		{"the length of an array counts elements", `{"path":"$.a","min_length":2}`, `{"a":["longer than two"]}`, []string{"length"}},
		{"an empty array passes a minimum of 0", `{"path":"$.a","min_length":0}`, `{"a":[]}`, nil},
		{"a maximum of 0 wants it empty", `{"path":"$.a","max_length":0}`, `{"a":[1]}`, []string{"length"}},
		{"an object has no length", `{"path":"$.a","min_length":0}`, `{"a":{}}`, []string{"length"}},

		{"a pattern may match anywhere", `{"path":"$.a","pattern":"b+"}`, `{"a":"abbc"}`, nil},
		{"an anchored pattern matches the whole", `{"path":"$.a","pattern":"^b+$"}`, `{"a":"abbc"}`, []string{"pattern"}},
		{"a number matches no pattern", `{"path":"$.a","pattern":"^1$"}`, `{"a":1}`, []string{"pattern"}},
		{"a doubly escaped pattern is repaired", `{"path":"$.a","pattern":"^\\\\d{4}-\\\\d{2}$"}`, `{"a":"2026-11"}`, nil},
		{"a pattern for a literal backslash is left alone", `{"path":"$.a","pattern":"^C:\\\\Users$"}`, `{"a":"C:\\Users"}`, nil},

		{"bounds are inclusive", `{"path":"$.a","min_value":1,"max_value":1}`, `{"a":1.0}`, nil},
		{"below the minimum fails", `{"path":"$.a","min_value":0.1}`, `{"a":0.09999999999999999999}`, []string{"value_range"}},
		{"a bound of 0 is a bound", `{"path":"$.a","min_value":0}`, `{"a":-1}`, []string{"value_range"}},
		{"a string has no range", `{"path":"$.a","min_value":0}`, `{"a":"5"}`, []string{"value_range"}},
		{"integers above 2^53 are told apart", `{"path":"$.a","max_value":9007199254740992}`, `{"a":9007199254740993}`, []string{"value_range"}},
		{"a huge exponent is compared at once", `{"path":"$.a","max_value":1e400}`, `{"a":1e999999999}`, []string{"value_range"}},
		{"a tiny exponent is compared at once", `{"path":"$.a","min_value":0,"max_value":1}`, `{"a":1e-999999999}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			report := check(t, oneCheck(tc.check), map[string]string{"out.json": tc.document})
			assert.ElementsMatch(t, tc.failed, failed(report), report.Feedback())
			assert.Equal(t, len(tc.failed) == 0, report.OverallPass)
		})
	}
}

func TestAWildcardPathIsCheckedAtEveryMatch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, check, document string
		failed                []string
	}{
		{"all matches pass", `{"path":"$.u[*].e","pattern":"@"}`, `{"u":[{"e":"a@b"},{"e":"c@d"}]}`, nil},
		{"the second match fails", `{"path":"$.u[*].e","pattern":"@"}`, `{"u":[{"e":"a@b"},{"e":"c"}]}`, []string{"pattern"}},
		{"one element lacks the name", `{"path":"$.u[*].e"}`, `{"u":[{"e":"a@b"},{}]}`, []string{"must_exist"}},
		{"an optional name may be missing below some elements", `{"path":"$.u[*].e","must_exist":false,"pattern":"@"}`, `{"u":[{"e":"a@b"},{}]}`, nil},
		{"no element at all", `{"path":"$.u[*].e"}`, `{"u":[]}`, []string{"must_exist"}},
		{"no element at all is fine for an optional value", `{"path":"$.u[*].e","must_exist":false,"pattern":"@"}`, `{"u":[]}`, nil},
		{"one value has the wrong type and another the wrong form", `{"path":"$.u[*]","value_type":"string","pattern":"^x"}`, `{"u":[1,"y","x"]}`, []string{"value_type", "pattern"}},
		{"a filter chooses", `{"path":"$.u[?@.on == true].n","min_value":5}`, `{"u":[{"on":false,"n":1},{"on":true,"n":6}]}`, nil},
		{"descendants are found everywhere", `{"path":"$..n","min_value":5}`, `{"n":7,"u":[{"n":1}]}`, []string{"value_range"}},

		{"the matches are the array when the path ends in a wildcard", `{"path":"$.u[*]","value_type":"array","min_length":2}`, `{"u":[{},{}]}`, nil},
		{"the matches are counted", `{"path":"$.u[*]","value_type":"array","min_length":3}`, `{"u":[{},{}]}`, []string{"length"}},
		{"each match is an array of its own when the path ends in a name", `{"path":"$.u[*].l","value_type":"array","min_length":2}`, `{"u":[{"l":[1,2]},{"l":[1]}]}`, []string{"length"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			report := check(t, oneCheck(tc.check), map[string]string{"out.json": tc.document})
			assert.ElementsMatch(t, tc.failed, failed(report), report.Feedback())
		})
	}
}

func TestAFailureNamesTheFirstPlacesAndCountsTheRest(t *testing.T) {
	t.Parallel()
	document := `{"n":[` + strings.TrimSuffix(strings.Repeat("1,", 20), ",") + `]}`
	report := check(t, oneCheck(`{"path":"$.n[*]","min_value":5}`), map[string]string{"out.json": document})
	assert.Equal(t, "20 of 20 matches fail: $['n'][0] is number 1; $['n'][1] is number 1; $['n'][2] is number 1; "+
		"$['n'][3] is number 1; $['n'][4] is number 1; and 15 more", report.Summary.Errors[0].Actual)
}

func TestTwoValuesOfADocumentAreCompared(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		relation, path, other, document string
		passes                          bool
	}{
		{"equals", "$.a", "$.b", `{"a":1,"b":1.0}`, true},
		{"equals", "$.a", "$.b", `{"a":1,"b":"1"}`, false},
		{"equals", "$.a", "$.b", `{"a":{"x":[1,null]},"b":{"x":[1e0,null]}}`, true},
		{"equals", "$.a", "$.b", `{"a":{"x":1},"b":{"y":1}}`, false},
		{"equals", "$.a", "$.b", `{"a":1}`, false},
		{"equals", "$.a", "$.l[*]", `{"a":1,"l":[1,1]}`, false},
		{"greater_than", "$.a", "$.b", `{"a":9007199254740993,"b":9007199254740992}`, true},
		{"greater_than", "$.a", "$.b", `{"a":1,"b":1}`, false},
		{"greater_than", "$.a", "$.b", `{"a":"2026-11-30","b":"2026-02-01"}`, true},
		{"greater_than", "$.a", "$.b", `{"a":2,"b":"1"}`, false},
		{"less_than", "$.l[*]", "$.b", `{"l":[1,2],"b":3}`, true},
		{"less_than", "$.l[*]", "$.b", `{"l":[1,3],"b":3}`, false},
		{"array_length", "$.a", "$.l", `{"a":2,"l":[1,2]}`, true},
		{"array_length", "$.l", "$.a", `{"a":2,"l":[1,2]}`, true},
		{"array_length", "$.a", "$.l", `{"a":"2","l":[1,2]}`, false},
		{"array_length", "$.a", "$.l[*]", `{"a":2,"l":[1,2]}`, true},
		{"array_length", "$.l[*]", "$.a", `{"a":2,"l":[[],[]]}`, true},
		{"array_length", "$.a", "$.l[*]", `{"a":0,"l":[]}`, true},
		{"array_length", "$.a", "$.b", `{"a":2,"b":2}`, false},
		{"in_array", "$.a", "$.l", `{"a":2,"l":[1,2.0]}`, true},
		{"in_array", "$.a", "$.l", `{"a":3,"l":[1,2]}`, false},
		{"in_array", "$.a", "$.l[*].id", `{"a":2,"l":[{"id":1},{"id":2}]}`, true},
		{"in_array", "$.a", "$.l", `{"a":{"x":-0,"y":"1"},"l":[{"y":"1","x":0.0}]}`, true},
		{"in_array", "$.a", "$.l", `{"a":"1","l":[1,true,null]}`, false},
		{"in_array", "$.a", "$.l", `{"a":["a","b"],"l":[["a,b"]]}`, false},
		{"in_array", "$.a", "$.b", `{"a":2,"b":2}`, false},
	} {
		t.Run(fmt.Sprintf("%s %s %s in %s", tc.path, tc.relation, tc.other, tc.document), func(t *testing.T) {
			t.Parallel()
			report := check(t, oneCheck(fmt.Sprintf(`{"path":%q,"consistency_check":{"type":%q,"compare_with_path":%q}}`, tc.path, tc.relation, tc.other)),
				map[string]string{"out.json": tc.document})
			assert.Equal(t, tc.passes, report.OverallPass, report.Feedback())
		})
	}
}

func TestTheCountOfAnArrayMustBeItsLength(t *testing.T) {
	t.Parallel()
	schema := member(t, fixture(t, "agentworks/gen-b/validation_count_vs_array.json"), "validation_schema")
	for document, passes := range map[string]bool{
		`{"users":[1,2],"metadata":{"total_count":2}}`:   true,
		`{"users":[1,2],"metadata":{"total_count":3}}`:   false,
		`{"users":[1,2],"metadata":{"total_count":1}}`:   false,
		`{"users":[1,2],"metadata":{"total_count":"2"}}`: false,
		`{"users":[],"metadata":{"total_count":0}}`:      false,
		`{"users":[1,2]}`: false,
	} {
		report := check(t, schema, map[string]string{"results.json": document})
		assert.Equal(t, passes, report.OverallPass, document)
	}
}

func TestLargeDocumentsAreCheckedInReasonableTime(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&list, "%d,", i)
	}
	numbers := "[" + strings.TrimSuffix(list.String(), ",") + "]"
	report := check(t, oneCheck(`{"path":"$.a[*]","value_type":"number","consistency_check":{"type":"in_array","compare_with_path":"$.b"}}`),
		map[string]string{"out.json": `{"a":` + numbers + `,"b":` + numbers + `}`})
	assert.True(t, report.OverallPass)
}

func TestAPathThatMatchesTooMuchFailsInsteadOfTakingForever(t *testing.T) {
	t.Parallel()
	document := `{"a":[` + strings.Repeat("1,", validation.MaxMatches) + `1]}`
	report := check(t, oneCheck(`{"path":"$.a[*]"},{"path":"$.a","min_length":1}`), map[string]string{"out.json": document})
	assert.Equal(t, []string{"path_validation"}, failed(report))
	assert.Contains(t, report.Summary.Errors[0].Message, "narrower path")
}
