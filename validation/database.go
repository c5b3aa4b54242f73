package validation

import (
	"context"
	"errors"
)

// Database answers the queries of a schema's db checks. A leaf such as
// workspace/sqlite gives it for the database of a workflow; a host may give its own.
//
// Query runs one statement that only reads, and returns the names of its columns and
// at most limit rows, each with one value for each column. A value is nil, an int64,
// a float64, a bool, a string or a []byte. What is returned is the caller's.
// It is called by one validation at a time, but by several validations side by side.
//
// The implementation refuses what would write, and more than one statement. Its
// error is a failed check, told to whoever wrote the database: a table that does not
// exist, no database at all, a damaged one. An error that is no fault of theirs, such
// as a server that is down, says so by a method Unavailable() bool that returns true
// (anywhere in its chain); validation then ends with that error.
type Database interface {
	Query(ctx context.Context, sql string, limit int) (columns []string, rows [][]any, err error)
}

// ErrNoDatabase is what a check of a schema with db checks returns when it is given
// no [Database].
var ErrNoDatabase = errors.New("the validation schema has db checks, but no database is configured: " +
	"give the host's configuration one, such as that of package workspace/sqlite")

// unavailable reports whether a database's error is not about what is in it.
func unavailable(err error) bool {
	var fault interface{ Unavailable() bool }
	return errors.As(err, &fault) && fault.Unavailable()
}
