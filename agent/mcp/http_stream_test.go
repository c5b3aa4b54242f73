package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/mcp"
)

// resumes is the part of a server that resumes streams: what comes after an event.
type resumes struct {
	mu    sync.Mutex
	at    []time.Time
	after []string
}

// listen answers a GET that resumes a stream with one of the answers, in their
// order, and refuses to give a stream of notifications.
func (r *resumes) listen(answers ...func(w http.ResponseWriter)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, request *http.Request) {
		last := request.Header.Get("Last-Event-Id")
		if last == "" {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		r.mu.Lock()
		n := len(r.after)
		r.after = append(r.after, last)
		r.at = append(r.at, time.Now())
		r.mu.Unlock()
		answers[min(n, len(answers)-1)](w)
	}
}

func TestAStreamThatIsCutBetweenTwoEventsIsResumedAfterTheLast(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		var r resumes
		var id []byte
		var cutAt time.Time
		f.tools["slow"] = func(c *httpCall) {
			id = c.id
			events := c.stream()
			events.raw("retry: 3000")
			events.event("a-1", listChanged)
			events.raw("id: a-2", "data: "+c.success("half of ev")) // and no empty line
			cutAt = time.Now()
			cut()
		}
		f.listen = r.listen(
			func(w http.ResponseWriter) { http.Error(w, "not yet", http.StatusServiceUnavailable) },
			func(http.ResponseWriter) { cut() },
			func(w http.ResponseWriter) {
				events := newEventWriter(w)
				events.event("a-1", listChanged) // once more
				events.event("a-3", listChanged)
				cut()
			},
			func(w http.ResponseWriter) {
				newEventWriter(w).event("a-4", success(id, textResult("the whole")))
			},
		)
		session := open(t, f.inMemory())
		require.Equal(t, "the whole", text(t, session, "slow", nil))
		assert.Equal(t, 1, f.count("slow"), "the call itself is sent once")
		assert.Equal(t, []string{"a-1", "a-1", "a-1", "a-3"}, r.after)
		var waits []time.Duration
		for _, at := range r.at {
			waits = append(waits, at.Sub(cutAt))
			cutAt = at
		}
		assert.Equal(t, []time.Duration{3 * time.Second, 6 * time.Second, 12 * time.Second, 3 * time.Second}, waits,
			"the server's time, twice as long after each failure")
		require.NoError(t, session.Close())
		synctest.Wait()
	})
}

func TestParallelStreamsAreResumedEachAfterItsOwnLastEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		var mu sync.Mutex
		ids := map[string][]byte{}
		f.tools["slow"] = func(c *httpCall) {
			mu.Lock()
			ids[c.args["name"]] = c.id
			mu.Unlock()
			c.stream().event(c.args["name"], `{"jsonrpc":"2.0","method":"notifications/message"}`)
			cut()
		}
		f.listen = func(w http.ResponseWriter, request *http.Request) {
			name := request.Header.Get("Last-Event-Id")
			if name == "" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			mu.Lock()
			id := ids[name]
			mu.Unlock()
			newEventWriter(w).event(name+"'", success(id, textResult("for "+name)))
		}
		session := open(t, f.inMemory())
		slow := find(t, session, "slow")
		var group sync.WaitGroup
		for _, name := range []string{"one", "two", "three"} {
			group.Go(func() {
				result, err := call(t.Context(), slow, map[string]string{"name": name})
				if assert.NoError(t, err) {
					assert.Equal(t, "for "+name, result.Content[0].Text)
				}
			})
		}
		group.Wait()
		require.NoError(t, session.Close())
		synctest.Wait()
	})
}

func TestAStreamThatCannotBeResumedFailsItsCallAndNoOther(t *testing.T) {
	t.Parallel()
	for want, answer := range map[string]func(w http.ResponseWriter){
		"405 Method Not Allowed":  func(w http.ResponseWriter) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"503 Service Unavailable": func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) },
		"not an event stream":     func(w http.ResponseWriter) { writeJSON(w, 200, "{}") },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newHTTPFake()
				var r resumes
				f.tools["slow"] = func(c *httpCall) {
					c.stream().raw("retry: 20", "id: 1", "data:", "")
				}
				f.listen = r.listen(answer)
				session := open(t, f.inMemory())
				_, err := call(t.Context(), find(t, session, "slow"), nil)
				require.ErrorIs(t, err, mcp.ErrHTTP)
				require.ErrorContains(t, err, "could not be resumed")
				require.ErrorContains(t, err, want)
				assert.LessOrEqual(t, len(r.after), 8)
				assert.Equal(t, 1, f.count("slow"))
				assert.Equal(t, `{}`, text(t, session, "echo", nil))
				require.NoError(t, session.Close())
				synctest.Wait()
			})
		})
	}
}

func TestAServerThatHasItsStreamPolledIsAskedUntilTheCallTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		var r resumes
		f.tools["slow"] = func(c *httpCall) { c.stream().raw("retry: 1000", "id: 1", "data:", "") }
		f.listen = r.listen(func(w http.ResponseWriter) { newEventWriter(w) })
		server := f.inMemory()
		server.CallTimeout = 10 * time.Minute
		session := open(t, server)
		began := time.Now()
		_, err := call(t.Context(), find(t, session, "slow"), nil)
		require.ErrorIs(t, err, mcp.ErrCallTimeout)
		assert.Equal(t, 10*time.Minute, time.Since(began))
		assert.Less(t, len(r.after), 30, "not a hot loop")
		assert.Greater(t, len(r.after), 8)
		require.NoError(t, session.Close())
		synctest.Wait()
	})
}

func TestTheListeningStreamTellsOfChangedToolsAndIsOpenedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		opened := make(chan *eventWriter)
		end := make(chan struct{})
		var last atomic.Value
		f.listen = func(w http.ResponseWriter, r *http.Request) {
			last.Store(r.Header.Get("Last-Event-Id"))
			events := newEventWriter(w)
			select {
			case opened <- events:
			case <-r.Context().Done():
				return
			}
			select {
			case <-end:
				cut()
			case <-r.Context().Done():
			}
		}
		session := open(t, f.inMemory())
		tools := func() int {
			t.Helper()
			synctest.Wait()
			time.Sleep(time.Second) // what a burst of changes may take
			all, err := session.Tools(t.Context())
			require.NoError(t, err)
			return len(all)
		}
		events := <-opened
		require.Equal(t, 1, tools())

		f.add("second")
		require.Equal(t, 1, tools(), "nothing was said of it")
		events.event("n-1", listChanged)
		require.Equal(t, 2, tools())

		end <- struct{}{} // it breaks, and misses nothing: there are ids
		events = <-opened
		assert.Equal(t, "n-1", last.Load())
		lists := f.count("tools/list")
		events.event("n-1", listChanged) // a replay
		require.Equal(t, 2, tools())
		assert.Equal(t, lists, f.count("tools/list"))
		f.add("third")
		events.event("", listChanged)
		require.Equal(t, 3, tools())
		require.NoError(t, session.Close())
		synctest.Wait()
	})
}

func TestAfterAGapInTheListeningStreamTheToolsAreListedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		var opens atomic.Int32
		opened := make(chan struct{}, 10)
		f.listen = func(w http.ResponseWriter, r *http.Request) {
			switch opens.Add(1) {
			case 1:
				newEventWriter(w)
			case 2:
				w.WriteHeader(http.StatusConflict) // it has not noticed the end of the first
			case 3:
				http.Error(w, "session already exists", http.StatusBadRequest) // the same, as others say it
			case 4:
				w.WriteHeader(http.StatusBadGateway)
			default:
				newEventWriter(w)
				opened <- struct{}{}
				<-r.Context().Done()
			}
		}
		session := open(t, f.inMemory())
		all, err := session.Tools(t.Context())
		require.NoError(t, err)
		require.Len(t, all, 1)
		f.add("second")
		<-opened
		synctest.Wait()
		time.Sleep(time.Second)
		all, err = session.Tools(t.Context())
		require.NoError(t, err)
		assert.Len(t, all, 2)
		require.NoError(t, session.Close())
		synctest.Wait()
	})
}

func TestAServerWithoutAListeningStreamIsAskedForItOnce(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMethodNotAllowed, http.StatusNotFound, http.StatusBadRequest, http.StatusNotImplemented} {
		synctest.Test(t, func(t *testing.T) {
			f := newHTTPFake()
			f.listen = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }
			session := open(t, f.inMemory())
			time.Sleep(time.Hour)
			assert.Equal(t, 1, f.count(http.MethodGet), status)
			assert.Equal(t, `{}`, text(t, session, "echo", nil))
			require.NoError(t, session.Close())
			synctest.Wait()
		})
	}
}

func TestAnAnswerMayComeOnTheListeningStream(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		messages := make(chan string)
		f.listen = func(w http.ResponseWriter, r *http.Request) {
			events := newEventWriter(w)
			for {
				select {
				case message := <-messages:
					events.event("", message)
				case <-r.Context().Done():
					return
				}
			}
		}
		f.tools["later"] = func(c *httpCall) {
			c.w.WriteHeader(http.StatusAccepted)
			go func() { messages <- c.success("on the other stream") }()
		}
		session := open(t, f.inMemory())
		assert.Equal(t, "on the other stream", text(t, session, "later", nil))
		require.NoError(t, session.Close())
		synctest.Wait()
	})
}

func TestACallIsCanceledWhileItsStreamWaitsToBeResumed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		f.tools["slow"] = func(c *httpCall) { c.stream().raw("retry: 60000", "id: 1", "data:", "") }
		session := open(t, f.inMemory())
		slow := find(t, session, "slow")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errors.New("enough")) })
		began := time.Now()
		_, err := call(ctx, slow, nil)
		require.ErrorContains(t, err, "enough")
		assert.Equal(t, time.Second, time.Since(began))
		require.NoError(t, session.Close())
		synctest.Wait()
	})
}
