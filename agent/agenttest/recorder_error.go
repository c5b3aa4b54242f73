package agenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// recordedError is an error of a backend in a recording.
type recordedError struct {
	Text string `json:"text"`
	// Kind names the sentinel of package agent that the error matched.
	Kind string `json:"kind,omitempty"`
	// Model holds the fields of an [agent.ModelError], when it was one.
	Model *recordedModelError `json:"model_error,omitempty"`
}

type recordedModelError struct {
	Provider     string          `json:"provider,omitempty"`
	Model        string          `json:"model,omitempty"`
	StatusCode   int             `json:"status_code,omitempty"`
	Code         string          `json:"code,omitempty"`
	Message      string          `json:"message,omitempty"`
	RetryAfterMS int64           `json:"retry_after_ms,omitempty"`
	Retryable    bool            `json:"retryable,omitempty"`
	Body         string          `json:"body,omitempty"`
	Partial      *agent.Response `json:"partial,omitempty"`
	Cause        string          `json:"cause,omitempty"`
}

// errorKinds are the sentinels that a replayed error matches again.
var errorKinds = []struct {
	name string
	err  error
}{
	{"reply_cut", agent.ErrReplyCut},
	{"reply_stalled", agent.ErrReplyStalled},
	{"reply_timeout", agent.ErrReplyTimeout},
	{"reply_empty", agent.ErrReplyEmpty},
	{"reply_too_large", agent.ErrReplyTooLarge},
	{"model_tool_call", agent.ErrModelToolCall},
}

func recordError(err error) *recordedError {
	if err == nil {
		return nil
	}
	rec := &recordedError{Text: err.Error()}
	for _, kind := range errorKinds {
		if errors.Is(err, kind.err) {
			rec.Kind = kind.name
		}
	}
	if failure, ok := errors.AsType[*agent.ModelError](err); ok {
		rec.Model = &recordedModelError{
			Provider: failure.Provider, Model: failure.Model, StatusCode: failure.StatusCode, Code: failure.Code,
			Message: failure.Message, RetryAfterMS: failure.RetryAfter.Milliseconds(), Retryable: failure.Retryable,
			Body: failure.Body, Partial: failure.Partial,
		}
		if failure.Err != nil {
			rec.Model.Cause = failure.Err.Error()
		}
	}
	return rec
}

func (rec *recordedError) restore() error {
	var kind error
	for _, k := range errorKinds {
		if k.name == rec.Kind {
			kind = k.err
		}
	}
	m := rec.Model
	if m == nil {
		return restoreCause(rec.Text, kind)
	}
	return &agent.ModelError{
		Provider: m.Provider, Model: m.Model, StatusCode: m.StatusCode, Code: m.Code, Message: m.Message,
		RetryAfter: time.Duration(m.RetryAfterMS) * time.Millisecond, Retryable: m.Retryable,
		Body: m.Body, Partial: m.Partial, Err: restoreCause(m.Cause, kind),
	}
}

func restoreCause(text string, kind error) error {
	switch {
	case kind != nil && (text == "" || text == kind.Error()):
		return kind
	case kind != nil:
		return &replayedError{text, kind}
	case text == "":
		return nil
	}
	return errors.New(text)
}

// replayedError has the words of the recorded error and matches its sentinel.
type replayedError struct {
	text string
	kind error
}

func (e *replayedError) Error() string { return e.text }
func (e *replayedError) Unwrap() error { return e.kind }

// UnexpectedRequestError is a request that a replay does not know.
type UnexpectedRequestError struct {
	File string
	// Differences tell how the request differs from the most similar one that has
	// not been asked for yet, at most ten; nil when there is none left.
	Differences []string
	// Request is the request, redacted, as JSON.
	Request json.RawMessage
}

func (e *UnexpectedRequestError) Error() string {
	text := fmt.Sprintf("agenttest: %s: %v", e.File, ErrNotRecorded)
	if len(e.Differences) == 0 {
		return text + ", and every recorded call has been made"
	}
	return text + "; it differs from the most similar one that is left:\n  " + strings.Join(e.Differences, "\n  ") +
		"\nrecord again if the change is meant"
}

// Is reports whether target is [ErrNotRecorded].
func (e *UnexpectedRequestError) Is(target error) bool { return target == ErrNotRecorded }

func (r *Recorder) unexpected(request json.RawMessage) error {
	e := &UnexpectedRequestError{File: r.cfg.File, Request: request}
	least := -1
	keys := make([]string, 0, len(r.waiting))
	for key := range r.waiting {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		for _, rec := range r.waiting[key] {
			if differences := compareJSON(rec.Request, request); least < 0 || len(differences) < least {
				least, e.Differences = len(differences), differences
			}
		}
	}
	if len(e.Differences) > maxDifferences {
		more := len(e.Differences) - maxDifferences
		e.Differences = append(e.Differences[:maxDifferences:maxDifferences], fmt.Sprintf("and %d more", more))
	}
	return e
}
