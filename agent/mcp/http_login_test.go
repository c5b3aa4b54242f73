package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/mcp"
)

// guarded makes a server refuse requests without the right token.
func guarded(f *httpFake, isRight func(token string) bool, challenge string) {
	f.before = func(w http.ResponseWriter, r *http.Request, _ *fakeRequest) bool {
		if isRight(r.Header.Get("Authorization")) {
			return false
		}
		w.Header().Set("WWW-Authenticate", challenge)
		http.Error(w, "bad token "+r.Header.Get("Authorization"), http.StatusUnauthorized)
		return true
	}
}

const fullChallenge = `Bearer resource_metadata="https://auth.example/.well-known/oauth-protected-resource", scope="files:read", error="invalid_token", error_description="The token expired"`

func TestAServerThatNeedsALoginSaysWhatToDo(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	guarded(f, func(string) bool { return false }, fullChallenge)
	for _, kind := range []mcp.Kind{mcp.KindAuto, mcp.KindHTTP, mcp.KindSSE} {
		server := f.serve(t)
		server.Kind = kind
		server.Headers = map[string]string{"Authorization": "Bearer hunter22"}
		_, err := tryOpen(t, server)
		require.ErrorIs(t, err, mcp.ErrStart)
		require.ErrorIs(t, err, mcp.ErrLoginNeeded)
		require.NotErrorIs(t, err, mcp.ErrInsufficientScope)
		var login *mcp.LoginNeededError
		require.ErrorAs(t, err, &login)
		assert.Equal(t, "remote", login.Server)
		assert.Equal(t, http.StatusUnauthorized, login.Status)
		assert.Equal(t, "https://auth.example/.well-known/oauth-protected-resource", login.ResourceMetadata)
		assert.Equal(t, "files:read", login.Scope)
		assert.Equal(t, "invalid_token", login.Code)
		assert.Equal(t, "The token expired", login.Description)
		require.ErrorContains(t, err, `log in to it again with the scope "files:read"`)
		require.ErrorContains(t, err, "Server.Token")
		assert.NotContains(t, err.Error(), "hunter22")
	}
	assert.Equal(t, 2, f.count("initialize"), "a login is no reason to try the other transport")
}

// tokens is a source of tokens: token-1, token-2 and so on.
type tokens struct {
	n         atomic.Int32
	refreshed atomic.Int32
	err       error
	block     chan struct{} // holds a refresh up
}

func (s *tokens) token(ctx context.Context, refresh bool) (string, error) {
	if refresh {
		s.refreshed.Add(1)
		if s.block != nil {
			select {
			case <-s.block:
			case <-ctx.Done():
				return "", ctx.Err()
			}
		}
		if s.err != nil {
			return "", s.err
		}
		s.n.Add(1)
	}
	return "token-" + strconv.Itoa(int(s.n.Load())), nil
}

func TestARefusedTokenIsRenewedOnceForAllAndEachCallSentOnceMore(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	var revoked atomic.Bool
	guarded(f, func(token string) bool { return token != "Bearer token-0" || !revoked.Load() }, fullChallenge)
	source := &tokens{block: make(chan struct{})}
	server := f.serve(t)
	server.Token = source.token
	server.Headers = map[string]string{"Authorization": "Bearer the-old-way"}
	session := open(t, server)
	echo := find(t, session, "echo")
	revoked.Store(true)
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			_, err := call(t.Context(), echo, nil)
			assert.NoError(t, err)
		})
	}
	require.Eventually(t, func() bool { return f.count("echo") == 20 }, waitTime, tickTime)
	close(source.block)
	group.Wait()
	assert.EqualValues(t, 1, source.refreshed.Load())
	assert.Equal(t, 40, f.count("echo"))
	assert.Equal(t, 1, f.count("initialize"))
}

func TestASecondRefusalIsALoginNeeded(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	var closed atomic.Bool
	guarded(f, func(string) bool { return !closed.Load() }, fullChallenge)
	source := &tokens{}
	server := f.serve(t)
	server.Token = source.token
	session := open(t, server)
	echo := find(t, session, "echo")
	closed.Store(true)
	_, err := call(t.Context(), echo, nil)
	require.ErrorIs(t, err, mcp.ErrLoginNeeded)
	assert.Equal(t, 2, f.count("echo"))
	assert.EqualValues(t, 1, source.refreshed.Load())
	assert.NotContains(t, err.Error(), "token-")
	assert.NotContains(t, err.Error(), "Server.Token")

	source.err = errors.New("invalid_grant: refresh of token-1 refused")
	_, err = call(t.Context(), echo, nil)
	require.ErrorIs(t, err, mcp.ErrLoginNeeded)
	require.ErrorContains(t, err, "no new token could be had: invalid_grant: refresh of [secret] refused")
	assert.Equal(t, 3, f.count("echo"))

	closed.Store(false)
	assert.Equal(t, `{}`, text(t, session, "echo", nil), "the session lived on")
}

func TestACallerThatGivesUpDoesNotEndTheRefreshOfTheOthers(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	var revoked atomic.Bool
	guarded(f, func(token string) bool { return token != "Bearer token-0" || !revoked.Load() }, fullChallenge)
	source := &tokens{block: make(chan struct{})}
	server := f.serve(t)
	server.Token = source.token
	session := open(t, server)
	echo := find(t, session, "echo")
	revoked.Store(true)
	ctx, cancel := context.WithCancelCause(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		_, err := call(ctx, echo, nil)
		assert.ErrorContains(t, err, "gave up")
	})
	require.Eventually(t, func() bool { return source.refreshed.Load() == 1 }, waitTime, tickTime)
	group.Go(func() {
		_, err := call(t.Context(), echo, nil)
		assert.NoError(t, err)
	})
	require.Eventually(t, func() bool { return f.count("echo") == 2 }, waitTime, tickTime)
	cancel(errors.New("gave up"))
	close(source.block)
	group.Wait()
	assert.EqualValues(t, 1, source.refreshed.Load())
}

func TestCloseEndsARefreshUnderWay(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	var revoked atomic.Bool
	guarded(f, func(string) bool { return !revoked.Load() }, fullChallenge)
	source := &tokens{block: make(chan struct{})} // for ever
	server := f.serve(t)
	server.Token = source.token
	session := open(t, server)
	echo := find(t, session, "echo")
	revoked.Store(true)
	var group sync.WaitGroup
	group.Go(func() {
		_, err := call(t.Context(), echo, nil)
		assert.ErrorIs(t, err, mcp.ErrSessionClosed)
	})
	require.Eventually(t, func() bool { return source.refreshed.Load() == 1 }, waitTime, tickTime)
	require.NoError(t, session.Close())
	group.Wait()
}

func TestALoginThatDoesNotAllowEnoughIsItsOwnError(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["write"] = func(c *httpCall) {
		c.w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="files:write"`)
		c.w.WriteHeader(http.StatusForbidden)
	}
	source := &tokens{}
	server := f.serve(t)
	server.Token = source.token
	session := open(t, server)
	_, err := call(t.Context(), find(t, session, "write"), nil)
	require.ErrorIs(t, err, mcp.ErrLoginNeeded)
	require.ErrorIs(t, err, mcp.ErrInsufficientScope)
	require.ErrorContains(t, err, `with the scope "files:write"`)
	assert.Zero(t, source.refreshed.Load(), "a new token would allow no more")
	assert.Equal(t, 1, f.count("write"))
}

func TestATokenThatCannotBeHadIsSaid(t *testing.T) {
	t.Parallel()
	server := newHTTPFake().serve(t)
	server.Token = func(context.Context, bool) (string, error) { return "", errors.New("the keyring is locked") }
	_, err := tryOpen(t, server)
	require.ErrorIs(t, err, mcp.ErrUnreachable)
	require.ErrorContains(t, err, "there is no token for it: the keyring is locked")
}

func TestNoSecretGetsIntoErrorsLogsOrProblems(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	var closed atomic.Bool
	guarded(f, func(string) bool { return !closed.Load() }, `Bearer error_description="token-0 with hunter22 is bad"`)
	leaky := func(status int) func(c *httpCall) {
		return func(c *httpCall) {
			http.Error(c.w, "you sent "+c.r.Header.Get("Authorization")+" and "+c.r.Header.Get("X-Api-Key"), status)
		}
	}
	f.tools["page"], f.tools["trouble"] = leaky(http.StatusOK), leaky(http.StatusInternalServerError)
	f.tools["refuse"] = func(c *httpCall) { writeFailure(c.w, http.StatusOK, c.id, "token-0 and hunter22") }
	f.tools["stray"] = func(c *httpCall) {
		events := c.stream()
		events.event("", "token-0 and hunter22")
		events.event("", c.success("fine"))
	}
	var log bytes.Buffer
	server := f.serve(t)
	server.Headers = map[string]string{"X-Api-Key": "hunter22"}
	server.Token = (&tokens{}).token
	server.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	session := open(t, server)
	assert.Equal(t, "fine", text(t, session, "stray", nil))
	var said string
	for _, name := range []string{"page", "trouble", "refuse"} {
		_, err := call(t.Context(), find(t, session, name), nil)
		require.Error(t, err)
		said += err.Error() + "\n"
	}
	echo := find(t, session, "echo")
	closed.Store(true)
	_, err := call(t.Context(), echo, nil)
	require.ErrorIs(t, err, mcp.ErrLoginNeeded)
	closed.Store(false)
	f.forget()
	_, err2 := call(t.Context(), echo, nil)
	require.Error(t, err2)
	_, err3 := call(t.Context(), echo, nil)
	require.NoError(t, err3)
	require.NoError(t, session.Close())
	for _, p := range session.Problems() {
		said += p.String()
	}
	said += err.Error() + err2.Error() + log.String()
	assert.Contains(t, said, "[secret]")
	assert.Contains(t, said, "starting the server again")
	assert.NotContains(t, said, "token-0")
	assert.NotContains(t, said, "token-1")
	assert.NotContains(t, said, "hunter22")
	assert.NotContains(t, said, "session-1")
}
