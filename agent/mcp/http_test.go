package mcp_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/mcp"
)

func TestEveryRequestCarriesTheHeadersTheSessionAndTheVersion(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	server := f.serve(t)
	server.Headers = map[string]string{"Authorization": "Bearer hunter22", "x-team": "red"}
	session := open(t, server)
	assert.Equal(t, `{"a":"b"}`, text(t, session, "echo", map[string]string{"a": "b"}))
	require.NoError(t, session.Close())

	f.mu.Lock()
	defer f.mu.Unlock()
	for i, s := range f.seen {
		assert.Equal(t, "Bearer hunter22", s.header.Get("Authorization"))
		assert.Equal(t, "red", s.header.Get("X-Team"))
		if s.verb == http.MethodPost {
			assert.Equal(t, "application/json, text/event-stream", s.header.Get("Accept"))
			assert.Equal(t, "application/json", s.header.Get("Content-Type"))
		}
		if i == 0 {
			assert.Equal(t, "initialize", s.method)
			assert.Empty(t, s.header.Get("Mcp-Session-Id"))
			continue
		}
		assert.Equal(t, "session-1", s.header.Get("Mcp-Session-Id"))
		assert.Equal(t, "2025-06-18", s.header.Get("Mcp-Protocol-Version"))
	}
	assert.Equal(t, http.MethodDelete, f.seen[len(f.seen)-1].verb, "the server was told of the end")
}

func TestAnAnswerMayComeInAnyFormOfTheProtocol(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["stream"] = func(c *httpCall) {
		events := c.stream()
		events.raw(": hello", "event: ping", "data: what", "")
		events.event("", listChanged)
		events.event("7", c.success("streamed"))
	}
	f.tools["batch"] = func(c *httpCall) { writeJSON(c.w, 200, "["+listChanged+","+c.success("batched")+"]") }
	f.tools["untyped"] = func(c *httpCall) {
		c.w.Header()["Content-Type"] = nil
		_, _ = io.WriteString(c.w, c.success("untyped"))
	}
	f.tools["refused"] = func(c *httpCall) { writeFailure(c.w, http.StatusTooManyRequests, c.id, "slow down") }
	f.tools["nameless"] = func(c *httpCall) { writeFailure(c.w, http.StatusOK, nil, "cannot parse") }
	f.tools["hidden"] = func(c *httpCall) { writeFailure(c.w, http.StatusOK, c.id, "401 Unauthorized") }
	session := open(t, f.serve(t))
	assert.Equal(t, "streamed", text(t, session, "stream", nil))
	assert.Equal(t, "batched", text(t, session, "batch", nil))
	assert.Equal(t, "untyped", text(t, session, "untyped", nil))
	for _, name := range []string{"refused", "nameless", "hidden"} {
		_, err := call(t.Context(), find(t, session, name), nil)
		var refused *mcp.ServerError
		require.ErrorAs(t, err, &refused, name)
		assert.Equal(t, -32000, refused.Code)
		require.NotErrorIs(t, err, mcp.ErrLoginNeeded)
	}
}

func TestALargeAnswerArrivesWholeOverHTTP(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	large := strings.Repeat("x", 2_000_000)
	f.tools["json"] = func(c *httpCall) { c.answer(large) }
	f.tools["stream"] = func(c *httpCall) { c.stream().event("1", c.success(large)) }
	session := open(t, f.serve(t))
	assert.Len(t, text(t, session, "json", nil), len(large))
	assert.Len(t, text(t, session, "stream", nil), len(large))
	echoed := text(t, session, "echo", map[string]string{"large": large[:500_000]})
	assert.Len(t, echoed, 500_000+len(`{"large":""}`))
}

//nolint:paralleltest // it keeps the machine too busy for tests that have a timeout
func TestAnAnswerWithoutEndIsCutOffAndCostsOnlyItsCall(t *testing.T) {
	f := newHTTPFake()
	chunk := []byte(strings.Repeat("y", 1<<20))
	flood := func(w io.Writer) {
		for {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	}
	f.tools["json"] = func(c *httpCall) {
		c.w.Header().Set("Content-Type", "application/json")
		flood(c.w)
	}
	f.tools["stream"] = func(c *httpCall) {
		c.stream().raw("data: ")
		flood(c.w)
	}
	session := open(t, f.serve(t))
	for _, name := range []string{"json", "stream"} {
		_, err := call(t.Context(), find(t, session, name), nil)
		require.ErrorIs(t, err, mcp.ErrHTTP)
		require.ErrorContains(t, err, "longer than 64 MB")
		assert.Less(t, len(err.Error()), 200)
	}
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
	assert.Equal(t, 1, f.count("initialize"))
}

func TestWhatIsNoAnswerIsSaid(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["page"] = func(c *httpCall) {
		c.w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(c.w, "<html>please log in</html>")
	}
	f.tools["trouble"] = func(c *httpCall) { http.Error(c.w, "the database\nis away", http.StatusBadGateway) }
	f.tools["forbidden"] = func(c *httpCall) { http.Error(c.w, "no", http.StatusForbidden) }
	f.tools["framework"] = func(c *httpCall) { writeJSON(c.w, http.StatusInternalServerError, `{"error":"oops"}`) }
	f.tools["accepted"] = func(c *httpCall) { c.w.WriteHeader(http.StatusAccepted) }
	f.tools["other"] = func(c *httpCall) { writeJSON(c.w, 200, success([]byte("9999"), textResult("not yours"))) }
	f.tools["empty-stream"] = func(c *httpCall) { c.stream() }
	f.tools["cut"] = func(c *httpCall) {
		c.w.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(c.w, `{"jsonrpc":`)
		c.w.(http.Flusher).Flush()
		cut()
	}
	f.tools["cut-at-once"] = func(*httpCall) { cut() }
	session := open(t, f.serve(t))
	for name, want := range map[string]string{
		"page":         "its answer is not usable: it is text/html, which is neither JSON nor an event stream; check the url",
		"trouble":      "it answered 502 Bad Gateway: the database is away",
		"forbidden":    "403 Forbidden: no",
		"framework":    `it answered 500 Internal Server Error: {"error":"oops"}`,
		"accepted":     "it took the request and sent no answer",
		"other":        "it is not the answer to this request",
		"empty-stream": "the stream ended before the answer: the connection was closed",
		"cut":          "unexpected EOF",
		"cut-at-once":  "no answer came: EOF",
	} {
		_, err := call(t.Context(), find(t, session, name), nil)
		require.ErrorIs(t, err, mcp.ErrHTTP, name)
		require.NotErrorIs(t, err, mcp.ErrUnreachable, name)
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, `mcp server "remote": tools/call: `)
		assert.Equal(t, 1, f.count(name), "a call is sent once")
	}
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
	assert.Equal(t, 1, f.count("initialize"), "the session lived on")
}

func TestAServerThatIsNotThereIsUnreachable(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	_, err = tryOpen(t, mcp.Server{Name: "remote", URL: "http://user:pass@" + listener.Addr().String() + "/mcp?key=sesame-open"})
	require.ErrorIs(t, err, mcp.ErrStart)
	require.ErrorIs(t, err, mcp.ErrUnreachable)
	require.ErrorContains(t, err, "(http://"+listener.Addr().String()+"/mcp) did not start")
	assert.NotContains(t, err.Error(), "pass")
	assert.NotContains(t, err.Error(), "sesame")
	var failed *mcp.StartError
	require.ErrorAs(t, err, &failed)
	assert.Empty(t, failed.Command)
}

func TestACertificateIsCheckedAndAHostMayBringItsOwn(t *testing.T) {
	t.Parallel()
	secure := httptest.NewUnstartedServer(newHTTPFake())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // of the handshake that is to fail
	secure.EnableHTTP2 = true
	secure.StartTLS()
	defer secure.Close()
	_, err := tryOpen(t, mcp.Server{Name: "remote", URL: secure.URL})
	require.ErrorIs(t, err, mcp.ErrUnreachable)
	require.ErrorContains(t, err, "x509")

	session := open(t, mcp.Server{Name: "remote", URL: secure.URL, Transport: secure.Client().Transport})
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
	require.NoError(t, session.Close())
}

func TestARedirectIsFollowedOnlyOnTheSameServer(t *testing.T) {
	t.Parallel()
	other := newHTTPFake()
	elsewhere := other.serve(t)
	f := newHTTPFake()
	var target string
	status := http.StatusTemporaryRedirect
	f.before = func(w http.ResponseWriter, r *http.Request, _ *fakeRequest) bool {
		if r.URL.Path == "/mcp" {
			w.Header().Set("Location", target)
			w.WriteHeader(status)
		}
		return r.URL.Path == "/mcp"
	}
	server := f.serve(t)
	server.Headers = map[string]string{"X-Api-Key": "hunter22"}

	target = "/moved"
	session := open(t, server)
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
	require.NoError(t, session.Close())

	status = http.StatusFound // which would make a GET of the POST
	_, err := tryOpen(t, server)
	require.ErrorContains(t, err, "302 Found: it redirects to ")

	status, target = http.StatusPermanentRedirect, elsewhere.URL+"?key=secret-of-the-link"
	_, err = tryOpen(t, server)
	require.ErrorContains(t, err, "it redirects to "+elsewhere.URL+", which is not followed")
	assert.NotContains(t, err.Error(), "secret-of-the-link")
	assert.Empty(t, other.seen, "the other server got nothing")
}

func TestRequestsOfAServerBehindAURLAreAnswered(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["ask"] = func(c *httpCall) {
		events := c.stream()
		events.event("", `{"jsonrpc":"2.0","id":"s1","method":"sampling/createMessage","params":{}}`)
		events.event("", `{"jsonrpc":"2.0","id":"s2","method":"ping"}`)
		events.event("", c.success("asked"))
	}
	session := open(t, f.serve(t))
	assert.Equal(t, "asked", text(t, session, "ask", nil))
	require.Eventually(t, func() bool {
		var all string
		for _, s := range f.got(http.MethodPost) {
			all += s.body
		}
		return strings.Contains(all, `"id":"s1","error":{"code":-32601`) && strings.Contains(all, `"id":"s2","result":{}`)
	}, 10*time.Second, 5*time.Millisecond)
}

func TestASlowCallOverHTTPTimesOutAloneAndTellsTheServer(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"no headers", "headers and nothing", "a trickle"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newHTTPFake()
				begun := make(chan struct{})
				f.tools["slow"] = func(c *httpCall) {
					close(begun)
					if kind != "no headers" {
						events := c.stream()
						for kind == "a trickle" && c.r.Context().Err() == nil {
							events.raw(":")
							select {
							case <-time.After(time.Second):
							case <-c.r.Context().Done():
							}
						}
					}
					<-c.r.Context().Done()
				}
				session := open(t, f.inMemory())
				slow, echo := find(t, session, "slow"), find(t, session, "echo")
				began := time.Now()
				var group sync.WaitGroup
				group.Go(func() {
					_, err := call(t.Context(), slow, nil)
					assert.ErrorIs(t, err, mcp.ErrCallTimeout)
					var late *mcp.CallTimeoutError
					if assert.ErrorAs(t, err, &late) {
						assert.False(t, late.Unread)
					}
				})
				<-begun
				for range 5 {
					_, err := call(t.Context(), echo, nil)
					require.NoError(t, err)
				}
				group.Wait()
				assert.Equal(t, mcp.DefaultCallTimeout, time.Since(began))
				synctest.Wait()
				assert.Equal(t, 1, f.count("notifications/cancelled"))
				assert.Contains(t, f.got("notifications/cancelled")[0].body, `"reason":"call timeout"`)
				assert.Contains(t, f.got("slow")[0].body, `"id":`+idOfCancelled(t, f))
				assert.Equal(t, `{}`, text(t, session, "echo", nil))
				assert.Equal(t, 1, f.count("initialize"))
				require.NoError(t, session.Close())
				synctest.Wait()
			})
		})
	}
}

func idOfCancelled(t *testing.T, f *httpFake) string {
	t.Helper()
	_, after, found := strings.Cut(f.got("notifications/cancelled")[0].body, `"requestId":`)
	require.True(t, found)
	return after[:strings.IndexAny(after, ",}")]
}

func TestACanceledCallOverHTTPSaysWhyAndALateAnswerIsDropped(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	begun := make(chan struct{})
	f.tools["slow"] = func(c *httpCall) {
		events := c.stream()
		close(begun)
		<-c.r.Context().Done()
		events.event("1", c.success("too late"))
	}
	session := open(t, f.serve(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-begun
		cancel(errors.New("the user went home"))
	}()
	_, err := call(ctx, find(t, session, "slow"), nil)
	require.ErrorContains(t, err, "the user went home")
	require.Eventually(t, func() bool { return f.count("notifications/cancelled") == 1 }, 10*time.Second, time.Millisecond)
	assert.Contains(t, f.got("notifications/cancelled")[0].body, `"reason":"the user went home"`)
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
}

func TestAServerBehindAURLThatNeverInitialisesIsGivenUpAndNotCanceled(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.before = func(_ http.ResponseWriter, r *http.Request, m *fakeRequest) bool {
		if m.Method == "initialize" {
			<-r.Context().Done()
		}
		return true
	}
	server := f.serve(t)
	server.StartTimeout = 300 * time.Millisecond
	_, err := tryOpen(t, server)
	require.ErrorIs(t, err, mcp.ErrStartTimeout)
	require.ErrorContains(t, err, "check the url")
	assert.Zero(t, f.count("notifications/cancelled"))
}

func TestParallelCallsOverHTTPGetTheirOwnAnswers(t *testing.T) {
	t.Parallel()
	session := open(t, newHTTPFake().serve(t))
	echo := find(t, session, "echo")
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			word := strings.Repeat("w", i*100)
			result, err := call(t.Context(), echo, map[string]string{"word": word})
			if assert.NoError(t, err) {
				assert.Equal(t, `{"word":"`+word+`"}`, result.Content[0].Text)
			}
		})
	}
	group.Wait()
}

func TestCloseGivesUpCallsOverHTTPAndIsBounded(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	begun := make(chan struct{})
	f.tools["slow"] = func(c *httpCall) {
		close(begun)
		<-c.r.Context().Done()
	}
	f.before = func(_ http.ResponseWriter, r *http.Request, _ *fakeRequest) bool {
		if r.Method == http.MethodDelete {
			<-r.Context().Done() // it never answers the farewell
		}
		return r.Method == http.MethodDelete
	}
	server := f.serve(t)
	server.CloseTimeout = time.Second
	session := open(t, server)
	slow := find(t, session, "slow")
	var group sync.WaitGroup
	group.Go(func() {
		_, err := call(t.Context(), slow, nil)
		assert.ErrorIs(t, err, mcp.ErrSessionClosed)
	})
	<-begun
	began := time.Now()
	require.NoError(t, session.Close())
	group.Wait()
	assert.Less(t, time.Since(began), 5*time.Second)
	_, err := call(t.Context(), slow, nil)
	require.ErrorIs(t, err, mcp.ErrSessionClosed)
}

// stubborn is a round tripper that heeds no context once it is told to be deaf.
type stubborn struct {
	memory
	release chan struct{}
}

func (s stubborn) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet {
		<-s.release
		return nil, errors.New("released")
	}
	return s.memory.RoundTrip(r)
}

func TestCloseSaysThatARoundTripperDoesNotEnd(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	server := newHTTPFake().inMemory()
	server.Transport = stubborn{memory{newHTTPFake()}, release}
	server.CloseTimeout = 100 * time.Millisecond
	session := open(t, server)
	require.ErrorIs(t, session.Close(), mcp.ErrStillRunning)
}

//nolint:paralleltest // it counts the descriptors of the whole process
func TestNoDescriptorIsLeftOverHTTP(t *testing.T) {
	count := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Skip("there is no /proc/self/fd to count descriptors in")
		}
		return len(entries)
	}
	f := newHTTPFake()
	f.listen = func(w http.ResponseWriter, r *http.Request) {
		newEventWriter(w)
		<-r.Context().Done()
	}
	f.tools["slow"] = func(c *httpCall) { <-c.r.Context().Done() }
	server := f.serve(t)
	server.CallTimeout = 50 * time.Millisecond
	rounds := func(n int) {
		for range n {
			session := open(t, server)
			echo, slow := find(t, session, "echo"), find(t, session, "slow")
			var group sync.WaitGroup
			for range 5 {
				group.Go(func() { _, _ = call(t.Context(), echo, nil) })
				group.Go(func() { _, _ = call(t.Context(), slow, nil) })
			}
			group.Wait()
			require.NoError(t, session.Close())
		}
	}
	rounds(1)
	before := count()
	rounds(5)
	// The server's ends of the connections close a moment later.
	require.Eventually(t, func() bool { return count() <= before }, 10*time.Second, 5*time.Millisecond)
}

func TestAStatelessServerBehindAURLIsSpokenToInItsProtocol(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.noSession = true
	f.before = func(w http.ResponseWriter, _ *http.Request, m *fakeRequest) bool {
		switch m.Method {
		case "initialize":
			writeJSON(w, http.StatusBadRequest, failure(m.ID, -32601, "initialize was removed"))
		case "server/discover":
			writeJSON(w, http.StatusOK, success(m.ID, map[string]any{
				"supportedVersions": []string{"2026-07-28"}, "resultType": "complete",
				"capabilities": map[string]any{"tools": map[string]any{}},
			}))
		default:
			return false
		}
		return true
	}
	server := f.serve(t)
	server.Kind = mcp.KindAuto
	session := open(t, server)
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
	called := f.got("echo")[0]
	assert.Equal(t, "2026-07-28", called.header.Get("Mcp-Protocol-Version"))
	assert.Equal(t, "tools/call", called.header.Get("Mcp-Method"))
	assert.Equal(t, "echo", called.header.Get("Mcp-Name"))
	require.NoError(t, session.Close())
	assert.Empty(t, f.got(http.MethodDelete))
}

func TestOneConnectionServesCallAfterCall(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["stream"] = func(c *httpCall) { c.stream().event("1", c.success("x")) }
	var made atomic.Int32
	server := httptest.NewUnstartedServer(f)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			made.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	session := open(t, mcp.Server{Name: "remote", URL: server.URL})
	for range 20 {
		require.Equal(t, "x", text(t, session, "stream", nil))
		require.Equal(t, `{}`, text(t, session, "echo", nil))
	}
	require.NoError(t, session.Close())
	assert.Less(t, made.Load(), int32(15), "a stream's end may come a moment too late for the very next call")
}
