package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/treadle-dev/treadle/agent/mcp"
)

// httpFake is an MCP server behind a URL that does what a test wants of it. It is
// written on bare HTTP, so that it can break the protocol.
type httpFake struct {
	// tools answer the calls of the tools that they name, hints are their
	// annotations.
	tools map[string]func(*httpCall)
	hints map[string]string
	// before may answer any request itself; it reports whether it did.
	before func(w http.ResponseWriter, r *http.Request, m *fakeRequest) bool
	// listen answers a GET; nil refuses it with 405.
	listen func(w http.ResponseWriter, r *http.Request)
	// version is the protocol's; empty means 2025-06-18. noSession leaves sessions out.
	version   string
	noSession bool

	mu       sync.Mutex
	sessions map[string]bool
	issued   int
	seen     []seenRequest
}

// seenRequest is a request as the server got it.
type seenRequest struct {
	verb, method, tool string
	header             http.Header
	body               string
}

// httpCall is one call of a tool.
type httpCall struct {
	w    http.ResponseWriter
	r    *http.Request
	id   json.RawMessage
	args map[string]string
}

func newHTTPFake() *httpFake {
	f := &httpFake{tools: map[string]func(*httpCall){}, hints: map[string]string{}, sessions: map[string]bool{}}
	f.tools["echo"] = func(c *httpCall) {
		all, _ := json.Marshal(c.args)
		c.answer(string(all))
	}
	return f
}

// serve puts the server behind a URL.
func (f *httpFake) serve(t *testing.T) mcp.Server {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return mcp.Server{Name: "remote", URL: server.URL + "/mcp", Kind: mcp.KindHTTP}
}

// inMemory puts the server where time stands still with the test.
func (f *httpFake) inMemory() mcp.Server {
	return mcp.Server{Name: "remote", URL: "http://remote/mcp", Kind: mcp.KindHTTP, Transport: memory{f}}
}

// count returns how often a JSON-RPC method, or a tool, was asked for.
func (f *httpFake) count(what string) int { return len(f.got(what)) }

// got returns the requests for a JSON-RPC method, a tool, or with an HTTP verb.
func (f *httpFake) got(what string) []seenRequest {
	f.mu.Lock()
	defer f.mu.Unlock()
	var found []seenRequest
	for _, s := range f.seen {
		if s.method == what || s.tool == what || s.verb == what {
			found = append(found, s)
		}
	}
	return found
}

// forget ends all sessions, as a server's restart does.
func (f *httpFake) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	clear(f.sessions)
}

func (f *httpFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var m fakeRequest
	_ = json.Unmarshal(body, &m)
	var call struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if m.Method == "tools/call" {
		_ = json.Unmarshal(m.Params, &call)
	}
	f.mu.Lock()
	f.seen = append(f.seen, seenRequest{verb: r.Method, method: m.Method, tool: call.Name, header: r.Header.Clone(), body: string(body)})
	session := r.Header.Get("Mcp-Session-Id")
	known := f.noSession || f.sessions[session]
	f.mu.Unlock()
	if f.before != nil && f.before(w, r, &m) {
		return
	}
	switch {
	case m.Method == "initialize":
		f.initialize(w, m.ID)
	case !known && m.Method != "server/discover":
		writeFailure(w, http.StatusNotFound, m.ID, "Session not found")
	case r.Method == http.MethodDelete:
		f.mu.Lock()
		delete(f.sessions, session)
		f.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	case r.Method == http.MethodGet && f.listen != nil:
		f.listen(w, r)
	case r.Method == http.MethodGet:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case len(m.ID) == 0 || m.Method == "": // a notification, or an answer
		w.WriteHeader(http.StatusAccepted)
	case m.Method == "tools/list":
		f.list(w, m.ID)
	case m.Method == "tools/call" && f.tools[call.Name] != nil:
		f.tools[call.Name](&httpCall{w: w, r: r, id: m.ID, args: call.Arguments})
	default:
		writeJSON(w, http.StatusOK, failure(m.ID, -32601, "no method "+m.Method))
	}
}

func (f *httpFake) initialize(w http.ResponseWriter, id json.RawMessage) {
	if !f.noSession {
		f.mu.Lock()
		f.issued++
		session := "session-" + strconv.Itoa(f.issued)
		f.sessions[session] = true
		f.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", session)
	}
	version := f.version
	if version == "" {
		version = "2025-06-18"
	}
	writeJSON(w, http.StatusOK, success(id, map[string]any{
		"protocolVersion": version,
		"capabilities":    map[string]any{"tools": map[string]any{}},
		"serverInfo":      map[string]any{"name": "fake", "version": "1"},
	}))
}

func (f *httpFake) list(w http.ResponseWriter, id json.RawMessage) {
	f.mu.Lock()
	defer f.mu.Unlock()
	tools := []any{}
	for _, name := range slices.Sorted(maps.Keys(f.tools)) {
		tool := map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}}
		if hint := f.hints[name]; hint != "" {
			tool["annotations"] = map[string]bool{hint: true}
		}
		tools = append(tools, tool)
	}
	writeJSON(w, http.StatusOK, success(id, map[string]any{"tools": tools}))
}

// add gives the server one more tool.
func (f *httpFake) add(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tools[name] = f.tools["echo"]
}

func (c *httpCall) answer(text string) { writeJSON(c.w, http.StatusOK, c.success(text)) }

func (c *httpCall) success(text string) string { return success(c.id, textResult(text)) }

// stream begins an answer of events.
func (c *httpCall) stream() *eventWriter { return newEventWriter(c.w) }

func success(id json.RawMessage, result any) string {
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
	return string(data)
}

func failure(id json.RawMessage, code int, message string) string {
	data, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message}})
	return string(data)
}

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

func writeJSON(w http.ResponseWriter, status int, body string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

func writeFailure(w http.ResponseWriter, status int, id json.RawMessage, message string) {
	writeJSON(w, status, failure(id, -32000, message))
}

// eventWriter writes server-sent events.
type eventWriter struct{ w http.ResponseWriter }

func newEventWriter(w http.ResponseWriter) *eventWriter {
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	w.(http.Flusher).Flush()
	return &eventWriter{w}
}

// raw writes lines as they are, and sends them off.
func (e *eventWriter) raw(lines ...string) {
	_, _ = io.WriteString(e.w, strings.Join(lines, "\n")+"\n")
	e.w.(http.Flusher).Flush()
}

// event writes one event; an empty id is left out.
func (e *eventWriter) event(id, data string) {
	if id == "" {
		e.raw("data: "+data, "")
		return
	}
	e.raw("id: "+id, "data: "+data, "")
}

// cut ends the connection in the middle of the answer.
func cut() { panic(http.ErrAbortHandler) }

// memory is a round tripper without a network: its waits are channels and pipes,
// which a test's bubble of time can see.
type memory struct{ handler http.Handler }

func (m memory) RoundTrip(request *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	w := &memoryWriter{header: http.Header{}, body: writer, begun: make(chan struct{})}
	ctx, cancel := context.WithCancel(request.Context())
	stop := context.AfterFunc(ctx, func() { _ = writer.CloseWithError(context.Cause(ctx)) })
	var body []byte
	if request.Body != nil {
		body, _ = io.ReadAll(request.Body)
		_ = request.Body.Close()
	}
	inner := request.Clone(ctx)
	inner.Body = io.NopCloser(bytes.NewReader(body))
	go func() {
		defer stop()
		defer func() {
			if recover() != nil {
				_ = writer.CloseWithError(io.ErrUnexpectedEOF)
				w.once.Do(func() { close(w.begun) }) // without a status
				return
			}
			w.WriteHeader(http.StatusOK)
			_ = writer.CloseWithError(io.EOF)
		}()
		m.handler.ServeHTTP(w, inner)
	}()
	select {
	case <-w.begun:
		if w.status == 0 {
			cancel()
			return nil, io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: w.status, Header: w.sent, Request: request, Body: &memoryBody{reader, cancel}}, nil
	case <-ctx.Done():
		cancel()
		return nil, fmt.Errorf("in memory: %w", ctx.Err())
	}
}

type memoryBody struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *memoryBody) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

type memoryWriter struct {
	header, sent http.Header
	status       int
	body         *io.PipeWriter
	begun        chan struct{}
	once         sync.Once
}

func (w *memoryWriter) Header() http.Header { return w.header }

func (w *memoryWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status, w.sent = status, w.header.Clone()
		close(w.begun)
	})
}

func (w *memoryWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.body.Write(p)
}

func (w *memoryWriter) Flush() { w.WriteHeader(http.StatusOK) }

// olderFake is a server of the transport of 2024-11-05.
type olderFake struct {
	*httpFake
	// refusal is what a POST to the URL itself gets.
	refusal int
	// endpoint is where messages go; empty means the usual place.
	endpoint string

	mu      sync.Mutex
	streams []*olderStream
}

type olderStream struct {
	messages chan string
	end      chan struct{}
	once     sync.Once
}

func newOlderFake() *olderFake {
	f := &olderFake{httpFake: newHTTPFake(), refusal: http.StatusMethodNotAllowed}
	f.noSession, f.version = true, "2024-11-05"
	return f
}

func (f *olderFake) serve(t *testing.T) mcp.Server {
	t.Helper()
	server := httptest.NewServer(f)
	t.Cleanup(func() {
		f.cutStreams()
		server.CloseClientConnections()
		server.Close()
	})
	return mcp.Server{Name: "remote", URL: server.URL + "/sse"}
}

// cutStreams ends all streams, and with them the sessions.
func (f *olderFake) cutStreams() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, s := range f.streams {
		s.once.Do(func() { close(s.end) })
	}
}

func (f *olderFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodGet:
		f.openStream(w, r)
	case r.URL.Path == "/sse":
		w.WriteHeader(f.refusal)
	default:
		f.post(w, r)
	}
}

func (f *olderFake) openStream(w http.ResponseWriter, r *http.Request) {
	s := &olderStream{messages: make(chan string, 100), end: make(chan struct{})}
	f.mu.Lock()
	n := len(f.streams)
	f.streams = append(f.streams, s)
	f.mu.Unlock()
	endpoint := f.endpoint
	if endpoint == "" {
		endpoint = "/messages?session=" + strconv.Itoa(n)
	}
	events := newEventWriter(w)
	events.raw("event: endpoint", "data: "+endpoint, "")
	for {
		select {
		case message := <-s.messages:
			events.raw("event: message", "data: "+message, "")
		case <-s.end:
			return
		case <-r.Context().Done():
			return
		}
	}
}

// post has the newer server answer, and sends that on the stream.
func (f *olderFake) post(w http.ResponseWriter, r *http.Request) {
	n, _ := strconv.Atoi(r.URL.Query().Get("session"))
	f.mu.Lock()
	s := f.streams[n]
	f.mu.Unlock()
	select {
	case <-s.end:
		w.WriteHeader(http.StatusNotFound)
		return
	default:
	}
	recorded := httptest.NewRecorder()
	f.httpFake.ServeHTTP(recorded, r)
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, "Accepted")
	if recorded.Body.Len() > 0 {
		s.messages <- recorded.Body.String()
	}
}

// How long a test waits for what must come, and how often it looks.
const (
	waitTime = 20 * time.Second
	tickTime = time.Millisecond
)
