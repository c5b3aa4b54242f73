//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package workspace_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/treadle-dev/treadle/workspace"
)

func TestGuardedFilesDoNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	require.NoError(t, unix.Mkfifo(g.path(workDir+"/pipe"), 0o644))
	_, err := g.files.ReadFile(t.Context(), workDir+"/pipe", 0)
	assert.ErrorContains(t, err, "not a regular file")
}

// TestAPipeInPlaceOfAFolderKeepsNobodyWaiting is about a command that makes a pipe, and a
// call of another tool for a file "in" it.
func TestAPipeInPlaceOfAFolderKeepsNobodyWaiting(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	ctx := t.Context()
	require.NoError(t, unix.Mkfifo(g.path(workDir+"/pipe"), 0o644))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for _, name := range []string{workDir + "/pipe/file", workDir + "/pipe", workDir + "/pipe/a/b"} {
			assert.Error(t, g.files.WriteFile(ctx, name+"/x", nil, workspace.Lazy), name)
			assert.Error(t, g.files.MkdirAll(ctx, name), name)
			_, err := g.files.ReadFile(ctx, name, 0)
			assert.Error(t, err, name)
			_, err = g.files.ReadDir(ctx, name)
			assert.Error(t, err, name)
			_ = g.files.Remove(ctx, name+"/x")
			_, _ = g.files.Stat(ctx, name)
		}
		files := (&workspace.Guard{Read: []string{workDir + "/pipe"}, Write: []string{workDir + "/pipe/in"}}).Open(g.ws)
		_, err := files.ReadFile(ctx, workDir+"/pipe/x", 0)
		assert.Error(t, err, "a name of the guard itself")
		assert.Error(t, files.WriteFile(ctx, workDir+"/pipe/in/x", nil, workspace.Lazy))
	}()
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("it waits for the other end of a pipe")
	}
}
