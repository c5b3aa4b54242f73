package mcp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/mcp"
)

func origins(t *testing.T, session *mcp.Session) []string {
	t.Helper()
	tools, err := session.Tools(t.Context())
	require.NoError(t, err)
	names := make([]string, len(tools))
	for i, tool := range tools {
		spec := tool.Spec()
		names[i] = spec.OriginName()
	}
	return names
}

// The fake server never declares that its list changes.
func TestABurstOfChangesIsOneQuestionAndTheNextTurnHasTheNewList(t *testing.T) {
	t.Parallel()
	lists := filepath.Join(t.TempDir(), "lists")
	session := open(t, fake(t, "count-lists="+lists))
	before := origins(t, session)
	for range 100 {
		require.Equal(t, before, origins(t, session))
	}
	assert.Equal(t, "x", requireFile(t, lists), "nothing is asked while nothing changes")

	text(t, session, "change", nil)
	after := origins(t, session)
	assert.Contains(t, after, "extra")
	assert.NotContains(t, after, "put", "what is gone is gone")
	assert.Len(t, after, len(before)+1)
	assert.Equal(t, "looks twice", find(t, session, "look").Spec().Description)
	assert.Equal(t, "xx", requireFile(t, lists))
}

func TestAChangeIsOfItsServerOnly(t *testing.T) {
	t.Parallel()
	lists := filepath.Join(t.TempDir(), "lists")
	other := open(t, fake(t, "count-lists="+lists))
	before := origins(t, other)
	session := open(t, fake(t))
	text(t, session, "change", nil)
	assert.Contains(t, origins(t, session), "extra")
	assert.Equal(t, before, origins(t, other))
	assert.Equal(t, "x", requireFile(t, lists))
}

func TestAllPagesAreReadAgain(t *testing.T) {
	t.Parallel()
	lists := filepath.Join(t.TempDir(), "lists")
	session := open(t, fake(t, "pages=101", "count-lists="+lists, "change-on-unknown"))
	require.Len(t, origins(t, session), 101)
	text(t, session, "tool-007", nil)
	require.Len(t, origins(t, session), 101)
	assert.Equal(t, "xxxxxx", requireFile(t, lists), "three pages, twice")
}

func TestACallUnderWayIsNotDisturbedByAChange(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	slow := find(t, session, "change-in-a-call")
	until := filepath.Join(t.TempDir(), "until")
	var calls sync.WaitGroup
	calls.Go(func() {
		result, err := call(t.Context(), slow, map[string]string{"until": until})
		if assert.NoError(t, err) {
			assert.Equal(t, "not disturbed", result.Text())
		}
	})
	require.Eventually(t, func() bool {
		tools, err := session.Tools(t.Context())
		return err == nil && tools[len(tools)-1].Spec().Origin == "another"
	}, 20*time.Second, 5*time.Millisecond)
	require.NoError(t, os.WriteFile(until, nil, 0o600))
	calls.Wait()
}

func TestAListThatCannotBeReadAgainCostsNoToolAndIsTold(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	before := origins(t, session)
	text(t, session, "change", map[string]string{"broken": "yes"})
	assert.Equal(t, before, origins(t, session))
	require.Len(t, session.Problems(), 1)
	assert.Contains(t, session.Problems()[0].String(), `mcp server "fake": its list of tools changed and cannot be read; the older one is used`)
	assert.Contains(t, session.Problems()[0].String(), "the registry is locked")
	assert.Equal(t, `{}`, text(t, session, "echo", nil))

	text(t, session, "change", nil) // and now it can
	require.Eventually(t, func() bool {
		tools, err := session.Tools(t.Context())
		return err == nil && tools[len(tools)-1].Spec().Origin == "another"
	}, 20*time.Second, 20*time.Millisecond)
}

func TestAServerThatDiedKeepsItsListAndIsNotStartedForIt(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	counter, lists := filepath.Join(dir, "starts"), filepath.Join(dir, "lists")
	session := open(t, fake(t, "count="+counter, "count-lists="+lists))
	before := origins(t, session)
	_, err := call(t.Context(), find(t, session, "die"), nil)
	require.ErrorIs(t, err, mcp.ErrServerDied)
	assert.Equal(t, before, origins(t, session))
	assert.Equal(t, "x", requireFile(t, counter))

	assert.Equal(t, `{}`, text(t, session, "echo", nil))
	assert.Equal(t, before, origins(t, session))
	assert.Equal(t, "xx", requireFile(t, lists), "another process may be another version")
}

func TestCallersAtTheSameTimeShareOneQuestion(t *testing.T) {
	t.Parallel()
	lists := filepath.Join(t.TempDir(), "lists")
	session := open(t, fake(t, "count-lists="+lists))
	var callers sync.WaitGroup
	for range 20 {
		callers.Go(func() {
			tools, err := session.Tools(t.Context())
			assert.NoError(t, err)
			assert.NotEmpty(t, tools)
		})
	}
	callers.Wait()
	assert.Equal(t, "x", requireFile(t, lists))
}

func TestACallerMayStopWaitingForAList(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the step is over"))
	_, err := session.Tools(ctx)
	require.ErrorContains(t, err, "the step is over")
	assert.NotEmpty(t, origins(t, session))
}
