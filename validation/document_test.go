package validation_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workspace"
)

func TestATextThatReadersUnderstandDifferentlyIsNoDocument(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, content, message string }{
		{"a key twice", "{\"a\":1,\n \"a\":2}", `line 2, column 4: the key "a" is given twice`},
		{"a key twice, spelt differently", `{"a":1,"\u0061":2}`, `the key "a" is given twice`},
		{"a key twice, deep inside", `[{"x":[{"a":1},{"a":1,"b":{},"a":1}]}]`, "is given twice"},
		{"Latin-1", "{\"a\":\"caf\xe9\"}", "line 1, column 10: the text is not UTF-8"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "UTF-16"},
		{"too deep", strings.Repeat("[", 1001) + strings.Repeat("]", 1001), "nested more than 1000 levels"},
		{"far too deep", strings.Repeat("[", 100_000), "nested more than 1000 levels"},
		{"values on lines", "{\"a\":1}\n{\"a\":2}\n", "named .jsonl"},
		{"NaN", `{"a":NaN}`, "line 1, column 6"},
		{"a trailing comma", `{"a":1,}`, "line 1, column 8"},
		{"a comment", "{\"a\":1} // yes", "after the end"},
		{"a leading zero", `{"a":01}`, "line 1, column 7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			report := check(t, oneCheck(`{"path":"$.a"}`), map[string]string{"out.json": tc.content})
			require.Equal(t, []string{"json_parse"}, failed(report))
			assert.Contains(t, report.Summary.Errors[0].Message, tc.message)
		})
	}
}

func TestOneKeyInSeveralObjectsAndAsAValueIsNoRepetition(t *testing.T) {
	t.Parallel()
	report := check(t, oneCheck(`{"path":"$.a"}`), map[string]string{"out.json": `{"a":"a","b":{"a":["a","a",{"a":1},{"a":1}]},"A":1}`})
	assert.True(t, report.OverallPass, report.Feedback())
}

func TestLineEndsOfWindowsChangeNothing(t *testing.T) {
	t.Parallel()
	report := check(t, oneCheck(`{"path":"$.a","min_value":1}`), map[string]string{"out.json": "{\r\n\"a\": 1\r\n}\r\n"})
	assert.True(t, report.OverallPass, report.Feedback())
	report = check(t, oneCheck(`{"path":"$.a"}`), map[string]string{"out.json": "{\r\n\"a\": tru\r\n}"})
	assert.Contains(t, report.Summary.Errors[0].Message, "line 2, column 9")
}

func TestAFileOfLinesIsCheckedAsAnArray(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, content, check string
		failed                     []string
	}{
		{"every line is an element", "out.jsonl", "{\"id\":1}\n{\"id\":2}\n", `{"path":"$[*].id","min_value":1}`, nil},
		{"a line that fails", "out.jsonl", "{\"id\":1}\n{\"id\":0}\n", `{"path":"$[*].id","min_value":1}`, []string{"value_range"}},
		{"a line without the name", "out.jsonl", "{\"id\":1}\n{}", `{"path":"$[*].id"}`, []string{"must_exist"}},
		{"blank lines and Windows", "out.jsonl", "\r\n1\r\n\r\n2\r\n", `{"path":"$","value_type":"array","min_length":2,"max_length":2}`, nil},
		{"no line at all", "out.jsonl", "", `{"path":"$[*].id"}`, []string{"must_exist"}},
		{"no line at all is an empty array", "out.jsonl", "", `{"path":"$","max_length":0}`, nil},
		{"the other name", "OUT.NDJSON", "1\n", `{"path":"$[0]","min_value":1}`, nil},
		{"a broken line", "out.jsonl", "1\n{\n", `{"path":"$[0]"}`, []string{"json_parse"}},
		{"a value over two lines", "out.jsonl", "{\n}\n", `{"path":"$[0]"}`, []string{"json_parse"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			report := check(t, `{"files":[{"file_name":"`+tc.file+`","json_checks":[`+tc.check+`]}]}`, map[string]string{tc.file: tc.content})
			assert.ElementsMatch(t, tc.failed, failed(report), report.Feedback())
		})
	}
	report := check(t, `{"files":[{"file_name":"o.jsonl","json_checks":[{"path":"$"}]}]}`, map[string]string{"o.jsonl": "1\n2 3\n"})
	assert.Contains(t, report.Feedback(), "line 2 of the file")
}

func TestMoreKindsOfNothingAreToldApart(t *testing.T) {
	t.Parallel()
	for document, want := range map[string][]string{
		`{}`:             {"must_exist"},
		`{"a":null}`:     {"value_type"},
		`{"a":""}`:       {"length"},
		`{"a":" "}`:      nil,
		`{"a":0}`:        {"value_type"},
		`{"a":[]}`:       {"value_type"},
		`{"A":"x"}`:      {"must_exist"},
		`{"a":"\u0000"}`: nil,
		`[]`:             {"must_exist"},
		`null`:           {"must_exist"},
		`"a"`:            {"must_exist"},
	} {
		report := check(t, oneCheck(`{"path":"$.a","value_type":"string","min_length":1}`), map[string]string{"out.json": document})
		assert.ElementsMatch(t, want, failed(report), document)
	}
}

func TestNestedWildcardsMissNothing(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, check, document string
		failed                []string
	}{
		{"all there", `{"path":"$.o[*].i[*].p","min_value":1}`, `{"o":[{"i":[{"p":1},{"p":2}]},{"i":[{"p":3}]}]}`, nil},
		{"one deep inside fails", `{"path":"$.o[*].i[*].p","min_value":1}`, `{"o":[{"i":[{"p":1},{"p":0}]},{"i":[{"p":3}]}]}`, []string{"value_range"}},
		{"one deep inside is missing", `{"path":"$.o[*].i[*].p"}`, `{"o":[{"i":[{"p":1},{}]}]}`, []string{"must_exist"}},
		{"nothing in between", `{"path":"$.o[*].i[*].p"}`, `{"o":[]}`, []string{"must_exist"}},
		{"inner lists are all empty", `{"path":"$.o[*].i[*].p"}`, `{"o":[{"i":[]},{"i":[]}]}`, []string{"must_exist"}},
		{"a wildcard over the members of an object", `{"path":"$.o[*].p","min_value":1}`, `{"o":{"x":{"p":1},"y":{"p":0}}}`, []string{"value_range"}},
		{"a wildcard over a text", `{"path":"$.o[*]"}`, `{"o":"text"}`, []string{"must_exist"}},
		{"a wildcard over null elements", `{"path":"$.o[*]","value_type":"number"}`, `{"o":[1,null]}`, []string{"value_type"}},
		{"names of all kinds", `{"path":"$['due date'][*]['ä.b']['']","min_value":1}`, `{"due date":[{"ä.b":{"":1}}]}`, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			report := check(t, oneCheck(tc.check), map[string]string{"out.json": tc.document})
			assert.ElementsMatch(t, tc.failed, failed(report), report.Feedback())
		})
	}
}

func TestAFailureNamesWhereItIsHoweverDeep(t *testing.T) {
	t.Parallel()
	report := check(t, oneCheck(`{"path":"$..n","min_value":1}`),
		map[string]string{"out.json": `{"a":[{"n":1,"b":{"n":0}},{"b":{"n":0,"c":[{"n":1},{"n":0}]}}]}`})
	assert.Equal(t, "3 of 5 matches fail: $['a'][0]['b']['n'] is number 0; $['a'][1]['b']['n'] is number 0; "+
		"$['a'][1]['b']['c'][1]['n'] is number 0", report.Summary.Errors[0].Actual)
}

func TestListsOfDifferentLengthsAreNotEqual(t *testing.T) {
	t.Parallel()
	for document, passes := range map[string]bool{
		`{"a":[1,2],"b":[1,2]}`:                true,
		`{"a":[1,2],"b":[1,2,3]}`:              false,
		`{"a":[1,2],"b":[2,1]}`:                false,
		`{"a":[],"b":[]}`:                      true,
		`{"a":[],"b":null}`:                    false,
		`{"a":null,"b":null}`:                  true,
		`{"a":"1e2","b":100}`:                  false,
		`{"a":1e2,"b":100}`:                    true,
		"{\"a\":\"e\u0301\",\"b\":\"\u00e9\"}": false,
		`{"a":"\u00e9","b":"é"}`:               true,
		`{"a":{"x":1},"b":{"x":1}}`:            true,
	} {
		report := check(t, oneCheck(`{"path":"$.a","consistency_check":{"type":"equals","compare_with_path":"$.b"}}`), map[string]string{"out.json": document})
		assert.Equal(t, passes, report.OverallPass, document)
	}
}

func TestPathsThatMultiplyAreStopped(t *testing.T) {
	t.Parallel()
	many := "[" + strings.TrimSuffix(strings.Repeat("0,", 30), ",") + "]"
	report := check(t, oneCheck(`{"path":"$`+strings.Repeat(many, 20)+`"}`),
		map[string]string{"out.json": strings.Repeat("[", 21) + strings.Repeat("]", 21)})
	assert.Equal(t, []string{"path_validation"}, failed(report))
}

func TestANumberOfAnyLengthIsReadAtOnce(t *testing.T) {
	t.Parallel()
	for _, number := range []string{strings.Repeat("9", 2<<20), "0." + strings.Repeat("3", 2<<20), "1e" + strings.Repeat("9", 2<<20)} {
		started := time.Now()
		report := check(t, oneCheck(`{"path":"$.a","max_value":0},{"path":"$.a","consistency_check":{"type":"equals","compare_with_path":"$.b"}}`),
			map[string]string{"out.json": `{"a":` + number + `,"b":` + number + `}`})
		assert.Equal(t, []string{"value_range"}, failed(report))
		assert.Less(t, time.Since(started), 10*time.Second)
	}
}

func TestNumbersCompareAsTheyAreWorth(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		number := rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?`)
		low, high := number.Draw(t, "a"), number.Draw(t, "b")
		a, _ := new(big.Rat).SetString(low)
		b, _ := new(big.Rat).SetString(high)
		document := fmt.Sprintf(`{"a":%s,"b":%s}`, low, high)
		for relation, want := range map[string]bool{"equals": a.Cmp(b) == 0, "less_than": a.Cmp(b) < 0, "greater_than": a.Cmp(b) > 0} {
			checker, found := schemaOf(t, oneCheck(`{"path":"$.a","consistency_check":{"type":"`+relation+`","compare_with_path":"$.b"}}`)).Compile("f", "")
			require.Empty(t, found)
			st := workspace.NewMem()
			require.NoError(t, st.WriteFile(context.Background(), stepDir+"/out.json", []byte(document), workspace.Lazy))
			report, err := checker.Check(context.Background(), st, stepDir, nil)
			require.NoError(t, err)
			require.Equal(t, want, report.OverallPass, "%s %s", document, relation)
		}
	})
}

func schemaOf(t require.TestingT, text string) *validation.Schema {
	var schema *validation.Schema
	require.NoError(t, json.Unmarshal([]byte(text), &schema))
	return schema
}

func TestEveryElementIsCheckedWhereverTheBadOneIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		values := rapid.SliceOfN(rapid.IntRange(-3, 50), 1, 40).Draw(t, "values")
		passes := true
		list := []map[string]any{}
		for _, v := range values {
			passes = passes && v >= 0
			list = append(list, map[string]any{"n": v})
		}
		document, err := json.Marshal(map[string]any{"l": list})
		require.NoError(t, err)
		checker, _ := schemaOf(t, oneCheck(`{"path":"$.l[*].n","min_value":0}`)).Compile("f", "")
		st := workspace.NewMem()
		require.NoError(t, st.WriteFile(context.Background(), stepDir+"/out.json", document, workspace.Lazy))
		report, err := checker.Check(context.Background(), st, stepDir, nil)
		require.NoError(t, err)
		require.Equal(t, passes, report.OverallPass)
	})
}

func TestAPatternOverALongTextStopsWithTheContext(t *testing.T) {
	t.Parallel()
	checker, found := decode(t, oneCheck(`{"path":"$.a","pattern":"(x+x+)+y[ab]{500}$"}`)).Compile("f", "")
	require.NoError(t, found.Err())
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	report, err := checker.Check(ctx, storage(t, map[string]string{"out.json": `{"a":"` + strings.Repeat("x", 8<<20) + `"}`}), stepDir, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Nil(t, report)
}

func TestAFilterThatTakesLongStopsWithTheContext(t *testing.T) {
	t.Parallel()
	checker, found := decode(t, oneCheck(`{"path":"$..[?@..x]"}`)).Compile("f", "")
	require.NoError(t, found.Err())
	deep := strings.Repeat("[", 900) + strings.TrimSuffix(strings.Repeat("1,", 100_000), ",") + strings.Repeat("]", 900)
	st := storage(t, map[string]string{"out.json": deep})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	started := time.Now()
	_, err := checker.Check(ctx, st, stepDir, nil)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	assert.Less(t, time.Since(started), 20*time.Second)
}

func TestLinksInTheStepsFolderAreNoFiles(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	work := filepath.Join(root, filepath.FromSlash(stepDir))
	require.NoError(t, os.MkdirAll(filepath.Join(work, "real"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "other.json"), []byte(`{}`), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(work, "real", "a.json"), []byte(`{}`), 0o600))
	for link, target := range map[string]string{
		"out.json": "real/a.json", "up.json": "../../../../../../other.json", "folder": "real", "loop": "loop", "gone": "nothing", "etc": "/etc",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(work, link)))
	}
	st, err := workspace.NewDir(root)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, st.Close()) })
	for name, want := range map[string]string{
		"real/a.json": "", "out.json": "path_validation", "up.json": "path_validation", "folder/a.json": "path_validation",
		"loop": "path_validation", "gone": "must_exist", "etc/passwd": "path_validation", "real": "file_check", "real/a.json/x": "must_exist",
	} {
		checker, found := decode(t, `{"files":[{"file_name":"`+name+`"}]}`).Compile("f", "")
		require.NoError(t, found.Err())
		report, err := checker.Check(t.Context(), st, stepDir, nil)
		require.NoError(t, err, name)
		assert.Equal(t, want, strings.Join(failed(report), ","), "%s: %s", name, report.Feedback())
	}
}

// growing is a storage in which a file gets longer each time it is read.
type growing struct{ workspace.Storage }

func (g growing) ReadFile(ctx context.Context, name string) ([]byte, error) {
	data, err := g.Storage.ReadFile(ctx, name)
	if err == nil {
		err = g.WriteFile(ctx, name, append(data, ' '), workspace.Lazy)
	}
	return data, err
}

func TestAFileThatChangesWhileItIsCheckedFails(t *testing.T) {
	t.Parallel()
	checker, _ := decode(t, oneCheck(`{"path":"$.a"}`)).Compile("f", "")
	report, err := checker.Check(t.Context(), growing{storage(t, map[string]string{"out.json": `{"a":1}`})}, stepDir, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"file_check"}, failed(report))
	assert.Contains(t, report.Feedback(), "changed while it was checked")
}

func TestAFileOfTheWorkflowMayChangeMeanwhile(t *testing.T) {
	t.Parallel()
	checker, _ := decode(t, `{"files":[{"file_name":"db/a.json","json_checks":[{"path":"$.a"}]}]}`).Compile("f", "")
	report, err := checker.Check(t.Context(), growing{storage(t, map[string]string{"db/a.json": `{"a":1}`})}, stepDir, nil)
	require.NoError(t, err)
	assert.True(t, report.OverallPass, report.Feedback())
}

// fickle is a storage in which a file becomes a folder before it is read.
type fickle struct{ workspace.Storage }

func (f fickle) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if err := f.Remove(ctx, name); err != nil {
		return nil, err
	}
	if err := f.WriteFile(ctx, name+"/x", nil, workspace.Lazy); err != nil {
		return nil, err
	}
	return f.Storage.ReadFile(ctx, name)
}

func TestAFileThatBecomesAFolderIsAFailedCheck(t *testing.T) {
	t.Parallel()
	checker, _ := decode(t, oneCheck(`{"path":"$.a"}`)).Compile("f", "")
	report, err := checker.Check(t.Context(), fickle{storage(t, map[string]string{"out.json": `{"a":1}`})}, stepDir, nil)
	require.NoError(t, err)
	assert.Contains(t, failed(report), "file_read")
}

// counting counts how often files are read.
type counting struct {
	workspace.Storage
	reads *int
}

func (c counting) ReadFile(ctx context.Context, name string) ([]byte, error) {
	*c.reads++
	return c.Storage.ReadFile(ctx, name)
}

func TestAFileNamedTwiceIsReadOnce(t *testing.T) {
	t.Parallel()
	entry := `{"file_name":"out.json","json_checks":[{"path":"$.a"}]}`
	checker, _ := decode(t, `{"files":[`+entry+`,`+entry+`]}`).Compile("f", "")
	reads := 0
	report, err := checker.Check(t.Context(), counting{storage(t, map[string]string{"out.json": `{"a":1}`}), &reads}, stepDir, nil)
	require.NoError(t, err)
	assert.True(t, report.OverallPass)
	assert.Equal(t, 1, reads)
}
