package sqlite_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/sqlite"
)

// A check opens the file for each query; a tool that asks often keeps it open.
func BenchmarkQuery(b *testing.B) {
	dir, err := workspace.NewDir(b.TempDir())
	require.NoError(b, err)
	b.Cleanup(func() { dir.Close() })
	writer, err := sqlite.OpenWriter(b.Context(), dir, nil)
	require.NoError(b, err)
	require.NoError(b, writer.Close())
	db, err := sqlite.Open(b.Context(), dir, nil)
	require.NoError(b, err)
	b.Cleanup(func() { db.Close() })
	for name, query := range map[string]interface {
		Query(ctx context.Context, sql string, limit int) (columns []string, rows [][]any, err error)
	}{"kept open": db, "opened each time": sqlite.NewReader(dir, nil)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, _, err := query.Query(b.Context(), `SELECT 1`, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
