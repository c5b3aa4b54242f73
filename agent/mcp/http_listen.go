package mcp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// listenWait is how long a start waits for the stream of notifications to open.
// Some servers send nothing of it, not even a status, before the first event.
const listenWait = 500 * time.Millisecond

// startListening opens the stream on which a server tells what answers no
// request, such as that its tools have changed. A server need not offer it. It is
// waited for: what a server says while nobody listens is lost, and a call in which
// it asks something there would wait for the answer to the end of its time.
func (h *httpWire) startListening(ctx context.Context) {
	h.mu.Lock()
	needed := !h.listening && !h.older && !mcp.IsModernProtocol(h.version)
	h.listening = h.listening || needed
	h.mu.Unlock()
	if !needed {
		return
	}
	tried := make(chan struct{})
	if !h.spawn(func(life context.Context) { h.listen(life, sync.OnceFunc(func() { close(tried) })) }) {
		return
	}
	limit := time.NewTimer(listenWait)
	defer limit.Stop()
	select {
	case <-tried:
	case <-limit.C:
	case <-ctx.Done():
	case <-h.lost:
	}
}

func (h *httpWire) isListening() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.listening
}

// listen keeps the stream open for as long as the session lives. It calls tried
// when the server has answered, whatever that was.
func (h *httpWire) listen(ctx context.Context, tried func()) {
	defer tried()
	stream := &eventStream{}
	opened, failures := false, 0
	began := time.Now()
	for {
		response, err := h.openStream(ctx, "the stream of notifications", stream.lastID)
		tried()
		if err != nil && !h.listensOn(ctx, err, opened) {
			return
		}
		if err != nil {
			failures++
		} else {
			late := !opened && (failures > 0 || time.Since(began) >= listenWait)
			if late || (opened && stream.lastID == "") {
				h.missed()
			}
			opened, failures = true, 0
			err = stream.read(response.Body, func(e event, replayed bool) {
				if e.name == "message" {
					h.inbox.receive(e.data, replayed, nil)
				}
			})
			closeBody(response)
			stream.resumed = true
		}
		if errors.Is(err, errTooLong) {
			h.server.Logger.Warn("the stream of notifications is given up: it sent an event that is too long")
			return
		}
		if pause(ctx, stream.delay(failures)) != nil {
			return
		}
	}
}

// listensOn reports whether the stream is to be tried again after it did not open.
// A stream that never opened is one that the server does not offer.
func (h *httpWire) listensOn(ctx context.Context, err error, opened bool) bool {
	if ctx.Err() != nil {
		return false
	}
	gone, isGone := errors.AsType[*SessionLostError](err)
	switch {
	case isGone && opened:
		h.lose(gone.Reason, true)
		return false
	case isPassing(err):
		return true
	}
	close(h.deaf)
	h.server.Logger.Debug("the server sends no notifications of its own accord", "reason", err)
	return false
}

// missed has the tools listed again after a time in which a notification may have
// been lost: nobody listened yet, or the server gives its events no ids, so that
// none comes again.
func (h *httpWire) missed() {
	h.inbox.tell(mcp.JSONRPCNotification{
		JSONRPC:      mcp.JSONRPC_VERSION,
		Notification: mcp.Notification{Method: mcp.MethodNotificationToolsListChanged},
	})
}

// openStream asks for a stream of events, after the last one of an earlier
// connection where lastID is not empty. Its errors are an [*HTTPError], a
// [*LoginNeededError], a [*SessionLostError] or the context's.
func (h *httpWire) openStream(ctx context.Context, what, lastID string) (*http.Response, error) {
	r := &httpRequest{verb: http.MethodGet, url: h.url, what: what, header: http.Header{}}
	if lastID != "" {
		r.header.Set("Last-Event-ID", lastID)
	}
	response, err := h.do(ctx, r)
	if err != nil {
		return nil, err
	}
	if response.StatusCode/100 != 2 {
		defer closeBody(response)
		return nil, h.refusal(what, response, readExcerpt(response.Body))
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind != "text/event-stream" {
		defer closeBody(response)
		return nil, &HTTPError{
			Server: h.server.Name, Method: what, Status: response.StatusCode,
			Err: fmt.Errorf("it is %s, not an event stream", orNothing(kind)),
		}
	}
	return response, nil
}

// isPassing reports whether what kept a stream from opening may pass: no answer, a
// server in trouble, or one that has not noticed the end of the last connection.
func isPassing(err error) bool {
	failed, ok := errors.AsType[*HTTPError](err)
	if !ok {
		return false
	}
	switch failed.Status {
	case http.StatusBadRequest:
		return strings.Contains(failed.Body, "already") // as some say for 409
	case 0, http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	case http.StatusNotImplemented:
		return false
	}
	return failed.Status >= 500
}

// openEvents opens the one stream of the older transport, and returns once the
// server has said where messages go. The stream is the session: when it ends, so
// does that.
func (h *httpWire) openEvents(ctx context.Context) error {
	own, cancel := context.WithCancel(h.life)
	defer context.AfterFunc(ctx, cancel)() // only until it is open
	response, err := h.openStream(own, "the stream of events", "")
	if err != nil {
		cancel()
		return orContext(ctx, err)
	}
	opened := make(chan error, 1)
	started := h.spawn(func(context.Context) {
		defer cancel()
		h.readEvents(response, opened)
	})
	if !started {
		cancel()
		closeBody(response)
		return ErrSessionClosed
	}
	select {
	case err = <-opened:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err != nil {
		cancel()
	}
	return orContext(ctx, err)
}

// orContext prefers the end of a context to what it caused.
func orContext(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (h *httpWire) readEvents(response *http.Response, opened chan<- error) {
	defer closeBody(response)
	var isOpen, refused bool
	err := (&eventStream{}).read(response.Body, func(e event, _ bool) {
		switch {
		case e.name == "endpoint" && !isOpen && !refused:
			posts, err := h.endpoint(string(e.data))
			if err == nil {
				h.mu.Lock()
				h.posts, h.older = posts, true
				h.mu.Unlock()
			}
			isOpen, refused = err == nil, err != nil
			opened <- err
		case e.name == "message":
			h.inbox.receive(e.data, false, nil)
		}
	})
	switch {
	case errors.Is(err, errTooLong):
		h.lose(errAnswerTooLong.Error(), false)
	case isOpen:
		h.lose("its event stream ended", true)
	case !refused:
		opened <- &HTTPError{
			Server: h.server.Name, Method: "the stream of events", Status: response.StatusCode,
			Err: fmt.Errorf("it ended before it said where messages go: %w", h.broken(err)),
		}
	}
}

// endpoint reads where messages go. It must be of the same origin: they carry the
// headers, which are the user's secrets.
func (h *httpWire) endpoint(data string) (*url.URL, error) {
	posts, err := h.url.Parse(data)
	if err != nil {
		return nil, &HTTPError{Server: h.server.Name, Method: "the stream of events", Status: http.StatusOK, Err: errors.New("the endpoint it names is not a URL")}
	}
	if !sameOrigin(posts, h.url) {
		return nil, &HTTPError{
			Server: h.server.Name, Method: "the stream of events", Status: http.StatusOK,
			Err: fmt.Errorf("the endpoint it names is on another server (%s), which must not get the headers", originText(posts)),
		}
	}
	for _, values := range posts.Query() {
		for _, value := range values {
			h.redactor.learn(value) // the session's name
		}
	}
	if posts.User == nil {
		posts.User = h.url.User
	}
	return posts, nil
}
