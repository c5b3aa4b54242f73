package workspace_test

import (
	"context"
	"io/fs"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

func TestMain(m *testing.M) {
	if runChild() {
		return
	}
	goleak.VerifyTestMain(m)
}

func openDir(t testing.TB, path string) *workspace.Dir {
	t.Helper()
	dir, err := workspace.NewDir(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, dir.Close()) })
	return dir
}

func TestMemIsAStorage(t *testing.T) {
	t.Parallel()
	workspacetest.TestStorage(t, func(*testing.T) workspace.Storage { return workspace.NewMem() })
}

func TestDirIsAStorage(t *testing.T) {
	t.Parallel()
	workspacetest.TestStorage(t, func(t *testing.T) workspace.Storage { return openDir(t, t.TempDir()) })
}

func TestTwoDirsOnOneFolderAreAStorage(t *testing.T) {
	t.Parallel()
	workspacetest.TestStorage(t, func(t *testing.T) workspace.Storage {
		path := t.TempDir()
		return &inTurn{sides: [2]workspace.Storage{openDir(t, path), openDir(t, path)}}
	})
}

// inTurn sends each operation to the other of two storages.
type inTurn struct {
	sides [2]workspace.Storage
	calls atomic.Uint32
}

func (s *inTurn) next() workspace.Storage { return s.sides[s.calls.Add(1)%2] }

func (s *inTurn) ReadFile(ctx context.Context, name string) ([]byte, error) {
	return s.next().ReadFile(ctx, name)
}

func (s *inTurn) ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	return s.next().ReadDir(ctx, name)
}

func (s *inTurn) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	return s.next().Stat(ctx, name)
}

func (s *inTurn) WriteFile(ctx context.Context, name string, data []byte, sync workspace.Sync) error {
	return s.next().WriteFile(ctx, name, data, sync)
}

func (s *inTurn) AppendAt(ctx context.Context, name string, offset int64, data []byte) error {
	return s.next().AppendAt(ctx, name, offset, data)
}

func (s *inTurn) Truncate(ctx context.Context, name string, size int64) error {
	return s.next().Truncate(ctx, name, size)
}

func (s *inTurn) Rename(ctx context.Context, from, to string) error {
	return s.next().Rename(ctx, from, to)
}

func (s *inTurn) Remove(ctx context.Context, name string) error { return s.next().Remove(ctx, name) }

func (s *inTurn) TryLock(ctx context.Context, name, holder string) (workspace.Lock, error) {
	return s.next().TryLock(ctx, name, holder)
}
