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
	list, err := l.listModels(ctx, l.cfg.RequestTimeout)
	if err != nil {
		return nil, err
	}
	ids := make([]string, 0, len(list))
	for i := range list {
		ids = append(ids, list[i].ID)
	}
	return ids, nil
}

// listedModel is an entry of an endpoint's list. The limits are in tokens, under
// the names that different endpoints give them.
type listedModel struct {
	ID string `json:"id"`

	ContextLength    json.RawMessage `json:"context_length"`     // OpenRouter
	ContextWindow    json.RawMessage `json:"context_window"`     // Groq
	MaxModelLen      json.RawMessage `json:"max_model_len"`      // vLLM
	MaxContextLength json.RawMessage `json:"max_context_length"` // Mistral

	MaxCompletionTokens json.RawMessage `json:"max_completion_tokens"` // Groq
	TopProvider         json.RawMessage `json:"top_provider"`          // OpenRouter
}

// info is what the entry says of its model; what it does not say, or says in a way
// that cannot be, is unknown.
func (m *listedModel) info() agent.ModelInfo {
	var provider struct {
		MaxCompletionTokens json.RawMessage `json:"max_completion_tokens"`
	}
	if json.Unmarshal(m.TopProvider, &provider) != nil {
		provider.MaxCompletionTokens = nil
	}
	return agent.ModelInfo{
		Model:           m.ID,
		ContextWindow:   firstLimit(m.ContextLength, m.ContextWindow, m.MaxModelLen, m.MaxContextLength),
		MaxOutputTokens: firstLimit(provider.MaxCompletionTokens, m.MaxCompletionTokens),
	}
}

func firstLimit(reported ...json.RawMessage) int64 {
	for _, raw := range reported {
		if n := number(raw); n != nil && *n > 0 {
			return *n
		}
	}
	return 0
}

// listModels asks for the list, for so long. A bound that is not positive is none.
func (l *LLM) listModels(ctx context.Context, bound time.Duration) ([]listedModel, error) {
	watch := newWatch(ctx, bound, l.cfg.IdleTimeout)
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
		Data []listedModel `json:"data"`
	}
	if json.Unmarshal(body, &list) != nil || list.Data == nil {
		return nil, l.complete(&agent.ModelError{
			StatusCode: resp.StatusCode, Message: "the endpoint's list of models cannot be read",
			Body: clip(string(body), maxErrorBody), Err: errNotAReply,
		}, "")
	}
	return list.Data, nil
}
