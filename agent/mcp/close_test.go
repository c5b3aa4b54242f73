package mcp_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/mcp"
)

func TestCloseEndsAServerThatListens(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	echo := find(t, session, "echo")
	began := time.Now()
	require.NoError(t, session.Close())
	require.NoError(t, session.Close(), "closing again is harmless")
	assert.Less(t, time.Since(began), mcp.DefaultCloseTimeout/2, "no signal was needed")
	_, err := call(t.Context(), echo, nil)
	require.ErrorIs(t, err, mcp.ErrSessionClosed)
	_, err = session.Tools(t.Context())
	require.ErrorIs(t, err, mcp.ErrSessionClosed)
}

func TestCloseEndsAServerThatIgnoresEverythingButAKill(t *testing.T) {
	t.Parallel()
	server := fake(t, "ignore-term")
	server.CloseTimeout = time.Second
	session := open(t, server)
	began := time.Now()
	require.NoError(t, session.Close())
	assert.GreaterOrEqual(t, time.Since(began), 700*time.Millisecond, "it was asked first")
	assert.Less(t, time.Since(began), 10*time.Second)
}

func TestCloseLeavesAServerTheTimeToSaveItsWork(t *testing.T) {
	t.Parallel()
	saved := filepath.Join(t.TempDir(), "saved")
	session := open(t, fake(t, "slow-farewell="+saved))
	require.NoError(t, session.Close())
	assert.FileExists(t, saved)
}

func TestCloseEndsGrandchildren(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	session := open(t, fake(t, "grandchild="+file))
	pid := requireFile(t, file)
	require.NoError(t, session.Close())
	requireGone(t, pid)
}

func TestCloseEndsGrandchildrenOfAServerThatIgnoresEverythingButAKill(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "pid")
	server := fake(t, "ignore-term", "grandchild="+file)
	server.CloseTimeout = time.Second
	session := open(t, server)
	pid := requireFile(t, file)
	require.NoError(t, session.Close())
	requireGone(t, pid)
}

func TestCloseEndsTheCallsUnderWay(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	slow := find(t, session, "slow")
	mark := filepath.Join(t.TempDir(), "mark")
	var group sync.WaitGroup
	group.Go(func() {
		_, err := call(t.Context(), slow, map[string]string{"mark": mark})
		assert.ErrorIs(t, err, mcp.ErrSessionClosed)
	})
	requireFile(t, mark)
	require.NoError(t, session.Close())
	group.Wait()
}

func TestCloseDuringARestartLeavesNothing(t *testing.T) {
	t.Parallel()
	counter := filepath.Join(t.TempDir(), "starts")
	session := open(t, fake(t, "count="+counter, "fail-after-first"))
	echo := find(t, session, "echo")
	_, err := call(t.Context(), find(t, session, "die"), nil)
	require.ErrorIs(t, err, mcp.ErrServerDied)
	for range 4 { // until a restart waits for some seconds
		_, err = call(t.Context(), echo, nil)
		require.ErrorIs(t, err, mcp.ErrStart)
	}
	var group sync.WaitGroup
	group.Go(func() {
		_, err := call(t.Context(), echo, nil)
		assert.ErrorIs(t, err, mcp.ErrSessionClosed)
	})
	began := time.Now()
	require.NoError(t, session.Close())
	group.Wait()
	assert.Less(t, time.Since(began), 3*time.Second)
}

//nolint:paralleltest // it counts the descriptors of the whole process
func TestNoDescriptorIsLeft(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("there is no /proc/self/fd to count descriptors in")
		}
		return len(entries)
	}
	session := open(t, fake(t)) // what the first process of a program opens for good
	require.NoError(t, session.Close())
	before := count()
	for range 5 {
		session := open(t, fake(t))
		_, err := call(t.Context(), find(t, session, "die"), nil)
		require.ErrorIs(t, err, mcp.ErrServerDied)
		assert.Equal(t, `{}`, text(t, session, "echo", nil))
		require.NoError(t, session.Close())
		_, err = tryOpen(t, fake(t, "exit-early"))
		require.Error(t, err)
		_, err = tryOpen(t, mcp.Server{Name: "none", Command: "/no/such/file"})
		require.Error(t, err)
	}
	assert.Equal(t, before, count())
}
