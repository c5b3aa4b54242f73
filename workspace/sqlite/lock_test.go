package sqlite_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace/sqlite"
)

func TestALockedDatabaseIsWaitedForAndThenToldAsSuch(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (a)`, `INSERT INTO v VALUES (1)`)
	other := w.raw(t)
	exec(t, other, `BEGIN EXCLUSIVE`)

	_, _, err := sqlite.NewReader(w, &sqlite.Options{BusyTimeout: 20 * time.Millisecond}).Query(t.Context(), `SELECT a FROM v`, 1)
	require.ErrorIs(t, err, sqlite.ErrLocked)

	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	_, _, err = sqlite.NewReader(w, nil).Query(ctx, `SELECT a FROM v`, 1)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	answered := make(chan error)
	go func() {
		_, _, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT a FROM v`, 1)
		answered <- err
	}()
	exec(t, other, `COMMIT`)
	assert.NoError(t, <-answered)
}

func TestManyReadersBesideAWriterSeeWholeChangesOnly(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"DELETE", "WAL"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			w := setup(t, `CREATE TABLE v (a)`, `INSERT INTO v VALUES (0), (0)`)
			exec(t, w.raw(t), `PRAGMA journal_mode = `+mode)
			writer, err := sqlite.OpenWriter(t.Context(), w, nil)
			require.NoError(t, err)
			shared, err := sqlite.Open(t.Context(), w, nil)
			require.NoError(t, err)
			reader := sqlite.NewReader(w, nil)
			ended := make(chan struct{})
			var group sync.WaitGroup
			for i := range 8 {
				group.Go(func() {
					query := shared.Query
					if i%2 == 0 {
						query = reader.Query
					}
					for {
						_, rows, err := query(t.Context(), `SELECT min(a), max(a) FROM v`, 1)
						if assert.NoError(t, err) {
							assert.Equal(t, rows[0][0], rows[0][1], "both rows change together")
						}
						select {
						case <-ended:
							return
						default:
						}
					}
				})
			}
			for range 50 {
				require.NoError(t, writer.Update(t.Context(), func(tx *sql.Tx) error {
					if _, err := tx.ExecContext(t.Context(), `UPDATE v SET a = a + 1 WHERE rowid = 1`); err != nil {
						return err
					}
					_, err := tx.ExecContext(t.Context(), `UPDATE v SET a = a + 1 WHERE rowid = 2`)
					return err
				}))
			}
			close(ended)
			group.Wait()
			_, rows, err := shared.Query(t.Context(), `SELECT min(a), max(a) FROM v`, 1)
			require.NoError(t, err)
			assert.Equal(t, [][]any{{int64(50), int64(50)}}, rows)
			require.NoError(t, shared.Close())
			require.NoError(t, writer.Close())
		})
	}
}

//nolint:paralleltest // SQLite's connections share their cache, and this one has to be full
func TestWhatADeadWriterLeftUnfinishedIsRolledBack(t *testing.T) {
	w, after := setup(t, `CREATE TABLE v (a)`), setup(t)
	other := w.raw(t)
	exec(t, other, `INSERT INTO v WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 3000) SELECT printf('%0200d', 0) FROM n`,
		`PRAGMA cache_size = 5`, `BEGIN`, `UPDATE v SET a = printf('%0200d', 1)`)
	w.copyTo(t, after, "", "-journal")
	torn, err := os.ReadFile(after.path(""))
	require.NoError(t, err)
	require.Contains(t, string(torn), "0000000001", "the change has reached the file")
	exec(t, other, `ROLLBACK`)

	_, rows, err := sqlite.NewReader(after, nil).Query(t.Context(), `SELECT count(*), sum(a) FROM v`, 1)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{int64(3000), int64(0)}}, rows)
	assert.NoFileExists(t, after.path("-journal"))
}

func TestAWriteAheadLogIsReadWithItsDatabase(t *testing.T) {
	t.Parallel()
	w, after := setup(t), setup(t)
	other := w.raw(t)
	exec(t, other, `PRAGMA journal_mode = WAL`, `CREATE TABLE v (a)`, `INSERT INTO v VALUES (1)`)
	w.copyTo(t, after, "", "-wal")
	_, rows, err := sqlite.NewReader(after, nil).Query(t.Context(), `SELECT a FROM v`, 1)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{int64(1)}}, rows)
}

func TestAReaderSeesADatabaseThatComesLater(t *testing.T) {
	t.Parallel()
	w := setup(t)
	reader := sqlite.NewReader(w, nil)
	_, _, err := reader.Query(t.Context(), `SELECT 1`, 1)
	require.ErrorIs(t, err, sqlite.ErrMissing)
	w.update(t, `CREATE TABLE v (a)`)
	_, _, err = reader.Query(t.Context(), `SELECT a FROM v`, 1)
	require.NoError(t, err)
	require.NoError(t, os.Remove(w.path("")))
	_, _, err = reader.Query(t.Context(), `SELECT a FROM v`, 1)
	assert.ErrorIs(t, err, sqlite.ErrMissing)
}

func TestAChangeThatFailsLeavesNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (a)`)
	writer, err := sqlite.OpenWriter(t.Context(), w, nil)
	require.NoError(t, err)
	broken := errors.New("changed my mind")
	require.ErrorIs(t, writer.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO v VALUES (1)`)
		return errors.Join(err, broken)
	}), broken)
	err = writer.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO nothing VALUES (1)`)
		return err
	})
	require.ErrorIs(t, err, sqlite.ErrQuery)
	require.NoError(t, writer.Close())
	_, rows, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT count(*) FROM v`, 1)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{int64(0)}}, rows)
}

func TestTwoWritersTakeTurns(t *testing.T) {
	t.Parallel()
	w := setup(t, `CREATE TABLE v (a)`)
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() {
			writer, err := sqlite.OpenWriter(t.Context(), w, nil)
			if !assert.NoError(t, err) {
				return
			}
			for n := range 10 {
				assert.NoError(t, writer.Update(t.Context(), func(tx *sql.Tx) error {
					_, err := tx.ExecContext(t.Context(), fmt.Sprintf(`INSERT INTO v VALUES ('%d/%d')`, i, n))
					return err
				}))
			}
			assert.NoError(t, writer.Close())
		})
	}
	group.Wait()
	_, rows, err := sqlite.NewReader(w, nil).Query(t.Context(), `SELECT count(DISTINCT a) FROM v`, 1)
	require.NoError(t, err)
	assert.Equal(t, [][]any{{int64(40)}}, rows)
}

func TestBothHandlesHaveTheShapeOfTheDatabasePort(t *testing.T) {
	t.Parallel()
	type port interface {
		Query(ctx context.Context, sql string, limit int) (columns []string, rows [][]any, err error)
	}
	assert.Implements(t, (*port)(nil), &sqlite.DB{})
	assert.Implements(t, (*port)(nil), &sqlite.Reader{})
}
