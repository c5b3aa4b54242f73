package openai_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
)

func packed(t *testing.T, data string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, err := io.WriteString(w, data)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return out.Bytes()
}

func TestABodyThatComesCompressedUnaskedIsRead(t *testing.T) {
	t.Parallel()
	header := func() http.Header { return http.Header{"Content-Encoding": {"gzip"}} }
	for _, body := range []string{string(deltas(`{"content":"tea"}`)), message(`{"content":"tea"}`, "stop")} {
		data := packed(t, body)
		for _, sink := range []agent.Sink{nil, discard} {
			resp, err := over(t, &canned{header: header(), body: bodyOf(data)}).Generate(t.Context(), ask(), sink)
			wantReply(t, outcome{resp, err}, "tea", agent.FinishStop)
		}
		_, err := over(t, &canned{header: header(), body: bodyOf(data[:len(data)-12])}).Generate(t.Context(), ask(), discard)
		assert.True(t, err == nil || failureOf(t, err).Retryable)
	}
	_, err := over(t, &canned{status: 429, header: header(), body: bodyOf(packed(t, `{"error":{"message":"slow"}}`))}).Generate(t.Context(), ask(), nil)
	assert.Equal(t, "slow", failureOf(t, err).Message)
	_, err = over(t, &canned{status: 500, header: header(), body: bodyOf(packed(t, strings.Repeat("x", 1<<20)))}).Generate(t.Context(), ask(), nil)
	assert.LessOrEqual(t, len(failureOf(t, err).Body), 64<<10, "a small body that unpacks to a large one")
	_, err = over(t, &canned{header: header(), body: bodyOf(packed(t, strings.Repeat(" ", 1<<20)))}, func(c *openai.Config) { c.MaxReplyBytes = 64 << 10 }).Generate(t.Context(), ask(), nil)
	assert.ErrorIs(t, err, agent.ErrReplyTooLarge)
	_, err = over(t, &canned{header: header(), body: bodyOf([]byte("plain"))}).Generate(t.Context(), ask(), nil)
	assert.ErrorIs(t, err, agent.ErrReplyCut)
}

func TestTheWaitThatAProviderAsksForIsFound(t *testing.T) {
	t.Parallel()
	year := 365 * 24 * time.Hour
	say := func(words string) string { return `{"error":{"message":"` + words + `"}}` }
	for name, c := range map[string]struct {
		header map[string]string
		body   string
		want   time.Duration
	}{
		"seconds":                    {map[string]string{"Retry-After": "7"}, say("slow"), 7 * time.Second},
		"a fraction":                 {map[string]string{"Retry-After": " 0.5 "}, say("slow"), time.Second / 2},
		"milliseconds first":         {map[string]string{"Retry-After": "7", "Retry-After-Ms": "250"}, say("slow"), time.Second / 4},
		"below zero":                 {map[string]string{"Retry-After": "-7"}, say("slow"), 0},
		"a date that is over":        {map[string]string{"Retry-After": "Mon, 02 Jan 2006 15:04:05 GMT"}, say("slow"), 0},
		"huge":                       {map[string]string{"Retry-After": "1e300"}, say("slow"), year},
		"no number":                  {map[string]string{"Retry-After": "NaN"}, say("slow"), 0},
		"words":                      {nil, say("Limit reached. Please try again in 7.5s. Visit us"), 7500 * time.Millisecond},
		"words of minutes":           {nil, say("try again in 1m3.5s."), 63500 * time.Millisecond},
		"words of milliseconds":      {nil, say("Please try again in 250ms."), time.Second / 4},
		"words in full":              {nil, say("Please retry after 22 seconds."), 22 * time.Second},
		"words of hours and minutes": {nil, say("Please retry in 2 hours, 5 minutes"), 125 * time.Minute},
		"words without a figure":     {nil, say("try again in a moment"), 0},
		"words of an age":            {nil, say("try again in 99999999999999999999 hours"), year},
		"a detail":                   {nil, `[{"error":{"code":429,"message":"slow","details":[{"@type":"a"},{"retryDelay":"34.5s"}]}}]`, 34500 * time.Millisecond},
		"a detail below zero":        {nil, `{"error":{"message":"slow","details":[{"retryDelay":"-4s"}]}}`, 0},
		"the header over the words":  {map[string]string{"Retry-After": "1"}, say("try again in 9s"), time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			header := http.Header{}
			for key, value := range c.header {
				header.Set(key, value)
			}
			_, err := over(t, &canned{status: 429, header: header, body: bodyOf([]byte(c.body))}).Generate(t.Context(), ask(), nil)
			failure := failureOf(t, err)
			assert.Equal(t, c.want, failure.RetryAfter)
			assert.True(t, failure.Retryable)
		})
	}
	soon := http.Header{"Retry-After": {time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)}}
	_, err := over(t, &canned{status: 503, header: soon, body: bodyOf(nil)}).Generate(t.Context(), ask(), nil)
	assert.InDelta(t, time.Hour, failureOf(t, err).RetryAfter, float64(time.Minute))
	failure := read(t, []byte(chunks(`{"error":{"code":429,"message":"try again in 3s"}}`))).failure(t)
	assert.Equal(t, 3*time.Second, failure.RetryAfter, "also inside a stream")
}

func TestAnyStatusIsATypedError(t *testing.T) {
	t.Parallel()
	for status, c := range map[int]struct {
		body, message string
		retryable     bool
	}{
		301: {"", "Moved Permanently", false},
		304: {"", "Not Modified", false},
		401: {"<html><head><title>Sign in</title><style>a{}</style></head></html>", "Sign in", false},
		402: {`{"error":{"message":"no funds","code":402}}`, "no funds", false},
		408: {"", "Request Timeout", true},
		413: {`{"detail":[{"msg":"too large"}]}`, "too large", false},
		418: {"null", "I'm a teapot", false},
		499: {"\xff\xfe", "", false},
		529: {`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "Overloaded", true},
		599: {"", "no reason", true},
	} {
		_, err := over(t, &canned{status: status, body: bodyOf([]byte(c.body))}).Generate(t.Context(), ask(), discard)
		failure := failureOf(t, err)
		assert.Equal(t, status, failure.StatusCode)
		assert.Contains(t, failure.Error(), c.message, "status %d", status)
		assert.NotEmpty(t, failure.Message, "status %d", status)
		assert.Equal(t, c.retryable, failure.Retryable, "status %d", status)
		assert.NotErrorIs(t, err, agent.ErrReplyCut)
	}
	_, err := over(t, &canned{status: 400, body: bodyOf([]byte(`{"error":{"message":"filtered","param":"prompt","code":"content_filter","innererror":{"code":"ResponsibleAIPolicyViolation"}}}`))}).Generate(t.Context(), ask(), nil)
	assert.ErrorIs(t, err, agent.ErrContentFiltered)
	assert.False(t, failureOf(t, err).Retryable)
}

func TestARedirectNeverTakesTheCallElsewhere(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("the call went elsewhere") }))
	t.Cleanup(elsewhere.Close)
	var status int
	var to string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if r.URL.Path == "/new" && r.Method == http.MethodPost && bytes.Contains(body, []byte("go on")) {
			_, _ = io.WriteString(w, message(`{"content":"tea"}`, "stop"))
			return
		}
		w.Header().Set("Location", to)
		w.WriteHeader(status)
	}))
	t.Cleanup(s.Close)
	llm := over(t, nil, func(c *openai.Config) { c.BaseURL, c.HTTPClient, c.APIKey = s.URL+"/v1", s.Client(), "a-secret-key" })
	for _, status = range []int{307, 308} {
		to = "/new"
		resp, err := llm.Generate(t.Context(), ask(), nil)
		wantReply(t, outcome{resp, err}, "tea", agent.FinishStop)
	}
	for _, status = range []int{301, 302, 303, 307, 308} {
		// The two servers have one address, which counts as one host.
		to = strings.Replace(elsewhere.URL, "127.0.0.1", "localhost", 1) + "/new?key=hidden"
		_, err := llm.Generate(t.Context(), ask(), nil)
		failure := failureOf(t, err)
		assert.Equal(t, status, failure.StatusCode)
		assert.Contains(t, failure.Message, "localhost")
		assert.NotContains(t, failure.Message, "hidden")
		assert.False(t, failure.Retryable)
	}
	for _, status = range []int{301, 302, 303} {
		to = "/new"
		_, err := llm.Generate(t.Context(), ask(), nil)
		assert.Equal(t, status, failureOf(t, err).StatusCode, "a GET is not the call")
	}
	status, to = 308, "/v1/chat/completions"
	_, err := llm.Generate(t.Context(), ask(), nil)
	assert.Equal(t, 308, failureOf(t, err).StatusCode, "in circles")
}

// raw is a server that answers each request with the bytes, as they are, and closes
// or resets the connection.
func raw(t *testing.T, answer string, reset bool) *openai.LLM {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	t.Cleanup(func() { listener.Close(); <-done })
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_, _ = conn.Read(make([]byte, 64<<10))
			_, _ = io.WriteString(conn, answer)
			if reset {
				_ = conn.(*net.TCPConn).SetLinger(0)
			}
			conn.Close()
		}
	}()
	transport := &http.Transport{DisableKeepAlives: true}
	t.Cleanup(transport.CloseIdleConnections)
	return over(t, transport, func(c *openai.Config) { c.BaseURL = "http://" + listener.Addr().String() + "/v1" })
}

func TestWhatTheConnectionDoesToAReplyIsSaid(t *testing.T) {
	t.Parallel()
	const finished = "data: {\"choices\":[{\"delta\":{\"content\":\"tea\"},\"finish_reason\":\"stop\"}]}\n\n"
	const head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
	chunked := func(body, end string) string {
		return head + "Transfer-Encoding: chunked\r\nTrailer: X-End\r\n\r\n" + fmt.Sprintf("%x\r\n%s\r\n", len(body), body) + end
	}
	for name, c := range map[string]struct {
		answer string
		reset  bool
		ok     bool
	}{
		"reset before the head":        {"", true, false},
		"closed before the head":       {"", false, false},
		"closed inside the head":       {"HTTP/1.1 200 OK\r\nContent-Ty", false, false},
		"not HTTP":                     {"SSH-2.0-x\r\n", false, false},
		"closed after the head":        {head + "\r\n", false, false},
		"trailers":                     {chunked(finished, "0\r\nX-End: yes\r\n\r\n"), false, true},
		"closed after the finish":      {chunked(finished, ""), false, true},
		"closed before the finish":     {chunked(someText, ""), false, false},
		"shorter than its length":      {head + "Content-Length: 9999\r\n\r\n" + finished, false, true},
		"a whole body that is shorter": {head + "Content-Length: 9999\r\n\r\n" + message(`{"content":"tea"}`, "stop")[:40], false, false},
		"a bad chunk length":           {head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resp, err := raw(t, c.answer, c.reset).Generate(t.Context(), ask(), discard)
			if c.ok {
				wantReply(t, outcome{resp, err}, "tea", agent.FinishStop)
				return
			}
			failure := failureOf(t, err)
			assert.True(t, failure.Retryable, failure)
			assert.NotEmpty(t, failure.Message)
		})
	}
}
