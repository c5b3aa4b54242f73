package openai

import (
	"context"
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

	described *described
}

var (
	_ agent.LLM        = (*LLM)(nil)
	_ agent.Identified = (*LLM)(nil)
	_ agent.Describer  = (*LLM)(nil)
)

// Provider is the provider's name, as configured or as the endpoint's address
// tells.
func (l *LLM) Provider() string { return l.cfg.Provider }

// DefaultModel is the model of requests that name none; it may be empty.
func (l *LLM) DefaultModel() string { return l.cfg.Model }

// Generate makes one call; it never repeats it. Every error is an
// [*agent.ModelError]: it wraps the context's error when the caller's context
// ended, and agent.ErrReplyCut, ErrReplyStalled, ErrReplyTimeout, ErrReplyEmpty,
// ErrReplyTooLarge, ErrModelToolCall or ErrContentFiltered (of what was sent) where
// one of these is what happened.
//
// Deltas carry attempt 1. A tool call of a reply that finished with
// [agent.FinishLength] may be cut. The words of a refusal are the message's text.
// Reasoning is no text, also where a reply opens with it in think tags: it is in
// the message's Extra.
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
	merge.settle()
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

func (l *LLM) post(ctx context.Context, model string, body []byte) (*http.Response, error) {
	var resp *http.Response
	err := l.client.Post(ctx, l.cfg.path(model), body, &resp)
	return resp, err
}
