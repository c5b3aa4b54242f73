package validation_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/validation"
)

// table is a database that answers every query with the same rows.
type table struct {
	columns []string
	rows    [][]any
	err     error
	greedy  bool // gives all rows, whatever the limit
}

// Query implements [validation.Database].
func (d table) Query(_ context.Context, _ string, limit int) ([]string, [][]any, error) {
	if d.err != nil {
		return nil, nil, d.err
	}
	if d.greedy {
		return d.columns, d.rows, nil
	}
	return d.columns, d.rows[:min(len(d.rows), limit)], nil
}

// rows makes a table with one column n.
func rows(values ...any) table {
	d := table{columns: []string{"n"}}
	for _, value := range values {
		d.rows = append(d.rows, []any{value})
	}
	return d
}

func checkDB(t *testing.T, check string, db validation.Database) *validation.Report {
	t.Helper()
	checker, found := decode(t, `{"db":[{"name":"orders","sql":"SELECT n FROM orders"`+check+`}]}`).Compile("f", "")
	require.NoError(t, found.Err())
	require.True(t, checker.NeedsDatabase())
	report, err := checker.Check(t.Context(), storage(t, nil), stepDir, db)
	require.NoError(t, err)
	return report
}

func TestTheRowsOfAQueryAreCounted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, check string
		rows        int
		failed      []string
	}{
		{"a row must exist when nothing else is said", ``, 0, []string{"db_rows"}},
		{"one row is enough then", ``, 1, nil},
		{"null bounds are no bounds", `,"min_rows":null,"max_rows":null`, 0, []string{"db_rows"}},
		{"an explicit 0 lets there be none", `,"min_rows":0`, 0, nil},
		{"the minimum is inclusive", `,"min_rows":2`, 2, nil},
		{"below the minimum", `,"min_rows":2`, 1, []string{"db_rows"}},
		{"many more than the minimum", `,"min_rows":2`, 5000, nil},
		{"the maximum is inclusive", `,"max_rows":2`, 2, nil},
		{"above the maximum", `,"max_rows":2`, 3, []string{"db_rows"}},
		{"a maximum of 0 wants none", `,"max_rows":0`, 0, nil},
		{"a maximum of 0 and one row", `,"max_rows":0`, 1, []string{"db_rows"}},
		{"a maximum alone lets there be none", `,"max_rows":3`, 0, nil},
		{"a maximum beside checks wants a row", `,"max_rows":3,"checks":[{"path":"$.n"}]`, 0, []string{"db_rows"}},
		{"checks want a row", `,"checks":[{"path":"$.n","must_exist":false,"min_value":0}]`, 0, []string{"db_rows"}},
		{"checks of rows that may be absent", `,"min_rows":0,"checks":[{"path":"$.n"}]`, 0, nil},
		{"exactly so many", `,"min_rows":2,"max_rows":2`, 2, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			values := make([]any, tc.rows)
			for i := range values {
				values[i] = int64(i)
			}
			report := checkDB(t, tc.check, rows(values...))
			assert.ElementsMatch(t, tc.failed, failed(report), report.Feedback())
			assert.Equal(t, len(tc.failed) == 0, report.OverallPass)
		})
	}
}

func TestTheFirstRowIsCheckedAsAnObject(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		value  any
		check  string
		failed []string
	}{
		{int64(5), `{"path":"$.n","value_type":"number","min_value":5,"max_value":5}`, nil},
		{int64(math.MaxInt64), `{"path":"$.n","max_value":9223372036854775806}`, []string{"value_range"}},
		{0.5, `{"path":"$.n","value_type":"number","max_value":0.5}`, nil},
		{1e300, `{"path":"$.n","min_value":1e300}`, nil},
		{math.Inf(1), `{"path":"$.n","value_type":"number","max_value":1e308}`, []string{"value_range"}},
		{math.Inf(-1), `{"path":"$.n","min_value":-1e308}`, []string{"value_range"}},
		{math.NaN(), `{"path":"$.n"}`, []string{"db_query"}},
		{"text", `{"path":"$.n","value_type":"string","pattern":"^t","min_length":4}`, nil},
		{[]byte{0, 255}, `{"path":"$.n","value_type":"string","min_length":2,"max_length":2}`, nil},
		{true, `{"path":"$.n","value_type":"boolean"}`, nil},
		{nil, `{"path":"$.n"}`, nil},
		{nil, `{"path":"$.n","value_type":"string"}`, []string{"value_type"}},
		{"", `{"path":"$.n","min_length":1}`, []string{"length"}},
		{int64(0), `{"path":"$.n","min_value":1}`, []string{"value_range"}},
		{"5", `{"path":"$.n","value_type":"number"}`, []string{"value_type"}},
		{int64(1), `{"path":"$.N"}`, []string{"must_exist"}},
		{int64(1), `{"path":"$","value_type":"object"}`, nil},
		{struct{}{}, `{"path":"$.n"}`, []string{"db_query"}},
	} {
		report := checkDB(t, `,"checks":[`+tc.check+`]`, rows(tc.value, "a second row is not looked at"))
		assert.ElementsMatch(t, tc.failed, failed(report), "%v: %s", tc.value, report.Feedback())
	}
}

func TestTwoColumnsOfARowAreCompared(t *testing.T) {
	t.Parallel()
	check := `,"checks":[{"path":"$.a","consistency_check":{"type":"less_than","compare_with_path":"$.b"}}]`
	assert.True(t, checkDB(t, check, table{columns: []string{"a", "b"}, rows: [][]any{{int64(1), 1.5}}}).OverallPass)
	assert.False(t, checkDB(t, check, table{columns: []string{"a", "b"}, rows: [][]any{{int64(2), 1.5}}}).OverallPass)
}

func TestAQueryThatFailsIsAFailedCheckThatSaysWhy(t *testing.T) {
	t.Parallel()
	for name, db := range map[string]table{
		"no such table: orders": {err: errors.New("no such table: orders")},
		"two columns are named": {columns: []string{"n", "n"}, rows: [][]any{{int64(1), int64(2)}}},
		"1 value for 2 columns": {columns: []string{"n", "m"}, rows: [][]any{{int64(1)}}},
		"returned 5 rows":       {columns: []string{"n"}, rows: [][]any{{nil}, {nil}, {nil}, {nil}, {nil}}, greedy: true},
	} {
		report := checkDB(t, `,"min_rows":0,"checks":[{"path":"$.n"}]`, db)
		assert.Contains(t, failed(report), "db_query")
		assert.Contains(t, report.Feedback(), name)
		assert.Contains(t, report.Feedback(), `"orders" (SELECT n FROM orders)`)
		assert.Equal(t, "orders", report.Summary.Errors[0].DBCheck)
		assert.Empty(t, report.Summary.Errors[0].File)
	}
}

type downError struct{}

func (downError) Error() string     { return "the server is down" }
func (downError) Unavailable() bool { return true }

func TestADatabaseThatDoesNotWorkIsAnError(t *testing.T) {
	t.Parallel()
	checker, _ := decode(t, `{"db":[{"name":"orders","sql":"SELECT 1"}]}`).Compile("f", "")
	_, err := checker.Check(t.Context(), storage(t, nil), stepDir, table{err: fmt.Errorf("query: %w", downError{})})
	require.ErrorIs(t, err, downError{})
	assert.ErrorContains(t, err, `"orders"`)

	_, err = checker.Check(t.Context(), storage(t, nil), stepDir, nil)
	assert.ErrorIs(t, err, validation.ErrNoDatabase)
}

func TestASchemaWithoutQueriesNeedsNoDatabase(t *testing.T) {
	t.Parallel()
	checker, _ := decode(t, `{"files":[{"file_name":"a"}]}`).Compile("f", "")
	assert.False(t, checker.NeedsDatabase())
	assert.False(t, (*validation.Checker)(nil).NeedsDatabase())
}

// stuck is a database that never answers.
type stuck struct{}

// Query implements [validation.Database].
func (stuck) Query(ctx context.Context, _ string, _ int) ([]string, [][]any, error) {
	<-ctx.Done()
	return nil, nil, ctx.Err()
}

func TestAQueryThatTakesTooLongIsAFailedCheck(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		report := checkDB(t, ``, stuck{})
		assert.Equal(t, []string{"db_query"}, failed(report))
		assert.Contains(t, report.Feedback(), "took longer than 10s")
	})
}

func TestChecksThatTakeTooLongTogetherAreStopped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := ""
		for range validation.MaxDBChecks {
			list += `,{"sql":"SELECT 1"}`
		}
		checker, found := decode(t, `{"db":[`+list[1:]+`]}`).Compile("f", "")
		require.NoError(t, found.Err())
		report, err := checker.Check(t.Context(), storage(t, nil), stepDir, stuck{})
		require.NoError(t, err)
		assert.False(t, report.OverallPass)
		assert.Contains(t, failed(report), "pre_validation_error")
		assert.Contains(t, report.Feedback(), "longer than 1m0s")
	})
}

func TestACancelledQueryIsAnErrorAndNoVerdict(t *testing.T) {
	t.Parallel()
	checker, _ := decode(t, `{"db":[{"sql":"SELECT 1"}]}`).Compile("f", "")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report, err := checker.Check(ctx, storage(t, nil), stepDir, stuck{})
	require.ErrorIs(t, err, context.Canceled)
	assert.Nil(t, report)
}

func TestThereAreAtMost20Queries(t *testing.T) {
	t.Parallel()
	schema := &validation.Schema{}
	for range validation.MaxDBChecks {
		schema.DB = append(schema.DB, validation.DBCheck{SQL: "SELECT 1"})
	}
	_, found := schema.Compile("f", "")
	require.Empty(t, found)
	schema.DB = append(schema.DB, validation.DBCheck{SQL: "SELECT 1"})
	_, found = schema.Compile("f", "")
	assert.Equal(t, []string{"error db.limit /db"}, codes(found))
}

func TestFeedbackOfQueriesNamesTheFirstRow(t *testing.T) {
	t.Parallel()
	report := checkDB(t, `,"min_rows":3,"checks":[{"path":"$.n","min_value":9}]`, rows(int64(1)))
	golden(t, "feedback_db.txt", report.Feedback()+"\n")
}
