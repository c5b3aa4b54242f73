package mcp_test

import (
	"net/http"
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

// forgetful makes a server answer what is of no session of its as some servers do.
func forgetful(f *httpFake, status int, words string) {
	f.before = func(w http.ResponseWriter, r *http.Request, m *fakeRequest) bool {
		f.mu.Lock()
		known := f.sessions[r.Header.Get("Mcp-Session-Id")]
		f.mu.Unlock()
		if known || m.Method == "initialize" {
			return false
		}
		writeFailure(w, status, m.ID, words)
		return true
	}
}

func TestACallOnASessionThatIsGoneIsReportedAndTheNextHasANewOne(t *testing.T) {
	t.Parallel()
	for status, words := range map[int]string{
		http.StatusNotFound: "Session not found", http.StatusGone: "expired",
		http.StatusBadRequest: "Bad Request: No valid session ID provided",
	} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			t.Parallel()
			f := newHTTPFake()
			forgetful(f, status, words)
			session := open(t, f.serve(t))
			echo := find(t, session, "echo")
			f.forget()
			f.add("second")
			_, err := call(t.Context(), echo, nil)
			require.ErrorIs(t, err, mcp.ErrSessionLost)
			require.ErrorContains(t, err, http.StatusText(status))
			assert.Equal(t, 1, f.count("echo"), "it was not sent again")

			assert.Equal(t, `{}`, text(t, session, "echo", nil))
			assert.Equal(t, 2, f.count("initialize"))
			assert.Empty(t, f.got("initialize")[1].header.Get("Mcp-Session-Id"))
			assert.Equal(t, "session-2", f.got("echo")[1].header.Get("Mcp-Session-Id"))
			find(t, session, "second") // the list is the new session's
			assert.Empty(t, f.got(http.MethodDelete), "what is gone is not ended")
			require.NoError(t, session.Close())
			assert.Len(t, f.got(http.MethodDelete), 1)
		})
	}
}

func TestACallThatIsHarmlessTwiceIsMadeOnTheNewSession(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["look"], f.tools["put"] = f.tools["echo"], f.tools["echo"]
	f.hints["look"], f.hints["put"] = "readOnlyHint", "idempotentHint"
	session := open(t, f.serve(t))
	for i, name := range []string{"look", "put"} {
		tool := find(t, session, name)
		f.forget()
		_, err := call(t.Context(), tool, nil)
		require.NoError(t, err)
		assert.Equal(t, 2, f.count(name))
		assert.Equal(t, 2+i, f.count("initialize"))
	}
	// A server that forgets every session at once is not asked for ever.
	forgetting := f.tools["look"]
	f.tools["look"] = func(c *httpCall) { writeFailure(c.w, http.StatusNotFound, c.id, "Session not found") }
	_, err := call(t.Context(), find(t, session, "look"), nil)
	require.ErrorIs(t, err, mcp.ErrSessionLost)
	assert.Equal(t, 4, f.count("look"))
	f.tools["look"] = forgetting
}

func TestParallelCallsShareOneNewSession(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	session := open(t, f.serve(t))
	echo := find(t, session, "echo")
	f.forget()
	_, err := call(t.Context(), echo, nil)
	require.ErrorIs(t, err, mcp.ErrSessionLost)
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			_, err := call(t.Context(), echo, nil)
			assert.NoError(t, err)
		})
	}
	group.Wait()
	assert.Equal(t, 2, f.count("initialize"))
}

func TestCallsUnderWayFailAtOnceWhenTheirSessionIsGone(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	begun := make(chan struct{})
	f.tools["slow"] = func(c *httpCall) {
		close(begun)
		<-c.r.Context().Done()
	}
	session := open(t, f.serve(t))
	slow, echo := find(t, session, "slow"), find(t, session, "echo")
	var group sync.WaitGroup
	group.Go(func() {
		_, err := call(t.Context(), slow, nil)
		assert.ErrorIs(t, err, mcp.ErrSessionLost)
	})
	<-begun
	f.forget()
	_, err := call(t.Context(), echo, nil)
	require.ErrorIs(t, err, mcp.ErrSessionLost)
	group.Wait()
	assert.Equal(t, 1, f.count("slow"))
}

func TestTheListeningStreamNoticesThatTheSessionIsGone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		opened, end := make(chan struct{}, 10), make(chan struct{})
		f.listen = func(w http.ResponseWriter, r *http.Request) {
			newEventWriter(w)
			opened <- struct{}{}
			select {
			case <-end:
			case <-r.Context().Done():
			}
		}
		session := open(t, f.inMemory())
		<-opened
		f.forget()
		end <- struct{}{}
		time.Sleep(time.Minute)
		assert.Equal(t, `{}`, text(t, session, "echo", nil), "no call had to fail for it")
		assert.Equal(t, 2, f.count("initialize"))
		require.NoError(t, session.Close())
		synctest.Wait()
	})
}

func TestAServerThatCannotMakeANewSessionIsTriedLessAndLess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		var broken atomic.Bool
		f.before = func(w http.ResponseWriter, _ *http.Request, m *fakeRequest) bool {
			if m.Method == "initialize" && broken.Load() {
				http.Error(w, "starting", http.StatusServiceUnavailable)
				return true
			}
			return false
		}
		session := open(t, f.inMemory())
		echo := find(t, session, "echo")
		f.forget()
		broken.Store(true)
		_, err := call(t.Context(), echo, nil)
		require.ErrorIs(t, err, mcp.ErrSessionLost)
		var waits []time.Duration
		for range 5 {
			began := time.Now()
			_, err = call(t.Context(), echo, nil)
			require.ErrorIs(t, err, mcp.ErrStart)
			require.ErrorContains(t, err, "503 Service Unavailable: starting")
			waits = append(waits, time.Since(began))
		}
		assert.Equal(t, []time.Duration{0, 500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second}, waits)
		broken.Store(false)
		assert.Equal(t, `{}`, text(t, session, "echo", nil))
		require.NoError(t, session.Close())
		synctest.Wait()
	})
}

func TestTheOlderTransportIsFoundAndWorks(t *testing.T) {
	t.Parallel()
	for _, refusal := range []int{http.StatusMethodNotAllowed, http.StatusNotFound, http.StatusBadRequest} {
		f := newOlderFake()
		f.refusal = refusal
		server := f.serve(t)
		server.Headers = map[string]string{"X-Api-Key": "hunter22"}
		session := open(t, server)
		assert.Equal(t, `{"a":"b"}`, text(t, session, "echo", map[string]string{"a": "b"}))
		large := strings.Repeat("x", 300_000)
		assert.Len(t, text(t, session, "echo", map[string]string{"l": large}), len(large)+len(`{"l":""}`))
		assert.Equal(t, "hunter22", f.got("echo")[0].header.Get("X-Api-Key"))
		require.NoError(t, session.Close())
	}
}

func TestAServerOfNeitherTransportSaysSo(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.before = func(w http.ResponseWriter, _ *http.Request, _ *fakeRequest) bool {
		http.Error(w, "nothing here", http.StatusNotFound)
		return true
	}
	server := f.serve(t)
	server.Kind = mcp.KindAuto
	_, err := tryOpen(t, server)
	require.ErrorIs(t, err, mcp.ErrStart)
	require.ErrorContains(t, err, "404 Not Found")
	require.ErrorContains(t, err, "no server of the older transport")
	assert.Len(t, f.got(http.MethodGet), 1)

	server.Kind = mcp.KindHTTP
	_, err = tryOpen(t, server)
	require.ErrorContains(t, err, "404 Not Found")
	assert.Len(t, f.got(http.MethodGet), 1, "who knows the transport tries no other")
}

func TestAServerInTroubleIsNotTakenForAnOlderOne(t *testing.T) {
	t.Parallel()
	f := newOlderFake()
	f.refusal = http.StatusServiceUnavailable
	_, err := tryOpen(t, f.serve(t))
	require.ErrorContains(t, err, "503 Service Unavailable")
	assert.Empty(t, f.streams)
}

func TestTheEndOfTheOlderTransportsStreamIsTheEndOfTheSession(t *testing.T) {
	t.Parallel()
	f := newOlderFake()
	begun := make(chan struct{})
	f.tools["slow"] = func(*httpCall) { close(begun) } // and no answer
	server := f.serve(t)
	server.Kind = mcp.KindSSE
	session := open(t, server)
	echo, slow := find(t, session, "echo"), find(t, session, "slow")
	var group sync.WaitGroup
	group.Go(func() {
		_, err := call(t.Context(), slow, nil)
		assert.ErrorIs(t, err, mcp.ErrSessionLost)
		assert.ErrorContains(t, err, "its event stream ended")
	})
	<-begun
	f.cutStreams()
	group.Wait()
	_, err := call(t.Context(), echo, nil)
	require.NoError(t, err)
	assert.Equal(t, 2, f.count("initialize"))
	assert.Equal(t, 1, f.count("slow"))
	require.NoError(t, session.Close())
}

func TestTheOlderTransportSendsNothingToAnotherServer(t *testing.T) {
	t.Parallel()
	other := newHTTPFake()
	f := newOlderFake()
	f.endpoint = other.serve(t).URL
	server := f.serve(t)
	server.Kind = mcp.KindSSE
	_, err := tryOpen(t, server)
	require.ErrorContains(t, err, "on another server")
	assert.Empty(t, other.seen)
}

func TestAStreamThatNeverSaysWhereMessagesGoIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		f.before = func(w http.ResponseWriter, r *http.Request, _ *fakeRequest) bool {
			newEventWriter(w)
			<-r.Context().Done()
			return true
		}
		server := f.inMemory()
		server.Kind = mcp.KindSSE
		began := time.Now()
		_, err := tryOpen(t, server)
		require.ErrorIs(t, err, mcp.ErrStartTimeout)
		assert.Equal(t, mcp.DefaultStartTimeout, time.Since(began))
		synctest.Wait()
	})
}
