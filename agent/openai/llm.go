package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"

	"github.com/treadle-dev/treadle/agent"
)

// LLM is a backend over one Chat Completions endpoint. It is safe for concurrent
// use. Make it with [New] or [FromEnv].
type LLM struct {
	cfg     Config
	profile Profile
	client  openai.Client
	secrets []string
}

var _ agent.LLM = (*LLM)(nil)

// Generate makes one call; it never repeats it. Every error is an
// [*agent.ModelError]: it wraps the context's error when the caller's context
// ended, and agent.ErrReplyCut, ErrReplyStalled, ErrReplyTimeout, ErrReplyEmpty,
// ErrReplyTooLarge or ErrModelToolCall where one of these is what happened.
//
// Deltas carry attempt 1. A tool call of a reply that finished with
// [agent.FinishLength] may be cut. The words of a refusal are the message's text.
func (l *LLM) Generate(ctx context.Context, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
	model := req.Model
	if model == "" {
		model = l.cfg.Model
	}
	if model == "" {
		return nil, l.complete(&agent.ModelError{Message: "no model is named; set one in the request, in Config.Model, or in " + EnvModel}, "")
	}
	stream := sink != nil
	if l.cfg.Streaming != nil {
		stream = *l.cfg.Streaming
	}
	body, err := l.requestBody(req, model, stream)
	if err != nil {
		return nil, l.complete(&agent.ModelError{Message: err.Error(), Err: err}, model)
	}
	resp, failure := l.call(ctx, req, model, body, sink)
	if failure != nil {
		return nil, l.complete(failure, model)
	}
	return resp, nil
}

// call makes the request and reads its reply.
func (l *LLM) call(ctx context.Context, req *agent.Request, model string, body []byte, sink agent.Sink) (*agent.Response, *agent.ModelError) {
	watch := newWatch(ctx, l.cfg.RequestTimeout, l.cfg.IdleTimeout)
	defer watch.stop()

	httpResp, err := l.post(watch.ctx, model, body)
	if httpResp != nil && httpResp.Body != nil {
		defer httpResp.Body.Close()
	}
	switch {
	case httpResp == nil:
		return nil, watch.broken(err)
	case httpResp.StatusCode < 200 || httpResp.StatusCode > 299:
		head, _ := io.ReadAll(io.LimitReader(watch.reader(httpResp.Body), maxErrorBody))
		if ctx.Err() != nil {
			return nil, watch.broken(err)
		}
		return nil, refused(httpResp, head, time.Now())
	case err != nil:
		return nil, watch.broken(err)
	}

	return l.read(httpResp, req, sink, watch)
}

// read reads the reply from a response that the provider did not refuse.
func (l *LLM) read(httpResp *http.Response, req *agent.Request, sink agent.Sink, watch *watch) (*agent.Response, *agent.ModelError) {
	merge := &replyMerge{sink: sink}
	source := &replySource{r: watch.reader(httpResp.Body), left: l.cfg.MaxReplyBytes}
	failure := readReply(source, merge, watch)
	if failure == nil {
		failure = merge.failure()
	}
	resp := merge.response(req)
	if resp != nil {
		l.markExtras(&resp.Message)
	}
	if failure == nil {
		return resp, nil
	}
	failure.StatusCode = httpResp.StatusCode
	if failure.Body == "" {
		failure.Body = string(source.head)
	}
	if resp != nil && !merge.finished() && !merge.whole {
		resp.Finish = ""
	}
	failure.Partial = resp
	return nil, failure
}

// complete fills in where an error happened, and takes credentials out of it.
func (l *LLM) complete(e *agent.ModelError, model string) *agent.ModelError {
	e.Provider, e.Model = l.cfg.Provider, model
	e.Message, e.Body, e.Code = l.redact(e.Message), l.redact(e.Body), l.redact(e.Code)
	return e
}

func (l *LLM) redact(s string) string {
	for _, secret := range l.secrets {
		s = strings.ReplaceAll(s, secret, "[redacted]")
	}
	return s
}

// readReply reads a response body into the merge. What the body is decides how it
// is read, since servers answer either form whatever was asked for.
func readReply(source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	first, err := source.firstByte()
	switch {
	case err != nil && errors.Is(err, io.EOF):
		return cut("the response body is empty")
	case err != nil:
		return watch.brokenReply(err)
	case strings.ContainsRune(`{["<`, rune(first)):
		return readWhole(source, merge, watch)
	}
	return readStream(source, merge, watch)
}

func readWhole(source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	merge.whole = true
	data, err := io.ReadAll(source)
	switch {
	case json.Valid(data):
		return merge.add(data)
	case err != nil:
		return watch.brokenReply(err)
	case len(data) > 0 && data[0] == '{':
		return cut("the response body ends inside its JSON")
	}
	return unreadable(data)
}

func readStream(source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	events := newEventReader(source)
	seen := false
	for {
		ev, err := events.next()
		if err != nil {
			return endOfStream(err, seen, source, merge, watch)
		}
		data := bytes.TrimSpace(ev.data)
		switch {
		case len(data) == 0:
			continue
		case string(data) == "[DONE]":
			merge.done = true
			watch.drain(source)
			return nil
		case !json.Valid(data) && !ev.closed:
			// The event was cut with the stream; the next read says so.
			continue
		case !json.Valid(data):
			failure := unreadable(data)
			failure.Retryable, failure.Body = seen, clip(string(data), maxErrorBody)
			return failure
		}
		seen = true
		failure := merge.add(data)
		if ev.name == "error" {
			failure = parseErrorBody(data).inReply()
		}
		if failure != nil {
			failure.Body = clip(string(data), maxErrorBody)
			return failure
		}
	}
}

// endOfStream judges a stream that ended without [DONE]. Many servers never send
// it, so a finish reason is enough: asking again would pay twice for a reply that
// is there.
func endOfStream(err error, seen bool, source *replySource, merge *replyMerge, watch *watch) *agent.ModelError {
	switch {
	case watch.callerLeft():
		return watch.brokenReply(err)
	case merge.finished():
		return nil
	case !errors.Is(err, io.EOF):
		return watch.brokenReply(err)
	case !seen && len(bytes.TrimSpace(source.head)) > 0 && !bytes.Contains(source.head, []byte("data:")):
		return unreadable(source.head)
	}
	return cut("the stream ended without a finish reason")
}

func cut(message string) *agent.ModelError {
	return &agent.ModelError{Message: message, Retryable: true, Err: agent.ErrReplyCut}
}

// maxErrorBody is how much of a response is kept for an error.
const maxErrorBody = 64 << 10

// replySource reads a response body up to a limit and keeps its head for errors.
type replySource struct {
	r      io.Reader
	left   int64
	head   []byte
	peeked []byte
}

func (s *replySource) Read(p []byte) (int, error) {
	if len(s.peeked) > 0 {
		n := copy(p, s.peeked)
		s.peeked = s.peeked[n:]
		return n, nil
	}
	if s.left <= 0 {
		return 0, agent.ErrReplyTooLarge
	}
	if int64(len(p)) > s.left {
		p = p[:s.left]
	}
	n, err := s.r.Read(p)
	s.left -= int64(n)
	if room := maxErrorBody - len(s.head); room > 0 {
		s.head = append(s.head, p[:min(n, room)]...)
	}
	return n, err
}

// firstByte skips leading white space and returns the first byte after it, which
// stays to be read.
func (s *replySource) firstByte() (byte, error) {
	var buf [1]byte
	for {
		if _, err := io.ReadFull(s, buf[:]); err != nil {
			return 0, err
		}
		switch buf[0] {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // the last three are a byte order mark
			continue
		}
		s.peeked = []byte{buf[0]}
		return buf[0], nil
	}
}

func (l *LLM) post(ctx context.Context, model string, body []byte) (*http.Response, error) {
	var resp *http.Response
	err := l.client.Post(ctx, l.cfg.path(model), body, &resp)
	return resp, err
}
