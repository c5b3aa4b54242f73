package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	modernc "modernc.org/sqlite"

	"github.com/treadle-dev/treadle/workspace"
)

// DB is a workflow's database, open for reading. It is safe for concurrent use. It
// stays with the file that it has opened: one that is put in its place later is not
// seen.
type DB struct {
	path string
	pool *sql.DB
	opts Options
}

// Open opens the database of a workflow for reading. The options may be nil. The error
// matches [ErrMissing] when there is no database file, which is not the same as an
// empty one, and [ErrCorrupt] when the file is none that SQLite can read.
//
// A change that a writer left unfinished when it died is rolled back first, which is
// the one thing that Open may do to the file.
func Open(ctx context.Context, st workspace.Storage, opts *Options) (*DB, error) {
	path, exists, err := locate(ctx, st)
	if err != nil {
		return nil, err
	}
	if !exists {
		return nil, failure(ErrMissing, nil)
	}
	db := &DB{path: path, opts: opts.resolved()}
	if db.pool, err = openReadOnly(path, &db.opts); err != nil {
		return nil, err
	}
	if _, _, err := db.Query(ctx, touch, 1); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// touch is the smallest query that reads the file: SQLite opens it lazily.
const touch = "SELECT count(*) FROM sqlite_schema"

// Query runs one statement that only reads, and returns the names of its columns and
// the first rows, at most as many as the limit says; a limit of 0 or less is
// [Options.MaxRows]. A value is nil, an int64, a float64, a string or a []byte, as
// SQLite stores it. What is returned is the caller's.
//
// An error is the context's, or an [*Error].
func (db *DB) Query(ctx context.Context, query string, limit int) (columns []string, rows [][]any, err error) {
	statement, err := single(query)
	if err != nil {
		return nil, nil, err
	}
	if limit <= 0 || limit > db.opts.MaxRows {
		limit = db.opts.MaxRows
	}
	limited, cancel := context.WithTimeout(ctx, db.opts.QueryTime)
	defer cancel()
	columns, rows, err = db.query(limited, statement, limit)
	if diedWriting(err) {
		if err = db.recover(limited); err == nil {
			columns, rows, err = db.query(limited, statement, limit)
		}
	}
	switch {
	case err == nil:
		return columns, rows, nil
	case ctx.Err() != nil:
		return nil, nil, ctx.Err()
	case limited.Err() != nil:
		return nil, nil, failure(ErrLimit, fmt.Errorf("it took longer than %v", db.opts.QueryTime))
	case errors.As(classify(err), new(*Error)):
		return nil, nil, classify(err)
	default:
		return nil, nil, failure(ErrQuery, err) // such as a parameter, for which there is no value
	}
}

func (db *DB) query(ctx context.Context, statement string, limit int) (columns []string, rows [][]any, err error) {
	conn, err := db.pool.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	// No single value may be larger than all values together.
	if _, err := modernc.Limit(conn, 0, db.opts.MaxBytes); err != nil { // SQLITE_LIMIT_LENGTH
		return nil, nil, err
	}
	info, err := describe(conn, statement)
	if err != nil {
		return nil, nil, err
	}
	result, err := conn.QueryContext(ctx, plainValues(statement, info))
	if err != nil {
		return nil, nil, err
	}
	defer result.Close()
	columns = make([]string, len(info))
	for i, column := range info {
		columns[i] = column.Name
	}
	rows, err = db.fetch(result, len(columns), limit)
	return columns, rows, err
}

func (db *DB) fetch(result *sql.Rows, columns, limit int) ([][]any, error) {
	rows := [][]any{}
	left := db.opts.MaxBytes
	targets := make([]any, columns)
	for len(rows) < limit && result.Next() {
		row := make([]any, columns)
		for i := range row {
			targets[i] = &row[i]
		}
		if err := result.Scan(targets...); err != nil {
			return nil, err
		}
		for _, value := range row {
			left -= size(value)
		}
		if left < 0 {
			return nil, failure(ErrLimit, fmt.Errorf("its rows hold more than %d bytes: select fewer columns or rows", db.opts.MaxBytes))
		}
		rows = append(rows, row)
	}
	return rows, result.Err()
}

// size is about what a value takes in memory.
func size(value any) int {
	const header = 16
	switch v := value.(type) {
	case string:
		return header + len(v)
	case []byte:
		return header + len(v)
	default:
		return header
	}
}

// Close ends all connections. It waits for queries under way.
func (db *DB) Close() error {
	if err := db.pool.Close(); err != nil {
		return classify(err)
	}
	return nil
}

// Reader reads the database of a workflow, which it opens for each query: a database
// that appears, goes or is replaced between two queries is seen as it then is. It
// holds nothing open and needs no closing. It is safe for concurrent use.
type Reader struct {
	st   workspace.Storage
	opts *Options
}

// NewReader returns a reader of the database in a storage. The options may be nil.
func NewReader(st workspace.Storage, opts *Options) *Reader { return &Reader{st: st, opts: opts} }

// Query is as [DB.Query], with the errors of [Open].
func (r *Reader) Query(ctx context.Context, query string, limit int) (columns []string, rows [][]any, err error) {
	if _, err := single(query); err != nil {
		return nil, nil, err
	}
	db, err := Open(ctx, r.st, r.opts)
	if err != nil {
		return nil, nil, err
	}
	columns, rows, err = db.Query(ctx, query, limit)
	if closed := db.Close(); err == nil {
		err = closed
	}
	return columns, rows, err
}
