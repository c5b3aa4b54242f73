package validation

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/theory/jsonpath/spec"

	"github.com/treadle-dev/treadle/internal/openjson"
	"github.com/treadle-dev/treadle/internal/sqltext"
)

func (c *compiler) dbChecks(checks []DBCheck, pointer string) []*dbCheck {
	if len(checks) > MaxDBChecks {
		c.report(codeDBLimit, pointer,
			fmt.Sprintf("has %d queries, at most %d are allowed", len(checks), MaxDBChecks), "split the step")
	}
	var compiled []*dbCheck
	named := map[string]bool{}
	for i := range checks {
		at := pointer + "/" + strconv.Itoa(i)
		if name := checks[i].Name; name != "" && named[name] {
			c.report(codeDBNameDuplicate, at+"/name", fmt.Sprintf("two checks are named %q, and reports do not tell them apart", openjson.Excerpt(name, 60)), "name each for what it asks")
		}
		named[checks[i].Name] = true
		if check := c.dbCheck(&checks[i], at); check != nil {
			if check.label == "" {
				check.label = fmt.Sprintf("db[%d]", i)
			}
			compiled = append(compiled, check)
		}
	}
	return compiled
}

func (c *compiler) dbCheck(d *DBCheck, pointer string) *dbCheck {
	if !c.faults(&d.rest, pointer, d) {
		return nil
	}
	compiled := &dbCheck{label: strings.TrimSpace(d.Name), sql: c.sql(d.SQL, pointer+"/sql"), min: 1, max: -1}
	c.bounds(d.MinRows, d.MaxRows, pointer, "min_rows", "max_rows")
	c.rowLimit(d.MinRows, pointer+"/min_rows")
	c.rowLimit(d.MaxRows, pointer+"/max_rows")
	if d.MaxRows != nil {
		compiled.max = *d.MaxRows
		if len(d.Checks) == 0 {
			compiled.min = 0
		}
	}
	if d.MinRows != nil {
		compiled.min = *d.MinRows
	}
	c.vacuousRows(d, pointer)
	compiled.checks = c.jsonChecks(d.Checks, pointer+"/checks")
	for i, check := range compiled.checks {
		if check.path != nil && startsWithIndex(check.path) {
			c.report(codeDBPath, fmt.Sprintf("%s/checks/%d/path", pointer, i),
				fmt.Sprintf("%s looks for a list, but a check looks at the first row, which is an object by column name", check.path.text),
				"name the column, as in $.status")
		}
	}
	return compiled
}

// vacuousRows reports bounds that ask for nothing, and checks that never apply.
func (c *compiler) vacuousRows(d *DBCheck, pointer string) {
	switch {
	case d.MaxRows != nil && *d.MaxRows == 0 && len(d.Checks) > 0:
		if d.MinRows == nil {
			c.report(codeLimitContradiction, pointer+"/max_rows",
				"checks look at the first row, but max_rows 0 allows none, so nothing passes", "drop the checks, or raise max_rows")
			return
		}
		c.report(codeCheckVacuous, pointer, "checks look at the first row, but max_rows 0 allows none", "drop the checks, or raise max_rows")
	case d.MaxRows == nil && len(d.Checks) == 0 && d.MinRows != nil && *d.MinRows == 0:
		c.report(codeCheckVacuous, pointer,
			"at least 0 rows is always true, so the check fails only when the query cannot be run", "set min_rows to 1 or more, or max_rows")
	}
}

func (c *compiler) rowLimit(rows *int, pointer string) {
	if rows != nil && *rows > MaxRows {
		c.report(codeDBRows, pointer, fmt.Sprintf("asks for %d rows, at most %d are counted", *rows, MaxRows),
			"select count(*) AS n, and check $.n with min_value and max_value")
	}
}

func (c *compiler) sql(text, pointer string) string {
	statement, err := sqltext.Query(text)
	switch {
	case err == nil:
	case errors.Is(err, sqltext.ErrEmpty):
		c.report(codeDBSQLMissing, pointer, "the check has no query", "give a SELECT, such as SELECT id FROM orders")
	case errors.Is(err, sqltext.ErrSeveral):
		c.report(codeDBSQLSeveral, pointer, err.Error(), "make a check of each")
	case errors.Is(err, sqltext.ErrNotQuery):
		c.report(codeDBSQLNotQuery, pointer, err.Error(), "a check only reads: begin with SELECT, WITH or VALUES")
	default:
		c.report(codeDBSQLInvalid, pointer, openjson.Excerpt(err.Error(), 200), "write one SELECT, with its quotes closed")
	}
	return statement
}

// startsWithIndex reports whether a path looks for an element of a list at its root.
func startsWithIndex(q *query) bool {
	segments := q.head
	if len(segments) == 0 {
		segments = q.tail
	}
	if len(segments) == 0 || segments[0].IsDescendant() {
		return false
	}
	for _, selector := range segments[0].Selectors() {
		switch selector.(type) {
		case spec.Index, spec.SliceSelector, *spec.SliceSelector:
		default:
			return false
		}
	}
	return true
}
