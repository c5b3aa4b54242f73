package mcp_test

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
)

// isExpected reports whether an error is one that a session may give while its
// server dies, changes and is closed at once.
func isExpected(err error) bool {
	for _, expected := range []error{mcp.ErrServerDied, mcp.ErrSessionClosed, mcp.ErrSessionLost, mcp.ErrHTTP, mcp.ErrCallTimeout, mcp.ErrStart, mcp.ErrListing} {
		if errors.Is(err, expected) {
			return true
		}
	}
	return err == nil
}

// turmoil calls, lists, kills, changes and closes, all at once and in any order,
// and wants every call to end as it may and nothing to be left.
func turmoil(t *testing.T, server mcp.Server, trouble ...string) {
	t.Helper()
	session, err := tryOpen(t, server)
	require.NoError(t, err)
	tools, err := session.Tools(t.Context())
	require.NoError(t, err)
	byName := map[string]agent.Tool{}
	for _, tool := range tools {
		byName[tool.Spec().Origin] = tool
	}
	require.NotNil(t, byName["echo"])
	var group sync.WaitGroup
	run := func(times int, do func() error) {
		group.Go(func() {
			for range times {
				if err := do(); !isExpected(err) {
					assert.NoError(t, err)
				}
			}
		})
	}
	calling := func(name string) func() error {
		tool := byName[name]
		require.NotNil(t, tool, name)
		return func() error {
			_, err := call(t.Context(), tool, map[string]string{"n": name})
			return err
		}
	}
	for range 4 {
		run(5, calling("echo"))
	}
	for _, name := range trouble {
		run(1, calling(name))
	}
	run(5, func() error {
		_, err := session.Tools(t.Context())
		return err
	})
	for range 2 { // Close is called twice, somewhere in the middle of all that
		group.Go(func() {
			time.Sleep(rand.N(150 * time.Millisecond))
			assert.NoError(t, session.Close())
		})
	}
	group.Wait()
	_, err = call(t.Context(), byName["echo"], nil)
	require.ErrorIs(t, err, mcp.ErrSessionClosed)
}

func TestCallsDeathsChangesAndCloseMayMeetInAnyOrder(t *testing.T) {
	t.Parallel()
	server := fake(t, "stray")
	server.CloseTimeout = 2 * time.Second
	for range 2 {
		turmoil(t, server, "die", "change", "log", "ask", "twice", "die")
	}
}

func TestCallsLostSessionsChangesAndCloseMayMeetInAnyOrderOverHTTP(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.listen = nil
	f.tools["forget"] = func(c *httpCall) { // and the session is gone, as after a restart
		f.forget()
		c.answer("forgotten")
	}
	f.tools["change"] = func(c *httpCall) {
		events := c.stream()
		for range 20 {
			events.event("", listChanged)
		}
		events.event("", c.success("changed"))
	}
	f.tools["cut"] = func(*httpCall) { cut() }
	server := f.serve(t)
	for range 8 {
		turmoil(t, server, "forget", "change", "cut", "forget")
	}
	older := newOlderFake()
	older.tools["hang-up"] = func(*httpCall) { older.cutStreams() }
	server = older.serve(t)
	server.CallTimeout = 5 * time.Second
	for range 4 {
		turmoil(t, server, "hang-up")
	}
}

func TestCallsToAServerThatHasClosedItsInputGoToTheNext(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	echo := find(t, session, "echo")
	assert.Equal(t, "closed", text(t, session, "close-input", nil))
	var group sync.WaitGroup
	var failed atomic.Int32
	for i := range 20 { // for longer than it takes to find out whether it ends
		group.Go(func() {
			time.Sleep(time.Duration(i) * 30 * time.Millisecond)
			if _, err := call(t.Context(), echo, nil); err != nil {
				assert.ErrorIs(t, err, mcp.ErrServerDied)
				failed.Add(1)
			}
		})
	}
	group.Wait()
	assert.LessOrEqual(t, failed.Load(), int32(1), "only the call whose writing had begun may be in doubt")
}
