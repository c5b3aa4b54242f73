package mcp_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/mcp"
)

// Hosts give a session code of their own. Whatever that does costs a call, never
// the process or a promise of the session's.

func TestATokenHookThatPanicsOrGivesOutNoTokenCostsItsCall(t *testing.T) {
	t.Parallel()
	for want, bad := range map[string]func() (string, error){
		"Server.Token panicked: no keyring":                               func() (string, error) { panic("no keyring") },
		"the token has a line break":                                      func() (string, error) { return "hunter22\nX-Evil: 1", nil },
		"the token has a line break or another control character":         func() (string, error) { return "hunter22\n", nil },
		"there is no token for it: the keyring is locked, says [secret] ": func() (string, error) { return "", errors.New("the keyring is locked, says token-0 ") },
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			f := newHTTPFake()
			hook := func() (string, error) { return "token-0", nil }
			server := f.serve(t)
			server.Token = func(context.Context, bool) (string, error) { return hook() }
			session := open(t, server)
			echo := find(t, session, "echo")
			good := hook
			hook = bad
			_, err := call(t.Context(), echo, nil)
			require.ErrorIs(t, err, mcp.ErrUnreachable)
			require.ErrorContains(t, err, want)
			assert.NotContains(t, err.Error(), "hunter22")
			assert.NotContains(t, err.Error(), "X-Evil")
			assert.Zero(t, f.count("echo"))
			hook = good
			assert.Equal(t, `{}`, text(t, session, "echo", nil))
		})
	}
}

func TestARefreshThatPanicsIsALoginNeeded(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	guarded(f, func(string) bool { return false }, fullChallenge)
	server := f.serve(t)
	server.Token = func(_ context.Context, refresh bool) (string, error) {
		if refresh {
			panic("no keyring")
		}
		return "token-0", nil
	}
	_, err := tryOpen(t, server)
	require.ErrorIs(t, err, mcp.ErrLoginNeeded)
	require.ErrorContains(t, err, "no new token could be had: Server.Token panicked: no keyring")
}

func TestATokenHookThatHeedsNoContextHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	f := newHTTPFake()
	server := f.serve(t)
	server.StartTimeout = 100 * time.Millisecond
	server.CloseTimeout = 100 * time.Millisecond
	server.Token = func(context.Context, bool) (string, error) {
		<-release
		return "", nil
	}
	began := time.Now()
	_, err := tryOpen(t, server)
	require.ErrorIs(t, err, mcp.ErrStartTimeout)
	require.ErrorIs(t, err, mcp.ErrStillRunning)
	assert.Less(t, time.Since(began), 10*time.Second)
}

func TestCloseIsBoundedWhereTheTokenHookHangsAtTheEnd(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	f := newHTTPFake()
	server := f.serve(t)
	server.CloseTimeout = 100 * time.Millisecond
	hang := false
	server.Token = func(context.Context, bool) (string, error) {
		if hang {
			<-release
		}
		return "token-0", nil
	}
	session := open(t, server)
	hang = true
	began := time.Now()
	require.ErrorIs(t, session.Close(), mcp.ErrStillRunning)
	assert.Less(t, time.Since(began), 10*time.Second)
	close(release)
}

type panickyTransport struct{ http.RoundTripper }

func (p panickyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPost {
		panic("out of connections")
	}
	return p.RoundTripper.RoundTrip(r)
}

func TestARoundTripperThatPanicsCostsItsRequest(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	server := f.serve(t)
	server.Transport = panickyTransport{http.DefaultTransport}
	_, err := tryOpen(t, server)
	require.ErrorIs(t, err, mcp.ErrHTTP)
	require.ErrorContains(t, err, "Server.Transport panicked: out of connections")
}

// Servers lie, flood and send what is no text.

func TestACompressedAnswerThatGrowsWithoutEndIsCutOff(t *testing.T) {
	t.Parallel()
	var bomb bytes.Buffer
	w := gzip.NewWriter(&bomb)
	_, _ = w.Write(bytes.Repeat([]byte(" "), 1<<20))
	require.NoError(t, w.Close())
	f := newHTTPFake()
	f.tools["bomb"] = func(c *httpCall) {
		c.w.Header().Set("Content-Type", "application/json")
		c.w.Header().Set("Content-Encoding", "gzip")
		for range 65 { // what is compressed piece by piece is one text
			_, _ = c.w.Write(bomb.Bytes())
		}
	}
	session := open(t, f.serve(t))
	_, err := call(t.Context(), find(t, session, "bomb"), nil)
	require.ErrorContains(t, err, "longer than 64 MB")
	assert.Equal(t, `{}`, text(t, session, "echo", nil))
}

func TestWhatIsNoUTF8IsMadeSo(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["odd"] = func(c *httpCall) {
		writeJSON(c.w, http.StatusOK, `{"jsonrpc":"2.0","id":`+string(c.id)+`,"result":{"content":[{"type":"text","text":"caf`+"\xe9"+`"}],"structuredContent":{"name":"caf`+"\xe9"+`"}}}`)
	}
	session := open(t, f.serve(t))
	result, err := call(t.Context(), find(t, session, "odd"), nil)
	require.NoError(t, err)
	assert.Equal(t, "caf�", result.Content[0].Text)
	assert.JSONEq(t, `{"name":"caf�"}`, string(result.Structured))

	echoed := invoke(t, session, "echo", `{"name":"caf`+"\xe9"+`"}`)
	assert.JSONEq(t, `{"name":"caf�"}`, echoed.Text())
	assert.Contains(t, f.got("echo")[0].body, `"caf�"`)
}

func TestAStreamThatOnlyCommentsIsNoAnswer(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["quiet"] = func(c *httpCall) {
		events := c.stream()
		for range 1000 {
			events.raw(": still here", "", "event: message", "", "event: progress", "")
		}
	}
	session := open(t, f.serve(t))
	_, err := call(t.Context(), find(t, session, "quiet"), nil)
	require.ErrorContains(t, err, "the stream ended before the answer")
}

func TestAnAnswerToAnotherRequestIsNoAnswer(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["liar"] = func(c *httpCall) {
		writeJSON(c.w, http.StatusOK, success([]byte(`424242`), textResult("for somebody else")))
	}
	session := open(t, f.serve(t))
	_, err := call(t.Context(), find(t, session, "liar"), nil)
	require.ErrorContains(t, err, "it is not the answer to this request")
}

func TestALongRefusalIsCutShort(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	f.tools["refuse"] = func(c *httpCall) { writeFailure(c.w, http.StatusOK, c.id, strings.Repeat("no ", 1<<20)) }
	session := open(t, f.serve(t))
	_, err := call(t.Context(), find(t, session, "refuse"), nil)
	var refused *mcp.ServerError
	require.ErrorAs(t, err, &refused)
	assert.Less(t, len(err.Error()), 20<<10)
	assert.Contains(t, refused.Message, "3145728 bytes in all")
}

// lists makes a server answer tools/list with what pages gives for each page.
func lists(f *httpFake, pages func(page int) string) {
	page := 0
	f.before = func(w http.ResponseWriter, _ *http.Request, m *fakeRequest) bool {
		if m.Method != "tools/list" {
			return false
		}
		writeJSON(w, http.StatusOK, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":`+pages(page)+`}`)
		page++
		return true
	}
}

func TestAListThatGrowsWithoutEndIsAnError(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	huge := strings.Repeat("c", 3<<20)
	lists(f, func(page int) string { return fmt.Sprintf(`{"tools":[],"nextCursor":"%d","banner":"%s"}`, page, huge) })
	session := open(t, f.serve(t))
	_, err := session.Tools(t.Context())
	require.ErrorIs(t, err, mcp.ErrListing)
	require.ErrorContains(t, err, "it is longer than 8 MB")
	assert.Less(t, len(err.Error()), 1000)
}

func TestTenThousandToolsAreAllThereAndOddOnesCostOnlyThemselves(t *testing.T) {
	t.Parallel()
	f := newHTTPFake()
	lists(f, func(int) string {
		var b strings.Builder
		b.WriteString(`{"tools":[`)
		for i := range 10_000 {
			fmt.Fprintf(&b, `{"name":"tool-%05d","description":"d","inputSchema":{"type":"object"}},`, i)
		}
		fmt.Fprintf(&b, `{"name":"%s"},{"name":"talkative","description":"%s"}]}`, strings.Repeat("n", 5000), strings.Repeat("w", 1<<20))
		return b.String()
	})
	session := open(t, f.serve(t))
	began := time.Now()
	tools, err := session.Tools(t.Context())
	require.NoError(t, err)
	t.Logf("read in %s", time.Since(began))
	require.Len(t, tools, 10_001)
	last := tools[10_000].Spec()
	assert.Equal(t, "talkative", last.Origin)
	assert.Less(t, len(last.Description), 66<<10)
	problems := session.Problems()
	require.Len(t, problems, 2)
	assert.Contains(t, problems[0].String(), "its name is longer than 1024 bytes")
	assert.Contains(t, problems[1].String(), "a description that is too long")
	for _, p := range problems {
		assert.Less(t, len(p.String()), 500)
	}
}

func TestAServerThatAsksWithoutEndIsAnsweredWithinBounds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newHTTPFake()
		f.tools["flood"] = func(c *httpCall) {
			events := c.stream()
			for i := range 5000 {
				events.event("", fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, i))
				events.event("", `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"nobody's","progress":1}}`)
				events.event("", listChanged)
			}
			events.event("", c.success("survived"))
		}
		f.before = func(_ http.ResponseWriter, r *http.Request, m *fakeRequest) bool {
			if m.Method == "" && len(m.ID) > 0 { // an answer, which is not taken
				<-r.Context().Done()
				return true
			}
			return false
		}
		session := open(t, f.inMemory())
		assert.Equal(t, "survived", text(t, session, "flood", nil))
		assert.Equal(t, `{}`, text(t, session, "echo", nil))
		_ = session.Close()
		synctest.Wait()
	})
}
