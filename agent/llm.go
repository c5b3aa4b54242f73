package agent

import (
	"context"
	"encoding/json"
	"fmt"
)

// LLM is one model backend. It is safe for concurrent use.
type LLM interface {
	// Generate makes one model call. It does not change req. A non-nil sink gets
	// the reply while it arrives; the response is the same with and without.
	// Errors of the backend are, or wrap, a [*ModelError].
	Generate(ctx context.Context, req *Request, sink Sink) (*Response, error)
}

// Models finds the backend of a provider. An empty provider is the host's
// default.
type Models interface {
	LLM(ctx context.Context, provider string) (LLM, error)
}

// Single returns a [Models] that serves every provider with one backend.
func Single(llm LLM) Models { return single{llm} }

type single struct{ llm LLM }

func (s single) LLM(context.Context, string) (LLM, error) { return s.llm, nil }

// ModelMap is a [Models] by provider name; the key "" is the default.
type ModelMap map[string]LLM

// LLM returns the backend of a provider, or an error that names the provider.
func (m ModelMap) LLM(_ context.Context, provider string) (LLM, error) {
	if llm, ok := m[provider]; ok {
		return llm, nil
	}
	return nil, fmt.Errorf("provider %q: %w", provider, ErrUnknownProvider)
}

// Describer is the optional side of an [LLM] that knows its models.
type Describer interface {
	Describe(ctx context.Context, model string) (ModelInfo, error)
}

// Identified is the optional side of an [LLM] that knows whom it speaks to.
type Identified interface {
	// Provider is the provider's name, for records and prices.
	Provider() string
	// DefaultModel is the model of requests that name none; empty when such
	// requests fail.
	DefaultModel() string
}

// ModelInfo says what a model can take. Zero means unknown.
type ModelInfo struct {
	Model           string `json:"model"`
	ContextWindow   int64  `json:"context_window,omitempty"`    // tokens
	MaxOutputTokens int64  `json:"max_output_tokens,omitempty"` // tokens
}

// Request is what one model call sends. It is plain data.
type Request struct {
	// Model is the backend's own model id; empty is the backend's default.
	Model    string     `json:"model,omitempty"`
	Messages []Message  `json:"messages"`
	Tools    []ToolSpec `json:"tools,omitempty"`
	// Temperature and MaxOutputTokens are sent when they are set.
	Temperature     *float64 `json:"temperature,omitempty"`
	MaxOutputTokens *int64   `json:"max_output_tokens,omitempty"`
	// SerialTools asks the model for one tool call at a time.
	SerialTools bool `json:"serial_tools,omitempty"`
	// Output, when set, asks for a reply that is one JSON value of a schema.
	Output *OutputSchema `json:"output,omitempty"`
	// Options are further fields of the provider's request body, sent as they are.
	Options map[string]json.RawMessage `json:"options,omitempty"`
}

// FinishReason says why a reply ended.
type FinishReason string

// The reasons that the loop tells apart.
const (
	FinishStop          FinishReason = "stop"
	FinishToolCalls     FinishReason = "tool_calls"
	FinishLength        FinishReason = "length"
	FinishContentFilter FinishReason = "content_filter"
	FinishRefusal       FinishReason = "refusal"
)

// Response is one model reply. It is plain data.
type Response struct {
	// ID is the provider's id of the reply; for support requests, never a key.
	ID string `json:"id,omitempty"`
	// Model is the model that the provider says it used.
	Model   string       `json:"model,omitempty"`
	Message Message      `json:"message"`
	Finish  FinishReason `json:"finish_reason"`
	Usage   Usage        `json:"usage"`
	// Extra keeps what the provider reported of the reply as a whole; its "usage"
	// is the provider's own usage object, with a reported total or cost.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Sink receives a reply while it arrives. It is called from one goroutine at a
// time.
type Sink func(Delta)

// Delta is a piece of a reply.
type Delta struct {
	// Attempt counts the calls to the provider for this reply from 1. A higher
	// number than before means that the earlier pieces are void.
	Attempt int
	Text    string
	// ToolName is set when the reply starts a tool call.
	ToolName string
}
