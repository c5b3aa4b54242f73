package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/mcp"
)

func TestProgressLetsACallTakeLongerThanItsTimeout(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "text"} { // some servers give a number back as text
		server := fake(t)
		server.CallTimeout = time.Second
		session := open(t, server)
		began := time.Now()
		assert.Equal(t, "done", text(t, session, "progress", map[string]string{"reports": "15", "token": token}))
		assert.Greater(t, time.Since(began), server.CallTimeout)
	}
}

func TestProgressOfAnotherCallDoesNotHelp(t *testing.T) {
	t.Parallel()
	server := fake(t)
	server.CallTimeout = time.Second
	session := open(t, server)
	_, err := call(t.Context(), find(t, session, "progress"), map[string]string{"token": "other"})
	var late *mcp.CallTimeoutError
	require.ErrorAs(t, err, &late)
	assert.False(t, late.Progress)
	assert.Equal(t, time.Second, late.Timeout)
}

func TestProgressThatNeverEndsIsStoppedAtTheHardLimit(t *testing.T) {
	t.Parallel()
	counter := filepath.Join(t.TempDir(), "starts")
	server := fake(t, "count="+counter)
	server.CallTimeout, server.MaxCallTimeout = time.Second, 1500*time.Millisecond
	session := open(t, server)
	began := time.Now()
	_, err := call(t.Context(), find(t, session, "progress"), nil)
	require.ErrorIs(t, err, mcp.ErrCallTimeout)
	var late *mcp.CallTimeoutError
	require.ErrorAs(t, err, &late)
	assert.True(t, late.Progress)
	assert.Equal(t, server.MaxCallTimeout, late.Timeout)
	require.ErrorContains(t, err, "progress was still at work after 1.5s")
	assert.GreaterOrEqual(t, time.Since(began), server.MaxCallTimeout)
	assert.Contains(t, text(t, session, "canceled", nil), `"reason":"call timeout: the hard limit"`)
	assert.Equal(t, "x", requireFile(t, counter))
}

func TestAStartThatIsGivenUpIsNotCanceledOnTheWire(t *testing.T) {
	t.Parallel()
	methods := filepath.Join(t.TempDir(), "methods")
	server := fake(t, "mute", "log-methods="+methods)
	for server.StartTimeout = 500 * time.Millisecond; server.StartTimeout < time.Minute; server.StartTimeout *= 2 {
		_, err := tryOpen(t, server)
		require.ErrorIs(t, err, mcp.ErrStartTimeout)
		if _, err := os.Stat(methods); err == nil {
			break // on a busy machine it may be ended before it read anything
		}
	}
	assert.Equal(t, "initialize\n", requireFile(t, methods))
}

func TestAServerThatDiesOfACancellationIsStartedAgain(t *testing.T) {
	t.Parallel()
	counter := filepath.Join(t.TempDir(), "starts")
	session := open(t, fake(t, "die-when-canceled", "count="+counter))
	slow, echo := find(t, session, "slow"), find(t, session, "echo")
	mark := filepath.Join(t.TempDir(), "mark")
	ctx, cancel := context.WithCancelCause(t.Context())
	var calls sync.WaitGroup
	calls.Go(func() {
		_, err := call(ctx, slow, map[string]string{"mark": mark})
		assert.ErrorContains(t, err, "no longer needed")
	})
	requireFile(t, mark)
	cancel(errors.New("no longer needed"))
	calls.Wait()
	require.Eventually(t, func() bool { // the first may still meet the dying server
		result, err := call(t.Context(), echo, nil)
		return err == nil && result.Text() == `{}`
	}, 20*time.Second, 20*time.Millisecond)
	assert.Equal(t, "xx", requireFile(t, counter))
}

// logged is a log that may be written and read at the same time.
type logged struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logged) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestWhatAServerLogsIsPassedOnBoundedAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	var log logged
	server := fake(t)
	server.Env["TOKEN"] = "hunter22"
	server.Secrets = []string{"hunter22"}
	server.Logger = slog.New(slog.NewTextHandler(&log, nil))
	session := open(t, server)
	text(t, session, "log", map[string]string{"lines": "500"})
	lines := strings.Count(log.String(), "the server says")
	assert.GreaterOrEqual(t, lines, 20)
	assert.Less(t, lines, 200, "20 a second")
	for words, want := range map[string]bool{"level=WARN": true, "[secret]": true, "hunter22": false} {
		assert.Equal(t, want, strings.Contains(log.String(), words), words)
	}
	for line := range strings.Lines(log.String()) {
		assert.Less(t, len(line), 4000)
	}
}

func TestALongLineOnTheWireArrivesWhole(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	assert.Len(t, text(t, session, "big", map[string]string{"bytes": "2000000"}), 2_000_000)
}
