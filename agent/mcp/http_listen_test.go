package mcp_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/treadle-dev/treadle/agent/mcp"
)

func TestAServerThatAsksOnTheStreamOfNotificationsIsHeardFromTheFirstCallOn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		questions, answered := make(chan string), make(chan struct{})
		listening := make(chan struct{})
		f.listen = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(100 * time.Millisecond) // it is slower to take the stream than the call
			events := newEventWriter(w)
			close(listening)
			for {
				select {
				case question := <-questions:
					events.event("", question)
				case <-r.Context().Done():
					return
				}
			}
		}
		f.before = func(w http.ResponseWriter, _ *http.Request, m *fakeRequest) bool {
			if string(m.ID) == `"s1"` && m.Method == "" {
				close(answered)
				w.WriteHeader(http.StatusAccepted)
				return true
			}
			return false
		}
		f.tools["ask"] = func(c *httpCall) {
			select {
			case <-listening:
				questions <- `{"jsonrpc":"2.0","id":"s1","method":"elicitation/create","params":{}}`
			default: // nobody hears the question
			}
			select {
			case <-answered:
				c.answer("refused")
			case <-c.r.Context().Done():
			}
		}
		session := open(t, f.inMemory())
		assert.Equal(t, "refused", text(t, session, "ask", nil))
		_ = session.Close()
		synctest.Wait()
	})
}

func TestAStreamOfNotificationsThatOpensLateHoldsNothingUpAndCostsNoChange(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		f.listen = func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(time.Minute)
			newEventWriter(w)
			<-r.Context().Done()
		}
		began := time.Now()
		session := open(t, f.inMemory())
		assert.Less(t, time.Since(began), time.Second)
		assert.Equal(t, `{}`, text(t, session, "echo", nil))
		f.add("extra") // and nobody is told, since nobody listens
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Equal(t, `{}`, text(t, session, "extra", nil))
		_ = session.Close()
		synctest.Wait()
	})
}

func TestTheStartIsNotHeldUpByAStreamThatItsCallerDoesNotWaitFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		f.listen = func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }
		server := f.inMemory()
		server.StartTimeout = 200 * time.Millisecond
		began := time.Now()
		session := open(t, server)
		assert.Equal(t, 200*time.Millisecond, time.Since(began))
		assert.Equal(t, `{}`, text(t, session, "echo", nil))
		assert.Equal(t, mcp.KindHTTP, server.Kind)
		_ = session.Close()
		synctest.Wait()
	})
}
