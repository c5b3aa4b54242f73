package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxResumes is how often in a row a broken stream may fail to open again.
const maxResumes = 8

var errNoAnswer = errors.New("it took the request and sent no answer")

// errElsewhere says that the answer to a request comes on another stream.
var errElsewhere = errors.New("the answer comes on another stream")

// exchange is one request and the way to its answer.
type exchange struct {
	wire   *httpWire
	id     mcp.RequestId
	method string
	body   []byte
	header http.Header  // of this request alone
	status atomic.Int32 // what the server answered the request with
}

// run sends the request once and waits for its answer. The stream that brings it
// is left to end by itself for a moment, so that its connection can be used again.
func (x *exchange) run(ctx context.Context) (*transport.JSONRPCResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	answer, forget := x.wire.inbox.expect(x.id)
	defer forget()

	own, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan error, 1)
	started := x.wire.spawn(func(life context.Context) {
		defer cancel()
		defer context.AfterFunc(life, cancel)()
		done <- x.post(own)
	})
	if !started {
		cancel()
		return nil, transport.ErrTransportClosed
	}
	var deaf <-chan struct{}
	for {
		select {
		case response := <-answer:
			time.AfterFunc(lingerTime, cancel)
			return response, nil
		case <-ctx.Done():
			cancel()
			return nil, ctx.Err()
		case <-x.wire.lost:
			cancel()
			return orLate(answer, transport.ErrTransportClosed)
		case <-deaf:
			return orLate(answer, x.failed(http.StatusAccepted, errNoAnswer))
		case err := <-done:
			if errors.Is(err, errElsewhere) {
				done = nil // the stream of notifications may bring it
				if !x.wire.isOlder() {
					deaf = x.wire.deaf
				}
				continue
			}
			if lost(x.wire) {
				err = transport.ErrTransportClosed
			}
			return orLate(answer, err)
		}
	}
}

// orLate returns an answer that came just before an error.
func orLate(answer <-chan *transport.JSONRPCResponse, err error) (*transport.JSONRPCResponse, error) {
	select {
	case response := <-answer:
		return response, nil
	default:
		return nil, err
	}
}

// post sends the request and takes in what the server answers it with, to the end
// of the stream. It returns nil when the answer is in the inbox, or nobody waits
// for it any more.
func (x *exchange) post(ctx context.Context) error {
	h := x.wire
	response, err := h.do(ctx, &httpRequest{verb: http.MethodPost, url: h.target(), body: x.body, header: x.header, what: x.method})
	if err != nil {
		if refused, ok := errors.AsType[*LoginNeededError](err); ok {
			x.status.Store(int32(refused.Status))
		}
		return err
	}
	x.status.Store(int32(response.StatusCode))
	if response.StatusCode/100 != 2 {
		defer closeBody(response)
		return x.refused(response)
	}
	if x.method == string(mcp.MethodInitialize) {
		session := response.Header.Get(transport.HeaderKeySessionID)
		h.redactor.learn(session) // who knows it may speak in the session
		h.mu.Lock()
		h.session = session
		h.mu.Unlock()
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == "text/event-stream" {
		return x.follow(ctx, response)
	}
	defer closeBody(response)
	return x.single(response, kind)
}

// refused takes in an answer whose status is no success. A JSON-RPC error in it is
// the server's answer like any other.
func (x *exchange) refused(response *http.Response) error {
	h := x.wire
	body := readExcerpt(response.Body)
	err := h.refusal(x.method, response, body)
	if gone, ok := errors.AsType[*SessionLostError](err); ok {
		h.lose(gone.Reason, true)
		return err
	}
	if isErrorMessage(body) && h.inbox.receive(body, false, &x.id) && !h.inbox.waits(x.id) {
		return nil
	}
	return err
}

// isErrorMessage tells an error of JSON-RPC from the JSON that proxies and
// frameworks send with a status.
func isErrorMessage(body []byte) bool {
	var message struct {
		Error struct {
			Code *int `json:"code"`
		} `json:"error"`
	}
	return json.Unmarshal(body, &message) == nil && message.Error.Code != nil
}

// looksLikeJSON tells a message from a page or a word, which are no stray messages
// but errors.
func looksLikeJSON(body []byte) bool {
	body = bytes.TrimSpace(body)
	return len(body) > 0 && (body[0] == '{' || body[0] == '[')
}

// single takes in an answer that is no stream.
func (x *exchange) single(response *http.Response, kind string) error {
	h := x.wire
	body, err := io.ReadAll(io.LimitReader(response.Body, maxMessage+1))
	switch {
	case err != nil:
		return x.failed(response.StatusCode, h.broken(err))
	case len(body) > maxMessage:
		return x.failed(response.StatusCode, errAnswerTooLong)
	}
	isMessage := looksLikeJSON(body) && h.inbox.receive(body, false, &x.id)
	switch {
	case !h.inbox.waits(x.id):
		return nil
	case h.isOlder() || (h.isListening() && (len(body) == 0 || response.StatusCode == http.StatusAccepted)):
		return errElsewhere
	case len(body) == 0:
		return x.failed(response.StatusCode, errNoAnswer)
	case isMessage:
		return x.failed(response.StatusCode, errors.New("it is not the answer to this request"))
	}
	return x.failed(response.StatusCode, fmt.Errorf("it is %s, which is neither JSON nor an event stream; check the url", orNothing(kind)))
}

func orNothing(kind string) string {
	if kind == "" {
		return "of no stated type"
	}
	return oneLine(kind, 100)
}

func (x *exchange) failed(status int, err error) error {
	return &HTTPError{Server: x.wire.server.Name, Method: x.method, Status: status, Err: err}
}

// follow reads the stream of events that brings the answer. A stream that breaks
// is resumed after its last event, which sends no request again.
func (x *exchange) follow(ctx context.Context, response *http.Response) error {
	stream := &eventStream{}
	for {
		err := x.read(stream, response)
		switch {
		case !x.wire.inbox.waits(x.id):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, errTooLong):
			return x.failed(response.StatusCode, errAnswerTooLong)
		case stream.lastID == "" || x.wire.isModern():
			return x.failed(response.StatusCode, fmt.Errorf("the stream ended before the answer: %w", x.wire.broken(err)))
		}
		if response, err = x.resume(ctx, stream); err != nil { //nolint:bodyclose // the next round closes it
			return err
		}
	}
}

// read takes in what comes on one connection of the stream, to its end.
func (x *exchange) read(stream *eventStream, response *http.Response) error {
	defer closeBody(response)
	return stream.read(response.Body, func(e event, replayed bool) {
		if e.name == "message" {
			x.wire.inbox.receive(e.data, replayed, &x.id)
		}
	})
}

// resume opens a broken stream again, with a longer wait after each failure.
func (x *exchange) resume(ctx context.Context, stream *eventStream) (*http.Response, error) {
	h := x.wire
	stream.resumed = true
	for failures := 1; ; failures++ {
		if err := pause(ctx, stream.delay(failures)); err != nil {
			return nil, err
		}
		response, err := h.openStream(ctx, x.method, stream.lastID)
		if err == nil {
			return response, nil
		}
		if gone, ok := errors.AsType[*SessionLostError](err); ok {
			h.lose(gone.Reason, true)
			return nil, err
		}
		if ctx.Err() != nil || errors.Is(err, ErrLoginNeeded) {
			return nil, err
		}
		if !isPassing(err) || failures == maxResumes {
			return nil, &HTTPError{Server: h.server.Name, Method: x.method, Err: fmt.Errorf("the stream broke before the answer and could not be resumed: %w", err)}
		}
	}
}
