//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// What the file systems do that have no exclusive rename.
func TestRenamingByCheckingMovesFilesAndFoldersAndReplacesNothing(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	root, err := os.OpenRoot(path)
	require.NoError(t, err)
	defer root.Close()
	require.NoError(t, root.MkdirAll("folder/sub", 0o755))
	for _, name := range []string{"a", "b", "folder/file"} {
		require.NoError(t, root.WriteFile(name, []byte(name), 0o644))
	}
	require.ErrorIs(t, renameByChecking(root, "a", "b"), os.ErrExist)
	require.ErrorIs(t, renameByChecking(root, "folder", "b"), os.ErrExist)
	require.ErrorIs(t, renameByChecking(root, "a", "folder"), os.ErrExist)
	require.ErrorIs(t, renameByChecking(root, "no", "new"), os.ErrNotExist)
	require.NoError(t, renameByChecking(root, "a", "folder/a"))
	require.NoError(t, renameByChecking(root, "folder", "moved"))
	require.NoFileExists(t, filepath.Join(path, "a"))
	require.NoDirExists(t, filepath.Join(path, "folder"))
	for name, want := range map[string]string{"b": "b", "moved/a": "a", "moved/file": "folder/file"} {
		data, err := root.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, want, string(data))
	}
}
