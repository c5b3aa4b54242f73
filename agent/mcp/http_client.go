package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// idleTime is how long a connection is kept for the next request. It is shorter
	// than the five seconds of Node's servers: a call that meets the server's end of
	// an idle connection fails, and could not be repeated.
	idleTime = 3 * time.Second
	// maxRefusal is how many bytes of a refusal are read, and maxBody how many are quoted.
	maxRefusal = 64 << 10
	maxBody    = 1 << 10
	// maxRedirects ends a chain of redirects.
	maxRedirects = 5
)

var errAnswerTooLong = fmt.Errorf("it is longer than %d MB", maxMessage>>20)

// newHTTPClient returns a client of the session's own, so that its connections end
// with it. A host's round tripper keeps its own.
func newHTTPClient(host http.RoundTripper) (*http.Client, *connections) {
	client := &http.Client{CheckRedirect: checkRedirect}
	if host != nil {
		client.Transport = hostTransport{host}
		return client, nil
	}
	conns := &connections{open: map[*trackedConn]struct{}{}}
	conns.transport = &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            conns.dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		IdleConnTimeout:        idleTime,
		MaxIdleConnsPerHost:    16,
		MaxResponseHeaderBytes: 1 << 20,
		// A server that is gone without a word is noticed on a stream that is silent.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
	client.Transport = conns.transport
	return client, conns
}

// hostTransport is a host's round tripper. A panic there must cost the request and
// not the process, whose host cannot catch it on the session's goroutines.
type hostTransport struct{ http.RoundTripper }

// RoundTrip makes one request.
func (t hostTransport) RoundTrip(request *http.Request) (response *http.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			response, err = nil, fmt.Errorf("Server.Transport panicked: %v", p)
		}
	}()
	return t.RoundTripper.RoundTrip(request)
}

// checkRedirect follows a redirect only where the request stays what it is and
// goes to the same server: its headers are the user's secrets.
func checkRedirect(next *http.Request, via []*http.Request) error {
	first := via[0]
	if len(via) > maxRedirects || next.Method != first.Method || !sameOrigin(next.URL, first.URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return strings.EqualFold(a.Scheme, b.Scheme) && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	}
	return "80"
}

// originText is what an error says of a URL: no query, no user.
func originText(u *url.URL) string { return u.Scheme + "://" + u.Host + u.EscapedPath() }

// connections are the open network connections of a session.
type connections struct {
	transport *http.Transport

	mu     sync.Mutex
	closed bool
	open   map[*trackedConn]struct{}
}

type trackedConn struct {
	net.Conn
	owner *connections
}

func (c *connections) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{Timeout: 30 * time.Second}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	tracked := &trackedConn{conn, c}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c.open[tracked] = struct{}{}
	return tracked, nil
}

// Close closes the connection.
func (t *trackedConn) Close() error {
	t.owner.mu.Lock()
	delete(t.owner.open, t)
	t.owner.mu.Unlock()
	return t.Conn.Close()
}

// close closes all connections, also those that are in use.
func (c *connections) close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	c.closed = true
	open := make([]*trackedConn, 0, len(c.open))
	for conn := range c.open {
		open = append(open, conn)
	}
	c.mu.Unlock()
	c.transport.CloseIdleConnections()
	for _, conn := range open {
		_ = conn.Close()
	}
}

// httpRequest is one request, which may be sent again with another token.
type httpRequest struct {
	verb   string
	url    *url.URL
	body   []byte
	header http.Header
	what   string // the JSON-RPC method, for errors
}

// do sends a request. One that the server refuses for its token is sent once more
// with a new one; a refusal for want of a login is a [*LoginNeededError]. Any
// other answer is the caller's, who closes its body.
func (h *httpWire) do(ctx context.Context, r *httpRequest) (*http.Response, error) {
	for try := 1; ; try++ {
		token, generation, err := h.credentials.token(ctx)
		if err != nil {
			return nil, orContext(ctx, &HTTPError{
				Server: h.server.Name, Method: r.what, Unsent: true,
				Err: fmt.Errorf("there is no token for it: %w", h.masked(err)),
			})
		}
		response, err := h.send(ctx, r, token)
		if err != nil {
			return nil, err
		}
		refused := h.loginNeeded(response)
		if refused == nil {
			return response, nil
		}
		_ = readExcerpt(response.Body)
		closeBody(response)
		if refused.Status != http.StatusUnauthorized || !refused.hasToken || try == 2 {
			return nil, refused
		}
		if err := h.credentials.renew(ctx, generation); err != nil {
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			refused.Err = h.masked(err)
			return nil, refused
		}
	}
}

// send sends a request once.
func (h *httpWire) send(ctx context.Context, r *httpRequest, token string) (*http.Response, error) {
	var sent atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{WroteHeaders: func() { sent.Store(true) }})
	var body io.Reader
	if r.body != nil {
		body = bytes.NewReader(r.body)
	}
	request, err := http.NewRequestWithContext(traced, r.verb, r.url.String(), body)
	if err != nil {
		return nil, &HTTPError{Server: h.server.Name, Method: r.what, Unsent: true, Err: errors.New("its url is not usable")}
	}
	h.setHeader(request, r, token)
	response, err := h.client.Do(request)
	switch {
	case err == nil:
		return response, nil
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	if wrapped, ok := errors.AsType[*url.Error](err); ok { // which quotes the URL
		err = wrapped.Err
	}
	dial, _ := errors.AsType[*net.OpError](err)
	unsent := !sent.Load() && (h.conns != nil || (dial != nil && dial.Op == "dial"))
	return nil, &HTTPError{Server: h.server.Name, Method: r.what, Unsent: unsent, Err: h.masked(err)}
}

func (h *httpWire) setHeader(request *http.Request, r *httpRequest, token string) {
	header := h.header.Clone()
	request.Header = header
	request.Host = header.Get("Host") // empty means the URL's
	header.Del("Host")
	maps.Copy(header, r.header)
	switch r.verb {
	case http.MethodPost:
		header.Set("Content-Type", "application/json")
		header.Set("Accept", "application/json, text/event-stream")
	case http.MethodGet:
		header.Set("Accept", "text/event-stream")
		header.Set("Cache-Control", "no-cache")
	}
	h.mu.Lock()
	session, version := h.session, h.version
	h.mu.Unlock()
	if session != "" {
		header.Set(transport.HeaderKeySessionID, session)
	}
	if version != "" && version != "2024-11-05" { // which does not know the header
		header.Set(transport.HeaderKeyProtocolVersion, version)
	}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
}

// loginNeeded returns the error for a refusal that a login would lift, else nil.
func (h *httpWire) loginNeeded(response *http.Response) *LoginNeededError {
	if response.StatusCode != http.StatusUnauthorized && response.StatusCode != http.StatusForbidden {
		return nil
	}
	c := readChallenge(response.Header)
	if response.StatusCode == http.StatusForbidden && c.code != "insufficient_scope" {
		return nil
	}
	quote := func(s string) string { return oneLine(h.redactor.text(s), maxChallenge) }
	return &LoginNeededError{
		Server: h.server.Name, Status: response.StatusCode,
		ResourceMetadata: quote(c.resourceMetadata), Scope: quote(c.scope), Code: quote(c.code), Description: quote(c.description),
		hasToken: h.credentials.source != nil,
	}
}

// refusal is the error for a status that is no success. Servers that know nothing
// of a session answer 404, as the protocol has it, or 410; the published ones
// answer 400 and say so in words only.
func (h *httpWire) refusal(what string, response *http.Response, body []byte) error {
	status := response.StatusCode
	h.mu.Lock()
	inSession := (h.session != "" || h.older) && what != string(mcp.MethodInitialize)
	h.mu.Unlock()
	unknown := status == http.StatusNotFound || status == http.StatusGone || (status == http.StatusBadRequest && saysUnknownSession(body))
	if inSession && unknown {
		return &SessionLostError{Server: h.server.Name, Reason: statusText(status)}
	}
	failed := &HTTPError{
		Server: h.server.Name, Method: what, Status: status,
		Body: oneLine(h.redactor.text(string(body)), maxBody), // masked first: a secret cut in half is not found
	}
	if location, err := response.Location(); err == nil && status/100 == 3 {
		failed.Err = fmt.Errorf("it redirects to %s, which is not followed with this session's headers; check the url", h.redactor.text(originText(location)))
	}
	return failed
}

// saysUnknownSession reads the words of a refusal. "Session already exists" is said
// of a stream that the server has not noticed the end of.
func saysUnknownSession(body []byte) bool {
	words := bytes.ToLower(body)
	return bytes.Contains(words, []byte("session")) && !bytes.Contains(words, []byte("already"))
}

// broken is how an error says that a connection ended.
func (h *httpWire) broken(err error) error {
	if errors.Is(err, io.EOF) {
		return errors.New("the connection was closed")
	}
	return h.masked(err)
}

// masked keeps secrets out of an error that came from elsewhere.
func (h *httpWire) masked(err error) error {
	text := err.Error()
	if masked := h.redactor.text(text); masked != text {
		return errors.New(masked)
	}
	return err
}

func readExcerpt(body io.Reader) []byte {
	data, _ := io.ReadAll(io.LimitReader(body, maxRefusal)) // what came before an error is still worth quoting
	return data
}

func closeBody(response *http.Response) { _ = response.Body.Close() }
