package mcp_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/workspace"
)

func TestAServerThatNeverInitialisesIsGivenUpWithItsLastWords(t *testing.T) {
	t.Parallel()
	server := fake(t, "mute")
	server.StartTimeout = 500 * time.Millisecond
	began := time.Now()
	_, err := tryOpen(t, server)
	require.ErrorIs(t, err, mcp.ErrStart)
	require.ErrorIs(t, err, mcp.ErrStartTimeout)
	var failed *mcp.StartError
	require.ErrorAs(t, err, &failed)
	assert.Equal(t, server.StartTimeout, failed.Timeout)
	assert.Contains(t, failed.Stderr, "licence server")
	assert.Contains(t, err.Error(), "licence server")
	assert.Less(t, time.Since(began), 20*time.Second)
}

func TestAServerThatExitsAtItsStartSaysHowAndWhy(t *testing.T) {
	t.Parallel()
	_, err := tryOpen(t, fake(t, "exit-early"))
	require.ErrorIs(t, err, mcp.ErrStart)
	require.ErrorIs(t, err, mcp.ErrServerDied)
	require.NotErrorIs(t, err, mcp.ErrStartTimeout)
	assert.Contains(t, err.Error(), "exit status 7")
	assert.Equal(t, 1, strings.Count(err.Error(), "cannot open the database"))
}

func TestACommandThatDoesNotExistIsNamed(t *testing.T) {
	t.Parallel()
	_, err := tryOpen(t, mcp.Server{Name: "files", Command: "no-such-program-here"})
	require.ErrorIs(t, err, mcp.ErrStart)
	require.ErrorContains(t, err, `command "no-such-program-here" was not found in PATH`)

	_, err = tryOpen(t, mcp.Server{Name: "files", Command: "sh", Env: map[string]string{"PATH": "/nowhere"}})
	require.ErrorContains(t, err, `not found in the PATH of the server's env`)
}

func TestAServerThatRefusesToStartIsQuotedWithoutSecrets(t *testing.T) {
	t.Parallel()
	server := fake(t, "refuse")
	server.Env["TOKEN"] = "hunter22"
	server.Secrets = []string{"hunter22"}
	_, err := tryOpen(t, server)
	require.ErrorIs(t, err, mcp.ErrStart)
	require.ErrorContains(t, err, "no licence for key [secret]")
	require.NotContains(t, err.Error(), "hunter22")
}

func TestACanceledStartEndsTheServer(t *testing.T) {
	t.Parallel()
	toolset, err := mcp.New(fake(t, "mute"))
	require.NoError(t, err)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the host shuts down"))
	_, err = toolset.Open(ctx, agent.Scope{})
	require.ErrorContains(t, err, "the host shuts down")
}

func TestTheContextOfOpenBoundsTheStartOnly(t *testing.T) {
	t.Parallel()
	toolset, err := mcp.New(fake(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	session, err := toolset.Open(ctx, agent.Scope{})
	require.NoError(t, err)
	defer func() { require.NoError(t, session.Close()) }()
	cancel()
	assert.Equal(t, `{"a":"b"}`, text(t, session.(*mcp.Session), "echo", map[string]string{"a": "b"}))
}

func TestAServerOfTheStatelessProtocolIsSpokenToInIt(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t, "modern"))
	meta := text(t, session, "meta", nil)
	assert.Contains(t, meta, `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`)
	assert.Contains(t, meta, `"treadle.dev/key":"fetch/visit/1/turn/2/tool/0"`)
}

func TestACallCarriesItsStableKey(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	assert.JSONEq(t, `{"treadle.dev/key":"fetch/visit/1/turn/2/tool/0","progressToken":1002}`, text(t, session, "meta", nil))
}

func TestAServerGetsFewVariablesOfTheHost(t *testing.T) {
	t.Setenv("TREADLE_HOST_SECRET", "not for servers")
	server := fake(t)
	server.Env["OWN"] = "mine"
	session := open(t, server)
	env := text(t, session, "environment", nil)
	assert.NotContains(t, env, "TREADLE_HOST_SECRET")
	assert.Contains(t, env, "OWN=mine")
	assert.Contains(t, env, "PATH=")
}

func TestAServerRunsInTheWorkspaceUnlessItSaysWhere(t *testing.T) {
	t.Parallel()
	root, elsewhere := t.TempDir(), t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, "sub"), 0o700))
	for dir, want := range map[string]string{"": root, "sub": filepath.Join(root, "sub"), elsewhere: elsewhere} {
		server := fake(t)
		server.Dir = dir
		toolset, err := mcp.New(server)
		require.NoError(t, err)
		session, err := toolset.Open(t.Context(), agent.Scope{Workspace: workspace.New(localStorage{root: root})})
		require.NoError(t, err)
		assert.Equal(t, want, text(t, session.(*mcp.Session), "cwd", nil))
		require.NoError(t, session.Close())
	}
}

// localStorage is a storage of which only the place matters.
type localStorage struct {
	workspace.LocalStorage
	root string
}

func (s localStorage) LocalPath(name string) (string, bool) { return filepath.Join(s.root, name), true }

func TestACallOnAServerThatDiesFailsAtOnceAndTheNextStartsItAgain(t *testing.T) {
	t.Parallel()
	counter := filepath.Join(t.TempDir(), "starts")
	server := fake(t, "count="+counter)
	server.Env["TOKEN"] = "hunter22"
	server.Secrets = []string{"hunter22"}
	session := open(t, server)
	began := time.Now()
	_, err := call(t.Context(), find(t, session, "die"), nil)
	require.ErrorIs(t, err, mcp.ErrServerDied)
	var died *mcp.DiedError
	require.ErrorAs(t, err, &died)
	assert.Equal(t, "exit status 3", died.Status)
	assert.Contains(t, died.Stderr, "out of cheese; token is [secret]")
	assert.NotContains(t, err.Error(), "hunter22")
	assert.Less(t, time.Since(began), 20*time.Second)
	assert.Equal(t, "x", requireFile(t, counter), "a call is never made again by itself")

	assert.Equal(t, `{}`, text(t, session, "echo", nil))
	assert.Equal(t, "xx", requireFile(t, counter))
}

func TestParallelCallsShareOneRestart(t *testing.T) {
	t.Parallel()
	counter := filepath.Join(t.TempDir(), "starts")
	session := open(t, fake(t, "count="+counter))
	echo := find(t, session, "echo")
	_, err := call(t.Context(), find(t, session, "die"), nil)
	require.ErrorIs(t, err, mcp.ErrServerDied)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			_, err := call(t.Context(), echo, nil)
			assert.NoError(t, err)
		})
	}
	group.Wait()
	assert.Equal(t, "xx", requireFile(t, counter))
}

func TestAServerThatDoesNotStartAgainFailsTheCallAndNotTheSession(t *testing.T) {
	t.Parallel()
	counter := filepath.Join(t.TempDir(), "starts")
	session := open(t, fake(t, "count="+counter, "fail-after-first"))
	echo := find(t, session, "echo")
	_, err := call(t.Context(), find(t, session, "die"), nil)
	require.ErrorIs(t, err, mcp.ErrServerDied)
	_, err = call(t.Context(), echo, nil)
	require.ErrorIs(t, err, mcp.ErrStart)
	require.ErrorContains(t, err, "exit status 9")
	require.NoError(t, os.Truncate(counter, 0)) // now it starts again
	_, err = call(t.Context(), echo, nil)
	require.NoError(t, err)
}

func TestADeathIsNoticedThoughAGrandchildHoldsTheOutput(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	file := filepath.Join(t.TempDir(), "pid")
	began := time.Now()
	_, err := call(t.Context(), find(t, session, "leave-grandchild"), map[string]string{"pid": file})
	require.ErrorIs(t, err, mcp.ErrServerDied)
	require.ErrorContains(t, err, "exit status 4")
	assert.Less(t, time.Since(began), 20*time.Second)
	requireGone(t, requireFile(t, file))
}

func TestAServerThatClosesItsOutputIsDead(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	_, err := call(t.Context(), find(t, session, "close-output"), nil)
	require.ErrorIs(t, err, mcp.ErrServerDied)
	require.ErrorContains(t, err, "it closed its output")
}

func TestAServerThatClosesItsInputIsDead(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	echo := find(t, session, "echo")
	assert.Equal(t, "closed", text(t, session, "close-input", nil))
	_, err := call(t.Context(), echo, nil)
	require.ErrorIs(t, err, mcp.ErrServerDied)
	require.ErrorContains(t, err, "it closed its input")
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
}

func TestASlowCallTimesOutTellsTheServerAndLeavesTheSession(t *testing.T) {
	t.Parallel()
	counter := filepath.Join(t.TempDir(), "starts")
	server := fake(t, "count="+counter)
	server.CallTimeout = 2 * time.Second
	session := open(t, server)
	mark := filepath.Join(t.TempDir(), "mark")
	_, err := call(t.Context(), find(t, session, "slow"), map[string]string{"mark": mark})
	require.ErrorIs(t, err, mcp.ErrCallTimeout)
	var late *mcp.CallTimeoutError
	require.ErrorAs(t, err, &late)
	assert.Equal(t, "slow", late.Tool)
	assert.False(t, late.Unread)
	canceled := text(t, session, "canceled", nil)
	assert.JSONEq(t, `[{"requestId":`+requireFile(t, mark)+`,"reason":"call timeout"}]`, canceled)
	assert.Equal(t, "x", requireFile(t, counter), "the server was not started again")
}

func TestACanceledCallTellsTheServerAndLeavesTheOthers(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	slow := find(t, session, "slow")
	mark := filepath.Join(t.TempDir(), "mark")
	ctx, cancel := context.WithCancelCause(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		_, err := call(ctx, slow, map[string]string{"mark": mark})
		assert.ErrorContains(t, err, "the user went home")
	})
	requireFile(t, mark)
	cancel(errors.New("the user went home"))
	group.Wait()
	assert.Contains(t, text(t, session, "canceled", nil), `"reason":"the user went home"`)
}

func TestACallToAServerThatDoesNotReadEndsInTimeAndTheServerIsStartedAgain(t *testing.T) {
	t.Parallel()
	counter := filepath.Join(t.TempDir(), "starts")
	server := fake(t, "count="+counter)
	server.CallTimeout = 2 * time.Second
	session := open(t, server)
	echo := find(t, session, "echo")
	assert.Equal(t, "good night", text(t, session, "stall", nil))
	large := map[string]string{"large": strings.Repeat("z", 128<<10)} // more than a pipe holds
	_, err := call(t.Context(), echo, large)
	var late *mcp.CallTimeoutError
	require.ErrorAs(t, err, &late)
	assert.True(t, late.Unread)
	result, err := call(t.Context(), echo, large)
	require.NoError(t, err)
	assert.Greater(t, len(result.Content[0].Text), 128<<10)
	assert.Equal(t, "xx", requireFile(t, counter))
}

func TestALargeResultArrivesWhole(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	assert.Len(t, text(t, session, "big", map[string]string{"bytes": "5000000"}), 5_000_000)
}

func TestAMessageWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	_, err := call(t.Context(), find(t, session, "flood"), nil)
	require.ErrorIs(t, err, mcp.ErrServerDied)
	require.ErrorContains(t, err, "more than 64 MB")
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
}

func TestStrayLinesArePassedOverAndReported(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t, "stray"))
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
	problems := session.Problems()
	require.Len(t, problems, 1)
	assert.Contains(t, problems[0].String(), "not of the protocol")
}

func TestAServerThatFloodsItsStderrIsNotHeldUp(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t, "stderr-flood"))
	_, err := call(t.Context(), find(t, session, "die"), nil)
	var died *mcp.DiedError
	require.ErrorAs(t, err, &died)
	assert.Len(t, died.Stderr, 4<<10)
	assert.Contains(t, died.Stderr, "the last words")
}

func TestRequestsOfTheServerAreAnswered(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	answers := text(t, session, "ask", nil)
	assert.Contains(t, answers, `"code":-32601`)
	assert.Contains(t, answers, `"id":"s2","result":{}`)
}

func TestASecondAnswerIsDropped(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	assert.Equal(t, "one of two", text(t, session, "twice", nil))
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
}

func TestParallelCallsGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	echo := find(t, session, "echo")
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			word := strings.Repeat("w", i*1000)
			result, err := call(t.Context(), echo, map[string]string{"word": word})
			if assert.NoError(t, err) {
				assert.Equal(t, `{"word":"`+word+`"}`, result.Content[0].Text)
			}
		})
	}
	group.Wait()
}
