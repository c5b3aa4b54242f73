package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// workflow is a workspace on disk with the folder that it lies in.
type workflow struct {
	*workspace.Dir
	root string
}

func setup(t *testing.T, statements ...string) workflow {
	t.Helper()
	root := t.TempDir()
	dir, err := workspace.NewDir(root)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dir.Close()) })
	w := workflow{dir, root}
	if len(statements) > 0 {
		w.update(t, statements...)
	}
	return w
}

func (w workflow) update(t *testing.T, statements ...string) {
	t.Helper()
	writer, err := sqlite.OpenWriter(t.Context(), w, nil)
	require.NoError(t, err)
	require.NoError(t, writer.Update(t.Context(), func(tx *sql.Tx) error {
		for _, statement := range statements {
			if _, err := tx.ExecContext(t.Context(), statement); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, writer.Close())
}

func (w workflow) path(suffix string) string {
	return filepath.Join(w.root, "db", "db.sqlite"+suffix)
}

// copyTo copies the database and the files beside it as they are, as a machine that
// loses its power leaves them.
func (w workflow) copyTo(t *testing.T, to workflow, suffixes ...string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(to.root, "db"), 0o755))
	for _, suffix := range suffixes {
		data, err := os.ReadFile(w.path(suffix))
		require.NoError(t, err)
		require.NotEmpty(t, data, suffix)
		require.NoError(t, os.WriteFile(to.path(suffix), data, 0o600))
	}
}

// raw opens the file as any other program would.
func (w workflow) raw(t *testing.T) *sql.DB {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Join(w.root, "db"), 0o755))
	db, err := sql.Open("sqlite", w.path(""))
	require.NoError(t, err)
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, statement)
	}
}
