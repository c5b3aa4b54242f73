package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// ListModels returns the ids of the models that the endpoint offers, in its own
// order. Not every compatible server has a list; its error is an
// [*agent.ModelError] then, as for all failures.
func (l *LLM) ListModels(ctx context.Context) ([]string, error) {
	watch := newWatch(ctx, l.cfg.RequestTimeout, l.cfg.IdleTimeout)
	defer watch.stop()
	var resp *http.Response
	err := l.client.Get(watch.ctx, l.cfg.modelsPath(), nil, &resp)
	if resp == nil {
		return nil, l.complete(watch.broken(err), "")
	}
	defer resp.Body.Close()
	body, readErr := io.ReadAll(io.LimitReader(watch.reader(resp.Body), l.cfg.MaxReplyBytes))
	switch {
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		return nil, l.complete(refused(resp, body, time.Now()), "")
	case readErr != nil:
		return nil, l.complete(watch.brokenReply(readErr), "")
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil || list.Data == nil {
		return nil, l.complete(&agent.ModelError{
			StatusCode: resp.StatusCode, Message: "the endpoint's list of models cannot be read",
			Body: clip(string(body), maxErrorBody), Err: errNotAReply,
		}, "")
	}
	ids := make([]string, 0, len(list.Data))
	for _, model := range list.Data {
		ids = append(ids, model.ID)
	}
	return ids, nil
}
