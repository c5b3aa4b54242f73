package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// backgroundLimit bounds one message that nobody waits for, such as a
	// cancellation.
	backgroundLimit = 10 * time.Second
	// maxBackground is how many of those may be under way; more are dropped.
	maxBackground = 64
	// lingerTime is how long the stream of an answered request may stay open. A
	// server ends it at once, and then its connection serves the next request.
	lingerTime = time.Second
	// probeLimit bounds the look for the older transport at a server that refused
	// the newer one.
	probeLimit = 10 * time.Second
)

// httpWire speaks the protocol over HTTP: streamable HTTP, or HTTP with
// server-sent events as it was in 2024-11-05. It implements mcp-go's
// transport.Interface in place of mcp-go's own two, which cannot keep what a
// session promises: there a stream that breaks off is not resumed, and a replayed
// event is handled again; an answer is read without a limit and an SSE line
// quoted whole in errors; redirects take the headers along; a refused token is
// not renewed for those who wait together; the listening stream ends with the
// context of the start; and Close does not wait for what was started.
type httpWire struct {
	server      Server
	url         *url.URL
	header      http.Header // of every request, from the server's Headers
	redactor    *redactor
	client      *http.Client
	conns       *connections // nil with a host's own round tripper
	credentials *credentials
	inbox       *inbox

	life  context.Context // ends when the session is lost or closed
	end   context.CancelFunc
	lost  chan struct{}
	deaf  chan struct{} // closed when the server does not offer a stream to listen on
	slots chan struct{} // of what goes out in the background
	work  sync.WaitGroup

	mu        sync.Mutex
	closed    bool
	gone      bool // the server does not know the session any more
	reason    string
	session   string
	version   string
	posts     *url.URL // where messages go; with the older transport another URL than url
	older     bool     // the transport of 2024-11-05
	listening bool     // a stream for messages that answer nothing is open, or will be

	loseOnce, closeOnce sync.Once
	closeErr            error
}

var _ transport.HTTPConnection = (*httpWire)(nil)

func newHTTPWire(server Server, redactor *redactor, onStray func()) *httpWire {
	life, end := context.WithCancel(context.Background())
	h := &httpWire{
		server: server, redactor: redactor,
		life: life, end: end,
		lost:  make(chan struct{}),
		deaf:  make(chan struct{}),
		slots: make(chan struct{}, maxBackground),
	}
	h.url, _ = url.Parse(server.URL) // it was checked
	h.url.Fragment, h.url.RawFragment = "", ""
	h.header = http.Header{}
	for name, value := range server.Headers {
		h.header.Set(name, value)
	}
	h.client, h.conns = newHTTPClient(server.Transport)
	h.credentials = &credentials{source: server.Token, redactor: redactor, spawn: h.spawn, track: h.work.Go, limit: server.StartTimeout}
	h.inbox = newInbox(&h.server, redactor, h.reply, onStray)
	h.reset()
	return h
}

// Start does nothing: the first message makes the first connection.
func (h *httpWire) Start(context.Context) error { return nil }

// reset forgets the session, for a new initialize.
func (h *httpWire) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.session, h.version = "", ""
	h.posts, h.older = h.url, false
}

// spawn starts what outlives its caller and ends with the session. It reports
// false when that has ended.
func (h *httpWire) spawn(fn func(ctx context.Context)) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed || h.life.Err() != nil {
		return false
	}
	h.work.Go(func() { fn(h.life) })
	return true
}

// lose ends the session for all who use it. gone says that the server does not
// know it any more.
func (h *httpWire) lose(reason string, gone bool) {
	h.loseOnce.Do(func() {
		h.mu.Lock()
		h.reason, h.gone = reason, gone
		h.mu.Unlock()
		close(h.lost)
		h.end()
	})
}

// Abandon gives the session up and says why.
func (h *httpWire) Abandon(reason string) { h.lose(reason, false) }

// Lost is closed when the session has ended.
func (h *httpWire) Lost() <-chan struct{} { return h.lost }

// Cause tells how a lost session ended.
func (h *httpWire) Cause(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return &SessionLostError{Server: h.server.Name, Reason: h.reason}
}

// Stderr is empty: what a server behind a URL writes stays there.
func (h *httpWire) Stderr() string { return "" }

// SetProtocolVersion sets what later requests name as the protocol's version.
func (h *httpWire) SetProtocolVersion(version string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.version = version
}

// SetNotificationHandler sets what is called with each notification. Streams are
// read side by side, and so are the calls.
func (h *httpWire) SetNotificationHandler(handler func(mcp.JSONRPCNotification)) {
	h.inbox.setNotify(handler)
}

// GetSessionId is what the server named the session.
func (h *httpWire) GetSessionId() string { //nolint:revive // the interface's name
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.session
}

// SendRequest sends a request and waits for its answer, on whichever stream that
// comes. Its errors are the context's, an [*HTTPError], a [*LoginNeededError], or
// transport.ErrTransportClosed when the session is lost.
func (h *httpWire) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, err
	}
	x := &exchange{wire: h, id: request.ID, method: request.Method, body: body, header: request.Header}
	if h.isModern() && x.header == nil {
		x.header = modernHeader(h.protocolVersion(), &request)
	}
	if request.Method == string(mcp.MethodInitialize) {
		return h.initialize(ctx, x)
	}
	return x.run(ctx)
}

// initialize makes the session. A server whose kind is not known and that refuses
// the newer transport is tried with the older one, as the protocol wants it.
func (h *httpWire) initialize(ctx context.Context, x *exchange) (*transport.JSONRPCResponse, error) {
	h.reset()
	if h.server.Kind == KindSSE {
		if err := h.openEvents(ctx); err != nil {
			return nil, err
		}
		return x.run(ctx)
	}
	response, err := x.run(ctx)
	refused := x.status.Load()
	if h.server.Kind != KindAuto || refused < 400 || refused > 499 || errors.Is(err, ErrLoginNeeded) || ctx.Err() != nil {
		return response, err
	}
	probe, cancel := context.WithTimeout(ctx, min(probeLimit, h.server.StartTimeout/2))
	defer cancel()
	notOlder := h.openEvents(probe)
	if notOlder == nil {
		return x.run(ctx)
	}
	if failed, ok := errors.AsType[*HTTPError](err); ok {
		failed.Err = fmt.Errorf("and it is no server of the older transport (%w)", notOlder)
	}
	return response, err
}

// SendNotification sends a notification. Only the one that ends the handshake is
// waited for: what follows must not overtake it.
func (h *httpWire) SendNotification(ctx context.Context, notification mcp.JSONRPCNotification) error {
	body, err := json.Marshal(notification)
	if err != nil {
		return err
	}
	switch {
	case notification.Method == string(mcp.MethodNotificationInitialized):
		if err := h.say(ctx, notification.Method, body); err != nil {
			return transport.NewError(err)
		}
		h.startListening(ctx)
	case notification.Method == string(mcp.MethodNotificationCancelled) && h.isModern():
		// There the end of a request's stream is its cancellation.
	default:
		h.sayLater(notification.Method, body)
	}
	return nil
}

// reply answers a request of the server.
func (h *httpWire) reply(id mcp.RequestId, method string) {
	body, err := encodeLine(replyTo(id, method))
	if err == nil { // an id that does not encode cannot have been decoded
		h.sayLater("the answer to "+method, body)
	}
}

// sayLater sends a message that nobody waits for, best effort.
func (h *httpWire) sayLater(what string, body []byte) {
	select {
	case h.slots <- struct{}{}:
	default:
		return // the server does not take what was sent before
	}
	started := h.spawn(func(life context.Context) {
		defer func() { <-h.slots }()
		ctx, cancel := context.WithTimeout(life, backgroundLimit)
		defer cancel()
		if err := h.say(ctx, what, body); err != nil {
			h.server.Logger.Debug("a message was not taken", "message", what, "error", err)
		}
	})
	if !started {
		<-h.slots
	}
}

// say sends a message that has no answer.
func (h *httpWire) say(ctx context.Context, what string, body []byte) error {
	response, err := h.do(ctx, &httpRequest{verb: http.MethodPost, url: h.target(), body: body, what: what})
	if err != nil {
		return err
	}
	defer closeBody(response)
	text := readExcerpt(response.Body) // to its end, so that the connection can be used again
	if response.StatusCode/100 == 2 {
		return nil
	}
	refusal := h.refusal(what, response, text)
	if gone, ok := errors.AsType[*SessionLostError](refusal); ok {
		h.lose(gone.Reason, true)
	}
	return refusal
}

// Close ends the session within the server's CloseTimeout: requests under way are
// given up, then the server is told, which is given half of that time, and then
// the connections are closed. It may be called more than once.
func (h *httpWire) Close() error {
	h.closeOnce.Do(func() { h.closeErr = h.close() })
	return h.closeErr
}

func (h *httpWire) close() error {
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.lose("it was closed", false)
	h.endSession()
	h.conns.close()
	ended := make(chan struct{})
	go func() {
		h.work.Wait()
		close(ended)
	}()
	timer := time.NewTimer(max(h.server.CloseTimeout/2, time.Second))
	defer timer.Stop()
	select {
	case <-ended:
		return nil
	case <-timer.C: // a round tripper or a token source that heeds no context
		return fmt.Errorf("mcp server %q: its requests: %w within %s", h.server.Name, ErrStillRunning, h.server.CloseTimeout)
	}
}

// endSession tells the server that it can forget the session. Many do not serve
// that, and none has to.
func (h *httpWire) endSession() {
	h.mu.Lock()
	needed := h.session != "" && !h.gone
	h.mu.Unlock()
	if !needed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), h.server.CloseTimeout/2)
	defer cancel()
	response, err := h.do(ctx, &httpRequest{verb: http.MethodDelete, url: h.url, what: "the end of the session"})
	if err != nil {
		h.server.Logger.Debug("the server was not told of the end of the session", "error", err)
		return
	}
	closeBody(response)
}

func (h *httpWire) target() *url.URL {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.posts
}

func (h *httpWire) isOlder() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.older
}

func (h *httpWire) protocolVersion() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.version
}

func (h *httpWire) isModern() bool { return mcp.IsModernProtocol(h.protocolVersion()) }

// modernHeader repeats a request's method and name for proxies, which the
// stateless protocol demands.
func modernHeader(version string, request *transport.JSONRPCRequest) http.Header {
	params, err := json.Marshal(request.Params)
	if err != nil {
		return nil
	}
	header := http.Header{}
	for name, value := range mcp.StandardHeaders(version, mcp.MCPMethod(request.Method), params) {
		header.Set(name, value)
	}
	return header
}
