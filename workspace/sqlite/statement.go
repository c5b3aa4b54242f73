package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	modernc "modernc.org/sqlite"

	"github.com/treadle-dev/treadle/internal/sqltext"
)

// single gives the one statement of a text. The authorizer keeps it from writing;
// here it is kept from being several, of which the driver would run all.
func single(text string) (string, error) {
	statement, err := sqltext.Query(text)
	if err != nil {
		return "", failure(ErrRefused, err)
	}
	return statement, nil
}

// describe compiles a statement without running it.
func describe(conn *sql.Conn, statement string) (info []modernc.ColumnInfo, err error) {
	rawErr := conn.Raw(func(driverConn any) error {
		describer, ok := driverConn.(interface {
			ColumnInfo(query string) ([]modernc.ColumnInfo, error)
		})
		if !ok {
			return errors.New("the driver does not describe columns")
		}
		info, err = describer.ColumnInfo(statement)
		return nil // an error would make the pool doubt the connection
	})
	return info, errors.Join(err, rawErr)
}

// plainValues is the statement with values as they are stored. The driver makes times
// of the texts in a column that is declared as one, so such columns are passed through
// an expression, which has no declaration.
func plainValues(statement string, info []modernc.ColumnInfo) string {
	if !slices.ContainsFunc(info, declaredTime) {
		return statement
	}
	const rows = `"treadle rows"`
	names, values := make([]string, len(info)), make([]string, len(info))
	for i, column := range info {
		names[i] = fmt.Sprintf("c%d", i)
		values[i] = names[i]
		if declaredTime(column) {
			values[i] = fmt.Sprintf("coalesce(c%d, NULL)", i)
		}
	}
	return fmt.Sprintf("WITH %s(%s) AS (%s\n) SELECT %s FROM %s",
		rows, strings.Join(names, ", "), statement, strings.Join(values, ", "), rows)
}

func declaredTime(column modernc.ColumnInfo) bool {
	return slices.Contains([]string{"DATE", "DATETIME", "TIMESTAMP"}, strings.ToUpper(column.DeclType))
}
