package agent

import (
	"errors"
	"fmt"
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
	// ErrTurnLimit is what a [*TurnLimitError] matches.
	ErrTurnLimit = errors.New("turn limit reached")
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

// TurnLimitError says that a loop ended at its turn limit with the model still
// asking for tools.
type TurnLimitError struct {
	Limit int
}

func (e *TurnLimitError) Error() string {
	return fmt.Sprintf("the agent still asked for tools after %d turns; raise execution_max_turns or narrow the step", e.Limit)
}

// Is reports whether target is [ErrTurnLimit].
func (e *TurnLimitError) Is(target error) bool { return target == ErrTurnLimit }

// SuspendError asks to leave the process while something outside is awaited,
// such as a person's answer.
type SuspendError struct {
	Reason string
}

func (e *SuspendError) Error() string { return "suspended: " + e.Reason }

// Suspend returns the error by which a [Reentrant] tool leaves the run; see
// [SuspendError]. From any other tool it is refused.
func Suspend(reason string) error { return &SuspendError{Reason: reason} }
