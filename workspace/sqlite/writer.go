package sqlite

import (
	"context"
	"database/sql"
	"errors"

	modernc "modernc.org/sqlite"

	"github.com/treadle-dev/treadle/workspace"
)

// Writer changes a workflow's database. It is safe for concurrent use; one change is
// made after the other.
type Writer struct {
	pool *sql.DB
}

// OpenWriter opens the database of a workflow for changes, and makes it if there is
// none. The options may be nil; of them, only the busy timeout applies.
func OpenWriter(ctx context.Context, st workspace.Storage, opts *Options) (*Writer, error) {
	path, _, err := locate(ctx, st)
	if err != nil {
		return nil, err
	}
	if local, ok := st.(workspace.LocalStorage); ok {
		if err := local.MkdirAll(ctx, workspace.DBDir); err != nil {
			return nil, failure(ErrUnavailable, err)
		}
	}
	resolved := opts.resolved()
	parameters := resolved.parameters("rwc")
	parameters.Set("_txlock", "immediate")
	parameters.Set("_foreign_keys", "1")
	base, err := modernc.NewConnector(source(path, parameters))
	if err != nil {
		return nil, failure(ErrUnavailable, err)
	}
	w := &Writer{pool: sql.OpenDB(base)}
	w.pool.SetMaxOpenConns(1)
	if err := w.Update(ctx, func(*sql.Tx) error { return nil }); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Update makes one change: all of what fn does, or nothing when fn or the end of the
// transaction fails. Fn must not keep the transaction. The change is durable when
// Update returns nil. An error is that of fn, of the context, or an [*Error].
func (w *Writer) Update(ctx context.Context, fn func(tx *sql.Tx) error) error {
	tx, err := w.pool.BeginTx(ctx, nil)
	if err != nil {
		return w.failed(ctx, err)
	}
	if err := fn(tx); err != nil {
		if undone := tx.Rollback(); undone != nil && !errors.Is(undone, sql.ErrTxDone) {
			return errors.Join(w.failed(ctx, err), classify(undone))
		}
		return w.failed(ctx, err)
	}
	if err := tx.Commit(); err != nil {
		return w.failed(ctx, err)
	}
	return nil
}

func (w *Writer) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return classify(err)
}

// Close ends the connection. It waits for a change under way.
func (w *Writer) Close() error {
	if err := w.pool.Close(); err != nil {
		return classify(err)
	}
	return nil
}
