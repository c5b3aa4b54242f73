package sqlite

import (
	"context"
	"database/sql"
	"errors"

	modernc "modernc.org/sqlite"
)

// diedWriting reports whether a query failed since a writer died in the middle of a
// change.
func diedWriting(err error) bool {
	var found *modernc.Error
	return errors.As(err, &found) && interrupted(found.Code())
}

// recover lets SQLite roll back what a dead writer has left. It needs a connection
// that may write; all it does there is read.
func (db *DB) recover(ctx context.Context) error {
	base, err := modernc.NewConnector(source(db.path, db.opts.parameters("rw")))
	if err != nil {
		return err
	}
	pool := sql.OpenDB(base)
	var tables int
	err = pool.QueryRowContext(ctx, touch).Scan(&tables)
	return errors.Join(err, pool.Close())
}
