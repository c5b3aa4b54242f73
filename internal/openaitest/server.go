package openaitest

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
)

// Handler answers one request that passed the checks. It may be called from
// several goroutines at a time.
type Handler func(Request) Reply

// Server is a Chat Completions endpoint on 127.0.0.1.
type Server struct {
	// Key, when set, is the bearer token or api-key header that requests must carry.
	// Set it before the first request.
	Key string

	http    *httptest.Server
	handler Handler
	closing chan struct{}
	once    sync.Once

	mu       sync.Mutex
	calls    []Call
	requests []Request
	serial   int
}

// Call is what the server recorded of one request that it answered with a reply,
// whole or cut. Counts that the reply did not report are nil.
type Call struct {
	RequestID  string // the x-request-id header of the response
	ResponseID string // the id in the response body
	Model      string
	Stream     bool
	Prompt     *int64
	Completion *int64
	Cached     *int64
	CacheWrite *int64
	Reasoning  *int64
	// Cut is set when the reply was broken off on purpose.
	Cut bool
}

// New starts a server without a test around it. Close ends it.
func New(handler Handler) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("the loopback interface takes no listener: %w", err)
	}
	s := &Server{handler: handler, closing: make(chan struct{})}
	s.http = &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(s.serve)}}
	s.http.Start()
	return s, nil
}

// Start starts a server that ends with the test.
func Start(t testing.TB, handler Handler) *Server {
	t.Helper()
	s, err := New(handler)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// URL is the base URL for clients; it ends in /v1.
func (s *Server) URL() string { return s.http.URL + "/v1" }

// Client is an HTTP client whose connections end with the server.
func (s *Server) Client() *http.Client { return s.http.Client() }

// Close breaks off the replies under way and ends the server. It may be called
// more than once.
func (s *Server) Close() {
	s.once.Do(func() {
		close(s.closing)
		s.http.CloseClientConnections()
		s.http.Close()
	})
}

// Calls returns the usage log: one entry for each reply, in the order in which the
// replies began.
func (s *Server) Calls() []Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Call(nil), s.calls...)
}

// Requests returns the requests that passed the checks, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.serial++
	serial := s.serial
	s.mu.Unlock()
	requestID := fmt.Sprintf("req_%04d", serial)
	w.Header().Set("X-Request-Id", requestID)

	if refusal := s.admit(r); refusal != nil {
		refusal.write(w)
		return
	}
	if r.Method == http.MethodGet {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": "test-model", "object": "model", "created": created, "owned_by": "test"},
		}})
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return // the client is gone
	}
	req, refusal := parseRequest(body)
	if refusal != nil {
		refusal.write(w)
		return
	}
	req.Header = r.Header.Clone()
	req.Path, req.Query = r.URL.Path, r.URL.Query()

	s.mu.Lock()
	req.N = len(s.requests) + 1
	s.requests = append(s.requests, req)
	s.mu.Unlock()

	reply := s.handler(req)
	out := &writer{w: w, r: r, closing: s.closing, reply: &reply, req: &req, id: fmt.Sprintf("chatcmpl-%04d", serial)}
	if reply.Status == 0 || reply.Status == http.StatusOK {
		s.record(requestID, out)
	}
	out.write()
}

func (s *Server) record(requestID string, out *writer) {
	call := Call{
		RequestID: requestID, ResponseID: out.id, Model: out.model(), Stream: out.req.Stream,
		Cut: out.reply.CutAfter > 0,
	}
	if u := out.reply.Usage; u != nil {
		call.Prompt, call.Completion = &u.Prompt, &u.Completion
		call.Cached, call.CacheWrite, call.Reasoning = u.Cached, u.CacheWrite, u.Reasoning
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, call)
}

// admit checks what comes before the body.
func (s *Server) admit(r *http.Request) *Error {
	isCompletion := r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/chat/completions")
	isModels := r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/models")
	switch {
	case !isCompletion && !isModels:
		return &Error{Status: http.StatusNotFound, Type: "invalid_request_error", Message: fmt.Sprintf("Unknown request URL: %s %s", r.Method, r.URL.Path)}
	case s.Key != "" && r.Header.Get("Authorization") != "Bearer "+s.Key && r.Header.Get("Api-Key") != s.Key:
		return &Error{Status: http.StatusUnauthorized, Type: "invalid_request_error", Code: "invalid_api_key", Message: "Incorrect API key provided"}
	case isCompletion && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json"):
		return &Error{Status: http.StatusBadRequest, Type: "invalid_request_error", Message: "the content type must be application/json"}
	}
	return nil
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
