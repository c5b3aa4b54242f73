package mcp

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

var (
	// ErrServerDied is what a [*DiedError] matches.
	ErrServerDied = errors.New("mcp server died")
	// ErrStart is what a [*StartError] matches.
	ErrStart = errors.New("mcp server did not start")
	// ErrStartTimeout is what a [*StartError] matches when the server did not
	// answer within [Server.StartTimeout].
	ErrStartTimeout = errors.New("mcp server did not answer in time at its start")
	// ErrCallTimeout is what a [*CallTimeoutError] matches.
	ErrCallTimeout = errors.New("mcp call timed out")
	// ErrSessionClosed is returned by the tools of a session that was closed.
	ErrSessionClosed = errors.New("mcp session is closed")
	// ErrListing is what a [*ListError] matches.
	ErrListing = errors.New("mcp server's tool list is not usable")
	// ErrStillRunning is returned by Close when the server's process could not be
	// ended within [Server.CloseTimeout], not even by a kill, or requests to its url
	// did not end though they were given up.
	ErrStillRunning = errors.New("mcp server could not be stopped")
	// ErrMissingVariable is what [ReadConfig] reports for a ${NAME} that the lookup
	// does not know and that has no default.
	ErrMissingVariable = errors.New("missing variable")
)

// DiedError says that the server's process ended, or closed its output, while it
// was needed. Whether the call that got it took effect is not known.
type DiedError struct {
	Server string
	// Status is how it ended, such as "exit status 1" or "signal: killed".
	Status string
	// Stderr is the end of what it wrote to its standard error, at most 4 KB.
	Stderr string
}

func (e *DiedError) Error() string {
	return fmt.Sprintf("mcp server %q died (%s)%s", e.Server, e.Status, stderrClause(e.Stderr))
}

// Is reports whether target is [ErrServerDied].
func (e *DiedError) Is(target error) bool { return target == ErrServerDied }

// StartError says that a server was not ready for use.
type StartError struct {
	Server  string
	Command string // empty for a server reached by url
	URL     string // without user and query; empty for a server started by a command
	// Timeout is [Server.StartTimeout] when that ran out, else 0.
	Timeout time.Duration
	// Stderr is the end of what it wrote to its standard error, at most 4 KB.
	Stderr string
	Err    error
}

func (e *StartError) Error() string {
	place, what := e.Command, "command"
	if e.URL != "" {
		place, what = e.URL, "url"
	}
	msg := fmt.Sprintf("mcp server %q (%s) did not start: ", e.Server, place)
	if e.Timeout > 0 {
		msg += fmt.Sprintf("no answer to initialize within %s; check the %s, or raise the start timeout", e.Timeout, what)
	} else {
		msg += e.Err.Error()
	}
	if _, ok := errors.AsType[*DiedError](e.Err); ok {
		return msg // which quotes stderr already
	}
	return msg + stderrClause(e.Stderr)
}

func (e *StartError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrStart], or [ErrStartTimeout] after a timeout.
func (e *StartError) Is(target error) bool {
	return target == ErrStart || (target == ErrStartTimeout && e.Timeout > 0)
}

// CallTimeoutError says that a call was given up after [Server.CallTimeout], or
// after [Server.MaxCallTimeout] when the server made progress to the end. The
// server was told; whether the call took effect is not known.
type CallTimeoutError struct {
	Server  string
	Tool    string        // the server's own name of the tool
	Timeout time.Duration // the limit that ran out
	// Progress says that the server still reported progress: Timeout is the hard
	// limit.
	Progress bool
	// Unread says that the server had not even read the call: it has stopped
	// reading its input, and is started again for the next call.
	Unread bool
}

func (e *CallTimeoutError) Error() string {
	if e.Progress {
		return fmt.Sprintf("mcp server %q: %s was still at work after %s, the most that progress may extend a call to; ask for less at once, or raise the limit; it may still have taken effect",
			e.Server, e.Tool, e.Timeout)
	}
	msg := fmt.Sprintf("mcp server %q: %s did not answer within %s", e.Server, e.Tool, e.Timeout)
	if e.Unread {
		return msg + "; the server has stopped reading its input"
	}
	return msg + "; it may still have taken effect"
}

// Is reports whether target is [ErrCallTimeout].
func (e *CallTimeoutError) Is(target error) bool { return target == ErrCallTimeout }

// ServerError is an error that the server itself answered with.
type ServerError struct {
	Server  string
	Method  string // such as "tools/call"
	Tool    string // the server's own name of the tool, for a call
	Code    int    // JSON-RPC error code
	Message string
	Data    string // what the server sent along, as JSON; empty when nothing
}

func (e *ServerError) Error() string {
	what := e.Method
	if e.Tool != "" {
		what = e.Tool
	}
	msg := fmt.Sprintf("mcp server %q refused %s: %s (code %d)", e.Server, what, e.Message, e.Code)
	if e.Data != "" {
		msg += ": " + e.Data
	}
	return msg
}

// ListError says that the tools of a server could not be listed to the end.
type ListError struct {
	Server string
	Reason string
	Err    error
}

func (e *ListError) Error() string {
	msg := fmt.Sprintf("mcp server %q: listing its tools: %s", e.Server, e.Reason)
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	return msg
}

func (e *ListError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrListing].
func (e *ListError) Is(target error) bool { return target == ErrListing }

func stderrClause(tail string) string {
	tail = strings.TrimSpace(tail)
	if tail == "" {
		return ""
	}
	return "; it wrote to stderr: " + tail
}
