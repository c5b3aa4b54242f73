package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrUnknownProvider is what [ModelMap] returns for a provider it lacks.
	ErrUnknownProvider = errors.New("no model backend for this provider")
	// ErrReplyCut is in a [ModelError] whose reply ended before the provider said
	// that it was complete.
	ErrReplyCut = errors.New("the reply ended early")
	// ErrReplyStalled is in a [ModelError] whose reply stopped arriving.
	ErrReplyStalled = errors.New("the reply stalled")
	// ErrReplyTimeout is in a [ModelError] whose reply took longer than the
	// backend's own limit for one call.
	ErrReplyTimeout = errors.New("the reply took too long")
	// ErrReplyEmpty is in a [ModelError] whose reply was complete and held neither
	// text nor a tool call.
	ErrReplyEmpty = errors.New("the reply is empty")
	// ErrReplyTooLarge is in a [ModelError] whose reply passed the backend's limit.
	ErrReplyTooLarge = errors.New("the reply is too large")
	// ErrModelToolCall is in a [ModelError] of a provider that refused the tool call
	// that its own model wrote. Unlike other refusals it may be tried again, with
	// the provider's words told to the model.
	ErrModelToolCall = errors.New("the provider refused the model's own tool call")
	// ErrRefused is in a [ReplyError] whose model declined to answer.
	ErrRefused = errors.New("the model refused")
	// ErrContentFiltered is in a [ReplyError] that the provider's filter ended, and in a
	// [ModelError] by which the provider refused a call for the same reason.
	ErrContentFiltered = errors.New("the provider's content filter ended the reply")
	// ErrOutputLimit is in a [ReplyError] after too many replies in a row that were
	// cut by the limit of output tokens.
	ErrOutputLimit = errors.New("the replies were cut by the output limit")
	// ErrNoActiveAgent is what [Steering.Send] returns when no loop runs.
	ErrNoActiveAgent = errors.New("no_active_agent: no agent is running that could take the message")
)

// ModelError is a failed model call.
type ModelError struct {
	Provider   string        // such as "openai"
	Model      string        // as asked for
	StatusCode int           // HTTP status; 0 when there was no response
	Code       string        // the provider's own code or type, when it gave one
	Message    string        // the provider's words
	RetryAfter time.Duration // what the provider asked for; 0 when it did not
	Retryable  bool          // whether the same call may succeed later
	// Body is the response body as the provider sent it, cut to a sane length, or
	// the event of a stream that held the error; for logs. It is empty when there
	// was none. Credentials of the backend are taken out.
	Body string
	// Partial is what had arrived when the reply broke off; nil when nothing had.
	// Its tool calls may be cut, and its usage may have been billed.
	Partial *Response
	Err     error
}

func (e *ModelError) Error() string {
	msg := "model call"
	if e.Provider != "" {
		msg += " to " + e.Provider
	}
	if e.Model != "" {
		msg += " (" + e.Model + ")"
	}
	if e.StatusCode != 0 {
		msg += fmt.Sprintf(": status %d", e.StatusCode)
	}
	if e.Code != "" {
		msg += ": " + e.Code
	}
	switch {
	case e.Message != "":
		msg += ": " + e.Message
	case e.Err != nil:
		msg += ": " + e.Err.Error()
	}
	return msg
}

func (e *ModelError) Unwrap() error { return e.Err }

// ReplyError is a reply that is complete and ends the loop without an answer.
type ReplyError struct {
	Err    error  // ErrRefused, ErrContentFiltered or ErrOutputLimit
	Text   string // what the model said
	Result *Result
}

func (e *ReplyError) Error() string {
	switch {
	case errors.Is(e.Err, ErrOutputLimit):
		return e.Err.Error() + " again and again; raise the output limit or ask for less at a time"
	case e.Text != "":
		return e.Err.Error() + ": " + clipText(e.Text, maxErrorText)
	}
	return e.Err.Error()
}

func (e *ReplyError) Unwrap() error { return e.Err }

// TriesError says that a model call failed more than once and was given up. It
// wraps the last failure.
type TriesError struct {
	Tries []FailedTry
	Err   error
}

func (e *TriesError) Error() string {
	return fmt.Sprintf("gave up after %d tries: %v", len(e.Tries), e.Err)
}

func (e *TriesError) Unwrap() error { return e.Err }

// maxErrorText is how many bytes of foreign words an error quotes.
const maxErrorText = 500

func clipText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// SuspendError asks to leave the process while something outside is awaited,
// such as a person's answer.
type SuspendError struct {
	Reason string
}

func (e *SuspendError) Error() string { return "suspended: " + e.Reason }

// Suspend returns the error by which a [Reentrant] tool leaves the run; see
// [SuspendError]. From any other tool it is refused.
func Suspend(reason string) error { return &SuspendError{Reason: reason} }
