package mcp_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/mcp"
)

func TestAToolThatRunsOnlyAsATaskIsFollowedToItsEnd(t *testing.T) {
	t.Parallel()
	server := fake(t)
	server.CallTimeout = time.Second // the task takes longer, and says that it lives
	session := open(t, server)
	task := find(t, session, "task")
	for state, isError := range map[string]bool{"completed": false, "failed": true} {
		result, err := call(t.Context(), task, map[string]string{"until": state})
		require.NoError(t, err)
		assert.Equal(t, isError, result.IsError)
		assert.Equal(t, "the task "+state, result.Text())
	}
	assert.Equal(t, "no task was needed", text(t, session, "task", map[string]string{"until": "at once"}))
	for state, want := range map[string]string{"input_required": "asks for input in the middle of its task", "cancelled": "the server canceled the task"} {
		_, err := call(t.Context(), task, map[string]string{"until": state})
		require.ErrorContains(t, err, want)
	}
}

func TestATaskThatNeverEndsIsCanceledAtTheHardLimit(t *testing.T) {
	t.Parallel()
	methods := filepath.Join(t.TempDir(), "methods")
	server := fake(t, "log-methods="+methods)
	server.CallTimeout, server.MaxCallTimeout = time.Second, 1500*time.Millisecond
	session := open(t, server)
	_, err := call(t.Context(), find(t, session, "task"), map[string]string{"until": "never"})
	var late *mcp.CallTimeoutError
	require.ErrorAs(t, err, &late)
	assert.True(t, late.Progress)
	require.Eventually(t, func() bool { return strings.Contains(requireFile(t, methods), "tasks/cancel") }, 20*time.Second, 5*time.Millisecond)
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
}
