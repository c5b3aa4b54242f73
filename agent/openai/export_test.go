package openai

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// ReadBody reads a response body with status 200 as Generate does, without a
// request before it.
func ReadBody(ctx context.Context, body io.Reader, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
	llm := &LLM{cfg: Config{Provider: "test", RequestTimeout: -1, IdleTimeout: time.Minute, MaxReplyBytes: defaultMaxReplyBytes}}
	watch := newWatch(ctx, -1, time.Minute)
	defer watch.stop()
	resp, failure := llm.read(&http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(body)}, req, sink, watch)
	if failure != nil {
		return nil, llm.complete(failure, "test-model")
	}
	return resp, nil
}
