package agenttest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
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
	var failure *agent.ModelError
	if errors.As(err, &failure) {
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

const (
	maxDifferences = 10
	maxShownValue  = 120
)

// compareJSON tells the places where two documents differ.
func compareJSON(recorded, asked json.RawMessage) []string {
	var a, b any
	if json.Unmarshal(recorded, &a) != nil || json.Unmarshal(asked, &b) != nil {
		return []string{"the recorded request cannot be read"}
	}
	var differences []string
	compareValues("", a, b, func(at, what string) { differences = append(differences, at+": "+what) })
	return differences
}

func compareValues(at string, a, b any, report func(at, what string)) {
	switch recorded := a.(type) {
	case map[string]any:
		if asked, ok := b.(map[string]any); ok {
			compareObjects(at, recorded, asked, report)
			return
		}
	case []any:
		if asked, ok := b.([]any); ok {
			for i := range max(len(recorded), len(asked)) {
				place := fmt.Sprintf("%s/%d", at, i)
				switch {
				case i >= len(asked):
					report(place, "only in the recording: "+shown(recorded[i]))
				case i >= len(recorded):
					report(place, "not in the recording: "+shown(asked[i]))
				default:
					compareValues(place, recorded[i], asked[i], report)
				}
			}
			return
		}
	default:
		if a == b { // neither is an object or a list
			return
		}
	}
	before, now := shownPair(a, b)
	report(at, "recorded "+before+", asked "+now)
}

func compareObjects(at string, recorded, asked map[string]any, report func(at, what string)) {
	names := make([]string, 0, len(recorded)+len(asked))
	for name := range recorded {
		names = append(names, name)
	}
	for name := range asked {
		if _, both := recorded[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		place := at + "/" + workspace.PointerEscape(name)
		a, inRecorded := recorded[name]
		b, inAsked := asked[name]
		switch {
		case !inAsked:
			report(place, "only in the recording: "+shown(a))
		case !inRecorded:
			report(place, "not in the recording: "+shown(b))
		default:
			compareValues(place, a, b, report)
		}
	}
}

// shownPair shows two values; of long texts, what stands around their first
// difference.
func shownPair(a, b any) (string, string) {
	before, now := asJSON(a), asJSON(b)
	same := 0
	for same < min(len(before), len(now)) && before[same] == now[same] {
		same++
	}
	if from := same - maxShownValue/3; from > 0 && max(len(before), len(now)) > maxShownValue {
		before, now = "…"+strings.ToValidUTF8(before[from:], ""), "…"+strings.ToValidUTF8(now[from:], "")
	}
	return cutShown(before), cutShown(now)
}

func shown(value any) string { return cutShown(asJSON(value)) }

func asJSON(value any) string {
	data, _ := json.Marshal(value) // decoded JSON always encodes
	return string(data)
}

func cutShown(text string) string {
	if len(text) <= maxShownValue {
		return text
	}
	return strings.ToValidUTF8(text[:maxShownValue], "") + "…"
}

// mapStrings changes every string of a JSON document, names of members included,
// and leaves its form as it is.
func mapStrings(data []byte, change func(string) string) []byte {
	if change == nil {
		return data
	}
	var out bytes.Buffer
	for rest := data; len(rest) > 0; {
		start := bytes.IndexByte(rest, '"')
		if start < 0 {
			out.Write(rest)
			break
		}
		end := start + 1
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end+1, len(rest))
		literal := rest[start:end]
		var text string
		if json.Unmarshal(literal, &text) == nil {
			if changed := change(text); changed != text {
				literal, _ = json.Marshal(changed) // a string always encodes
			}
		}
		out.Write(rest[:start])
		out.Write(literal)
		rest = rest[end:]
	}
	return out.Bytes()
}
