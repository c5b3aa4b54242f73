//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package workspace_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestGuardedFilesDoNotWaitForAPipe(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	require.NoError(t, unix.Mkfifo(g.path(workDir+"/pipe"), 0o644))
	_, err := g.files.ReadFile(t.Context(), workDir+"/pipe", 0)
	assert.ErrorContains(t, err, "not a regular file")
}
