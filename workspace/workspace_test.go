package workspace_test

import (
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

func TestAWorkspaceInAFolderHasLocalPathsUntilItIsClosed(t *testing.T) {
	t.Parallel()
	path, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	ws, err := workspace.OpenDir(path)
	require.NoError(t, err)
	local, ok := ws.LocalPath("runs/iteration-1")
	require.True(t, ok)
	assert.Equal(t, filepath.Join(path, "runs", "iteration-1"), local)
	require.NoError(t, ws.MkdirAll(t.Context(), "runs/iteration-1"))
	assert.DirExists(t, local)
	require.NoError(t, ws.Close())
	_, err = ws.Storage().ReadFile(t.Context(), "a")
	require.ErrorIs(t, err, fs.ErrClosed)
	require.ErrorIs(t, ws.Storage().AppendAt(t.Context(), "a", 0, nil), fs.ErrClosed)
}

func TestAWorkspaceInMemoryHasNoLocalPaths(t *testing.T) {
	t.Parallel()
	ws := workspace.New(workspace.NewMem())
	_, ok := ws.LocalPath("runs")
	assert.False(t, ok)
	require.NoError(t, ws.MkdirAll(t.Context(), "runs"))
	require.NoError(t, ws.Close())
}

func TestAFolderThatDoesNotExistIsNoWorkspace(t *testing.T) {
	t.Parallel()
	_, err := workspace.OpenDir(filepath.Join(t.TempDir(), "no"))
	require.ErrorIs(t, err, fs.ErrNotExist)
}
