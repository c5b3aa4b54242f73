package validation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/treadle-dev/treadle/internal/openjson"
)

// MaxQueryTime is how long one query of a schema may take.
const MaxQueryTime = 10 * time.Second

// dbCheck is a compiled [DBCheck].
type dbCheck struct {
	label    string
	sql      string
	min, max int // max is -1 for any number
	checks   []*jsonCheck
}

// limit is how many rows have to be fetched to judge the query.
func (d *dbCheck) limit() int { return max(d.min, d.max+1, 1) }

func (d *dbCheck) run(ctx context.Context, db Database) (DBResult, error) {
	result := DBResult{Name: d.label, SQL: d.sql, Checks: []CheckResult{}}
	limited, cancel := context.WithTimeout(ctx, MaxQueryTime)
	defer cancel()
	columns, rows, err := db.Query(limited, d.sql, d.limit())
	switch {
	case ctx.Err() != nil:
		return result, ctx.Err()
	case err != nil && limited.Err() != nil:
		err = fmt.Errorf("it took longer than %v", MaxQueryTime)
	case err != nil && unavailable(err):
		return result, err
	}
	if err == nil {
		err = d.misfit(columns, rows)
	}
	if err != nil {
		result.add(CheckResult{
			CheckType: CheckDBQuery, Expected: "a query that succeeds", Actual: openjson.Excerpt(err.Error(), 500),
			ErrorMsg: fmt.Sprintf("the query failed: %s", openjson.Excerpt(err.Error(), 500)),
		})
		return result, nil
	}
	result.Rows, result.AtLeast = len(rows), len(rows) == d.limit()
	result.add(d.count(&result))
	if len(d.checks) == 0 || len(rows) == 0 {
		return result, nil
	}
	row, err := object(columns, rows[0])
	if err != nil {
		result.add(CheckResult{CheckType: CheckDBQuery, Expected: "a row with named values", Actual: err.Error(), ErrorMsg: "the first row cannot be checked: " + err.Error()})
		return result, nil
	}
	for _, check := range d.checks {
		results := check.run(ctx, row)
		if err := ctx.Err(); err != nil {
			return result, err
		}
		result.add(results...)
	}
	return result, nil
}

// misfit finds what an implementation of [Database] must not return.
func (d *dbCheck) misfit(columns []string, rows [][]any) error {
	if len(rows) > d.limit() {
		return fmt.Errorf("the database returned %d rows where at most %d were asked for", len(rows), d.limit())
	}
	for i, row := range rows {
		if len(row) != len(columns) {
			return fmt.Errorf("row %d has %s for %s", i+1, count(len(row), "value"), count(len(columns), "column"))
		}
	}
	return nil
}

// count judges the number of rows.
func (d *dbCheck) count(result *DBResult) CheckResult {
	check := CheckResult{CheckType: CheckDBRows, Passed: true, Expected: d.rowsText(), Actual: count(result.Rows, "row")}
	if result.AtLeast {
		check.Actual = "at least " + check.Actual
	}
	if result.Rows < d.min || d.max >= 0 && result.Rows > d.max {
		check.Passed = false
		check.ErrorMsg = fmt.Sprintf("the query must give %s, but gives %s", check.Expected, check.Actual)
	}
	return check
}

func (d *dbCheck) rowsText() string {
	switch {
	case d.max < 0:
		return "at least " + count(d.min, "row")
	case d.min == d.max:
		return "exactly " + count(d.min, "row")
	case d.min == 0:
		return "at most " + count(d.max, "row")
	default:
		return fmt.Sprintf("%d to %d rows", d.min, d.max)
	}
}

// object makes of a row the JSON object that its checks look at.
func object(columns []string, row []any) (map[string]any, error) {
	members := make(map[string]any, len(columns))
	for i, column := range columns {
		if slices.Contains(columns[:i], column) {
			return nil, fmt.Errorf("two columns are named %q: name them apart with AS", column)
		}
		value, err := jsonValue(row[i])
		if err != nil {
			return nil, fmt.Errorf("column %q: %w", column, err)
		}
		members[column] = value
	}
	return members, nil
}

// beyond stands for infinity, which JSON does not have: a number further out than any
// that a document or a bound of a schema sensibly holds.
const beyond = "1e9999999999999999999"

// jsonValue is a database's value as a JSON document holds it. Bytes are a string of
// these bytes, whatever they are.
func jsonValue(value any) (any, error) {
	switch v := value.(type) {
	case nil, bool, string:
		return v, nil
	case []byte:
		return string(v), nil
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), nil
	case float64:
		switch {
		case math.IsNaN(v):
			return nil, errors.New("the value is not a number (NaN)")
		case math.IsInf(v, 1):
			return json.Number(beyond), nil
		case math.IsInf(v, -1):
			return json.Number("-" + beyond), nil
		}
		return json.Number(strconv.FormatFloat(v, 'g', -1, 64)), nil
	default:
		return nil, fmt.Errorf("a value of type %T is none of the types that a Database returns", value)
	}
}
