package validation_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workspace"
)

// codes lists severity, code and pointer of every diagnostic.
func codes(found workspace.Diagnostics) []string {
	list := []string{}
	for _, d := range found {
		list = append(list, fmt.Sprintf("%s %s %s", d.Severity, strings.TrimPrefix(d.Code, "validation."), d.Pointer))
	}
	return list
}

func TestEveryFaultOfASchemaIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	const c = "/files/0/json_checks/0"
	for _, tc := range []struct {
		schema string
		want   []string
	}{
		{`"nothing"`, []string{"error field.type "}},
		{`"none"`, nil},
		{`{}`, []string{"notice schema.empty "}},
		{`{"files":[]}`, []string{"notice schema.empty "}},
		{`{"files":{}}`, []string{"error field.type /files"}},
		{`{"files":[3]}`, []string{"error field.type /files/0"}},
		{`{"file":[]}`, []string{"notice key.unknown /file", "notice schema.empty "}},
		{`{"files":[{}]}`, []string{"error file_name.missing /files/0/file_name"}},
		{`{"files":[{"file_name":7}]}`, []string{"error field.type /files/0/file_name", "error file_name.missing /files/0/file_name"}},
		{`{"files":[{"file_name":"../x"}]}`, []string{"error file_name.outside /files/0/file_name"}},
		{`{"files":[{"file_name":"db/../../x"}]}`, []string{"error file_name.outside /files/0/file_name"}},
		{`{"files":[{"file_name":"/etc/passwd"}]}`, []string{"error file_name.absolute /files/0/file_name"}},
		{`{"files":[{"file_name":"."}]}`, []string{"error file_name.invalid /files/0/file_name"}},
		{`{"files":[{"file_name":"a\u0000b"}]}`, []string{"error file_name.invalid /files/0/file_name"}},
		{`{"files":[{"file_name":"a","must_exist":"yes"}]}`, []string{"error field.type /files/0/must_exist"}},
		{`{"files":[{"file_name":"a","must_exist":false}]}`, []string{"notice check.vacuous /files/0"}},
		{`{"files":[{"file_name":"a","file_name":"b"}]}`, []string{"notice key.duplicate /files/0/file_name"}},
		{oneCheck(`{}`), []string{"error path.missing " + c + "/path"}},
		{oneCheck(`{"path":"status"}`), []string{"error path.invalid " + c + "/path"}},
		{oneCheck(`{"path":"$.due-date"}`), []string{"error path.invalid " + c + "/path"}},
		{oneCheck(`{"path":"$..a..b..c"}`), []string{"error path.invalid " + c + "/path"}},
		{oneCheck(`{"path":"$.` + strings.Repeat("a", 3000) + `"}`), []string{"error path.invalid " + c + "/path"}},
		{oneCheck(`{"path":"$.a","must_exist":false}`), []string{"notice check.vacuous " + c}},
		{oneCheck(`{"path":"$.a","value_type":"integer"}`), []string{"error value_type.unknown " + c + "/value_type"}},
		{oneCheck(`{"path":"$.a","min_length":-1}`), []string{"error limit.negative " + c + "/min_length"}},
		{oneCheck(`{"path":"$.a","min_length":2.5}`), []string{"error field.type " + c + "/min_length"}},
		{oneCheck(`{"path":"$.a","min_length":3,"max_length":2}`), []string{"error limit.contradiction " + c + "/min_length"}},
		{oneCheck(`{"path":"$.a","min_value":0.3,"max_value":0.29999999999999999999}`), []string{"error limit.contradiction " + c + "/min_value"}},
		{oneCheck(`{"path":"$.a","min_value":"0"}`), []string{"error field.type " + c + "/min_value"}},
		{oneCheck(`{"path":"$.a","value_type":"number","min_length":1}`), []string{"error limit.type " + c + "/min_length"}},
		{oneCheck(`{"path":"$.a","value_type":"array","pattern":"x"}`), []string{"error limit.type " + c + "/pattern"}},
		{oneCheck(`{"path":"$.a","value_type":"string","max_value":1}`), []string{"error limit.type " + c + "/max_value"}},
		{oneCheck(`{"path":"$.a","pattern":"("}`), []string{"error pattern.invalid " + c + "/pattern"}},
		{oneCheck(`{"path":"$.a","pattern":"(?!x)"}`), []string{"error pattern.invalid " + c + "/pattern"}},
		{oneCheck(`{"path":"$.a","pattern":"^\\\\d+$"}`), []string{"notice pattern.repaired " + c + "/pattern"}},
		{oneCheck(`{"path":"$.a","patern":"x"}`), []string{"notice key.unknown " + c + "/patern"}},
		{oneCheck(`{"path":"$.a","consistency_check":{"type":"same","compare_with_path":"$.b"}}`), []string{"error consistency.unknown " + c + "/consistency_check/type"}},
		{oneCheck(`{"path":"$.a","consistency_check":{"type":"equals"}}`), []string{"error path.missing " + c + "/consistency_check/compare_with_path"}},
		{oneCheck(`{"path":"$.a","consistency_check":"equals"}`), []string{"error field.type " + c + "/consistency_check"}},
		{oneCheck(`{"path":"$.a","pattern":"((a{100}){10}){10}b"}`), []string{"error pattern.invalid " + c + "/pattern"}},
		{oneCheck(`{"path":"$.a","pattern":"` + strings.Repeat("a", 3000) + `"}`), []string{"error pattern.invalid " + c + "/pattern"}},
		{oneCheck(`{"path":"$.a[?@.x[0,1]]"}`), []string{"error path.invalid " + c + "/path"}},
		{oneCheck(`{"path":"$.a[?count($..*) > 1]"}`), []string{"error path.invalid " + c + "/path"}},
		{oneCheck(`{"path":"$.a[?@.x == $.b[0].c, ?@['$[*]']][0,1]"}`), nil},
		{oneCheck(`{"path":"$..[?@..a[?@..b]]"}`), []string{"error path.invalid " + c + "/path"}},
		{`{"files":[{"file_name":"a\\b"}]}`, []string{"error file_name.invalid /files/0/file_name"}},
		{`{"files":[{"file_name":"` + strings.Repeat("a", 300) + `"}]}`, []string{"error file_name.invalid /files/0/file_name"}},
		{`{"files":[{"file_name":"*.json"}]}`, []string{"notice file_name.literal /files/0/file_name"}},
		{`{"db":{}}`, []string{"error field.type /db"}},
		{`{"db":[7]}`, []string{"error field.type /db/0"}},
		{`{"db":[{}]}`, []string{"error db.sql.missing /db/0/sql"}},
		{`{"db":[{"sql":5}]}`, []string{"error field.type /db/0/sql", "error db.sql.missing /db/0/sql"}},
		{`{"db":[{"sql":"-- later"}]}`, []string{"error db.sql.missing /db/0/sql"}},
		{`{"db":[{"sql":"SELECT 1; SELECT 2"}]}`, []string{"error db.sql.several /db/0/sql"}},
		{`{"db":[{"sql":"DELETE FROM a"}]}`, []string{"error db.sql.not_query /db/0/sql"}},
		{`{"db":[{"sql":"SELECT 'a"}]}`, []string{"error db.sql.invalid /db/0/sql"}},
		{`{"db":[{"sql":"SELECT 1","rows":1}]}`, []string{"notice key.unknown /db/0/rows"}},
		{`{"db":[{"name":"n","sql":"SELECT 1"},{"name":"n","sql":"SELECT 2"}]}`, []string{"notice db.name.duplicate /db/1/name"}},
		{`{"db":[{"sql":"SELECT 1","min_rows":-1}]}`, []string{"error limit.negative /db/0/min_rows"}},
		{`{"db":[{"sql":"SELECT 1","min_rows":1.5}]}`, []string{"error field.type /db/0/min_rows"}},
		{`{"db":[{"sql":"SELECT 1","max_rows":10001}]}`, []string{"error db.rows /db/0/max_rows"}},
		{`{"db":[{"name":"n","sql":"SELECT 1","min_rows":0}]}`, []string{"notice check.vacuous /db/0"}},
		{`{"db":[{"name":"n","sql":"SELECT 1","min_rows":3,"max_rows":1}]}`, []string{"error limit.contradiction /db/0/min_rows"}},
		{`{"db":[{"name":"n","sql":"SELECT 1","max_rows":0,"checks":[{"path":"$.a"}]}]}`, []string{"error limit.contradiction /db/0/max_rows"}},
		{`{"db":[{"name":"n","sql":"SELECT 1","min_rows":0,"max_rows":0,"checks":[{"path":"$.a"}]}]}`, []string{"notice check.vacuous /db/0"}},
		{`{"db":[{"name":"n","sql":"SELECT 1","min_rows":1,"checks":[{"path":"x"}]}]}`, []string{"error path.invalid /db/0/checks/0/path"}},
		{`{"db":[{"name":"n","sql":"SELECT 1","checks":[{"path":"$[0].a"}]}]}`, []string{"error db.path /db/0/checks/0/path"}},
	} {
		t.Run(excerpt(tc.schema), func(t *testing.T) {
			t.Parallel()
			_, found := decode(t, tc.schema).Compile("planning/plan.json", "/steps/0/validation_schema")
			want := []string{}
			for _, line := range tc.want {
				at := strings.LastIndex(line, " ") + 1
				want = append(want, line[:at]+"/steps/0/validation_schema"+line[at:])
			}
			assert.Equal(t, want, codes(found))
			for _, d := range found {
				assert.Equal(t, "planning/plan.json", d.File)
				assert.NotEmpty(t, d.Message)
				assert.NotEmpty(t, d.Hint, d.Code)
			}
		})
	}
}

func excerpt(text string) string { return text[:min(len(text), 120)] }

func TestAllFaultsAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	_, found := decode(t, `{"files":[{"file_name":"/a","json_checks":[{"path":"x","pattern":"("},{"path":"$","value_type":"int"}]},{"file_name":".."}]}`).Compile("f", "")
	assert.Len(t, found, 5)
}

func TestASchemaHasAtMost20FilesOf100Checks(t *testing.T) {
	t.Parallel()
	schema := &validation.Schema{}
	for range validation.MaxFiles {
		schema.Files = append(schema.Files, validation.FileCheck{FileName: "a"})
	}
	for range validation.MaxChecksPerFile {
		schema.Files[0].JSONChecks = append(schema.Files[0].JSONChecks, validation.JSONCheck{Path: "$"})
	}
	_, found := schema.Compile("f", "")
	require.Empty(t, found)

	schema.Files[0].JSONChecks = append(schema.Files[0].JSONChecks, validation.JSONCheck{Path: "$"})
	schema.Files = append(schema.Files, validation.FileCheck{FileName: "a"})
	_, found = schema.Compile("f", "")
	assert.Equal(t, []string{"error files.limit /files", "error checks.limit /files/0/json_checks"}, codes(found))
}

func TestNoSchemaPasses(t *testing.T) {
	t.Parallel()
	schema := decode(t, `null`)
	require.Nil(t, schema)
	checker, found := schema.Compile("f", "")
	require.Empty(t, found)
	report, err := checker.Check(t.Context(), storage(t, nil), stepDir, nil)
	require.NoError(t, err)
	assert.True(t, report.OverallPass)
	assert.Empty(t, report.Feedback())
}

func TestNullIsNoSchemaAlsoInAPlainField(t *testing.T) {
	t.Parallel()
	var step struct {
		Schema validation.Schema `json:"validation_schema"`
	}
	require.NoError(t, json.Unmarshal([]byte(`{"validation_schema":null}`), &step))
	checker, found := step.Schema.Compile("f", "")
	assert.Empty(t, found)
	assert.Nil(t, checker)
}

func TestASchemaThatDidNotCompileNeverPasses(t *testing.T) {
	t.Parallel()
	checker, found := decode(t, `{"files":[{"file_name":"a","json_checks":[{"path":"x"}]}]}`).Compile("f", "")
	require.Error(t, found.Err())
	report, err := checker.Check(t.Context(), storage(t, map[string]string{"a": "{}"}), stepDir, nil)
	assert.Nil(t, report)
	assert.ErrorContains(t, err, "no JSONPath")
}

func TestASchemaComesBackFromJSONAsItWas(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `{"files":null}`, `{"files":[]}`, `{"files":[],"db":[]}`, `7`, `"none"`, `{"files":"x","later":{"a":[1.50,"<&>"]}}`,
		`{"db":[{"sql":"","name":null,"min_rows":0,"checks":[]}],"files":[null,{"x":1,"must_exist":false,"file_name":""}]}`,
		oneCheck(`{"pattern":"","path":"$.a","min_value":1.50,"max_value":12345678901234567890,"min_length":0,"consistency_check":{"z":0,"type":"equals"}}`),
		oneCheck(`{"consistency_check":null,"value_type":4,"min_length":"1"}`),
	} {
		var schema validation.Schema
		require.NoError(t, json.Unmarshal([]byte(text), &schema))
		written, err := json.Marshal(schema)
		require.NoError(t, err)
		assert.JSONEq(t, text, string(written))
		assert.Equal(t, text, strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(written)), "the order of keys and the spelling of numbers stay")
	}
}

func TestAChangedFieldIsWrittenWhereItStood(t *testing.T) {
	t.Parallel()
	schema := decode(t, `{"files":[{"note":"n","file_name":"a","must_exist":false}]}`)
	schema.Files[0].FileName = "b"
	schema.Files[0].MustExist = nil
	schema.Files[0].JSONChecks = []validation.JSONCheck{{Path: "$"}}
	written, err := json.Marshal(schema)
	require.NoError(t, err)
	assert.Equal(t, `{"files":[{"note":"n","file_name":"b","json_checks":[{"path":"$"}]}]}`, string(written))
}

func FuzzCompileAndCheck(f *testing.F) {
	for _, seed := range []string{
		`{}`, `null`, `"none"`, `{"db":[{"name":"n","sql":"SELECT 1","max_rows":1,"checks":[{"path":"$.a","pattern":"."},{"path":"$.b","min_value":2}]}]}`,
		`{"files":[{"file_name":"out.jsonl"},{"file_name":"db/out.json","must_exist":false,"json_checks":[{"path":"$..['a',0]","consistency_check":{"type":"in_array","compare_with_path":"$[*]"}}]}]}`,
		oneCheck(`{"path":"$..a[?@.b>1]","pattern":"^\\\\d","min_value":1}`), `{"db":[{"sql":"x"}]}`,
	} {
		f.Add([]byte(seed), []byte(`{"a":[{"b":2}]}`))
	}
	st := workspace.NewMem()
	f.Fuzz(func(t *testing.T, schemaText, document []byte) {
		var schema *validation.Schema
		if json.Unmarshal(schemaText, &schema) != nil {
			return
		}
		written, err := json.Marshal(schema)
		require.NoError(t, err)
		var again *validation.Schema
		require.NoError(t, json.Unmarshal(written, &again))
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))

		checker, found := schema.Compile("f", "")
		require.NoError(t, st.WriteFile(t.Context(), stepDir+"/out.json", document, workspace.Lazy))
		report, err := checker.Check(t.Context(), st, stepDir, table{columns: []string{"a", "b"}, rows: [][]any{{string(document), int64(len(document))}}})
		if found.HasErrors() {
			require.Error(t, err)
			return
		}
		require.NoError(t, err)
		require.Equal(t, report.OverallPass, report.Feedback() == "")
	})
}

func TestTheSchemasOfTheFixturesCompile(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{
		"gen-a/planning/plan_validation_no_type.json":           {},
		"gen-b/orders-join/planning/plan.json":                  {},
		"gen-c/planning/starter.plan.json":                      {},
		"gen-c/planning/router_isolated.plan.json":              {"notice schema.empty /validation_schema"},
		"gen-c/planning/script_between_conversations.plan.json": {},
		"gen-c/planning/db_rule.step_config.json":               {"notice check.vacuous /validation_schema/db/0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var plan struct {
				Steps []struct {
					Schema *validation.Schema `json:"validation_schema"`
				} `json:"steps"`
			}
			require.NoError(t, json.Unmarshal(fixture(t, "agentworks/"+name), &plan))
			require.NotEmpty(t, plan.Steps)
			got := []string{}
			for _, step := range plan.Steps {
				_, found := step.Schema.Compile(name, "/validation_schema")
				got = append(got, codes(found)...)
			}
			assert.Equal(t, want, got)
		})
	}
}

func TestTheFilesOfTheFixtureSatisfyTheirProducers(t *testing.T) {
	t.Parallel()
	const root = "agentworks/gen-b/orders-join/"
	var plan struct {
		Steps []struct {
			Schema *validation.Schema `json:"validation_schema"`
		} `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(fixture(t, root+"planning/plan.json"), &plan))
	require.Len(t, plan.Steps, 2)
	files := map[string]string{}
	for _, name := range []string{"db/runs.json", "db/costs.json"} {
		files[name] = string(fixture(t, root+name))
	}
	for _, step := range plan.Steps {
		checker, found := step.Schema.Compile("planning/plan.json", "")
		require.NoError(t, found.Err())
		report, err := checker.Check(t.Context(), storage(t, files), stepDir, nil)
		require.NoError(t, err)
		assert.True(t, report.OverallPass, report.Feedback())
		report, err = checker.Check(t.Context(), storage(t, nil), stepDir, nil)
		require.NoError(t, err)
		assert.False(t, report.OverallPass)
	}
}

func TestTheDatabaseRuleOfTheFixtureIsCheckedByItsQuery(t *testing.T) {
	t.Parallel()
	var plan struct {
		Steps []struct {
			Schema *validation.Schema `json:"validation_schema"`
		} `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(fixture(t, "agentworks/gen-c/planning/db_rule.step_config.json"), &plan))
	checker, found := plan.Steps[0].Schema.Compile("planning/step_config.json", "")
	require.NoError(t, found.Err())
	report, err := checker.Check(t.Context(), storage(t, nil), stepDir, rows())
	require.NoError(t, err)
	assert.True(t, report.OverallPass, "no row is allowed")
	report, err = checker.Check(t.Context(), storage(t, nil), stepDir, table{err: errors.New("no such table: emails")})
	require.NoError(t, err)
	assert.Equal(t, []string{"db_query"}, failed(report), "no table is not")
}
