package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
)

// dyingWire is a server that dies of its first request, which it has seen or not.
type dyingWire struct {
	wire // what is not needed here

	seen  bool
	calls atomic.Int32
	gone  chan struct{}
}

func (w *dyingWire) SendRequest(context.Context, transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if w.calls.Add(1) == 1 {
		close(w.gone)
	}
	if w.seen {
		return nil, transport.ErrTransportClosed
	}
	return nil, &unsentError{transport.ErrTransportClosed}
}

func (w *dyingWire) Lost() <-chan struct{} { return w.gone }

func (w *dyingWire) Cause(context.Context) error {
	return &DiedError{Server: "fake", Status: "signal: killed"}
}

func (w *dyingWire) Close() error { return nil }

// dyingSession is a session whose first server dies of its first call. The next is
// a real process, which counts its starts in a file.
func dyingSession(t *testing.T, seen bool) (*Session, *dyingWire, string) {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	counter := filepath.Join(t.TempDir(), "starts")
	server := Server{Name: "fake", Command: exe, Env: map[string]string{"TREADLE_FAKE_MCP": "count=" + counter, "GORACE": "atexit_sleep_ms=0"}}
	session := newSession(server.withDefaults(), "")
	t.Cleanup(func() { require.NoError(t, session.Close()) })
	dying := &dyingWire{seen: seen, gone: make(chan struct{})}
	session.conn = &connection{server: &session.server, wire: dying}
	return session, dying, counter
}

func TestACallThatTheServerCannotHaveSeenIsMadeOnTheNext(t *testing.T) {
	t.Parallel()
	session, dying, counter := dyingSession(t, false)
	echo := &tool{session: session, spec: agent.ToolSpec{Name: "fake__echo", Origin: "echo"}}
	result, err := echo.Call(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{"a":"b"}`)})
	require.NoError(t, err)
	assert.Equal(t, `{"a":"b"}`, result.Text())
	assert.EqualValues(t, 1, dying.calls.Load())
	assert.FileExists(t, counter)
}

// Hints are a server's word. A call that takes effect twice is worse than one that
// fails: the caller can look and call again.
func TestACallThatWasSentIsNeverSentAgain(t *testing.T) {
	t.Parallel()
	for _, effect := range []agent.Effect{agent.Unsafe, agent.Idempotent, agent.ReadOnly} {
		session, dying, counter := dyingSession(t, true)
		echo := &tool{session: session, spec: agent.ToolSpec{Name: "fake__echo", Origin: "echo", Effect: effect}}
		_, err := echo.Call(t.Context(), &agent.ToolCall{})
		require.ErrorIs(t, err, ErrServerDied, effect)
		assert.EqualValues(t, 1, dying.calls.Load())
		assert.NoFileExists(t, counter)
	}
}
