package mcp

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

var (
	// ErrHTTP is what every [*HTTPError] matches.
	ErrHTTP = errors.New("mcp server gave no answer of the protocol")
	// ErrUnreachable is what an [*HTTPError] matches when the request did not reach
	// the server.
	ErrUnreachable = errors.New("mcp server could not be reached")
	// ErrSessionLost is what a [*SessionLostError] matches.
	ErrSessionLost = errors.New("mcp server has ended the session")
	// ErrLoginNeeded is what a [*LoginNeededError] matches.
	ErrLoginNeeded = errors.New("mcp server needs a login")
	// ErrInsufficientScope is what a [*LoginNeededError] matches when the login
	// works and does not allow enough.
	ErrInsufficientScope = errors.New("mcp login does not allow this")
)

// HTTPError says that a server reached by url did not answer as the protocol has
// it. Its texts have every secret masked that the session knows.
type HTTPError struct {
	Server string
	Method string // JSON-RPC method, such as "tools/call"
	// Status is the HTTP status; 0 when none came.
	Status int
	// Body is the start of what came with a status that is no success, at most 1 KB.
	Body string
	// Unsent says that the server did not get the request. Otherwise whether it took
	// effect is not known.
	Unsent bool
	// Err is what went wrong, where it is not the status.
	Err error
}

func (e *HTTPError) Error() string {
	msg := fmt.Sprintf("mcp server %q: %s: ", e.Server, e.Method)
	switch {
	case e.Unsent:
		msg += "it could not be reached"
	case e.Status >= 300:
		msg += "it answered " + statusText(e.Status)
	case e.Status != 0:
		msg += "its answer is not usable"
	default:
		msg += "no answer came"
	}
	if e.Err != nil {
		msg += ": " + e.Err.Error()
	}
	if e.Body != "" {
		msg += ": " + e.Body
	}
	return msg
}

func (e *HTTPError) Unwrap() error { return e.Err }

// Is reports whether target is [ErrHTTP], or [ErrUnreachable] for a request that
// was not sent.
func (e *HTTPError) Is(target error) bool {
	return target == ErrHTTP || (target == ErrUnreachable && e.Unsent)
}

// SessionLostError says that the server has ended the session, or the stream that
// carried it broke, for instance because the server was started again. The next
// call makes a new session. Whether the call that got this took effect is not
// known.
type SessionLostError struct {
	Server string
	Reason string // such as "404 Not Found", "its event stream ended"
}

func (e *SessionLostError) Error() string {
	return fmt.Sprintf("mcp server %q has ended the session (%s); the next call makes a new one", e.Server, e.Reason)
}

// Is reports whether target is [ErrSessionLost].
func (e *SessionLostError) Is(target error) bool { return target == ErrSessionLost }

// LoginNeededError says that a server refused the request for want of a login, or
// of one that allows more. The request was not carried out. Where
// [Server.Token] is set, a new token was asked for first, and refused too.
type LoginNeededError struct {
	Server string
	Status int // 401, or 403 for a login that does not allow enough
	// ResourceMetadata is the URL at which the server tells who gives logins for it
	// (RFC 9728); empty when it does not say. It comes from the server: check whose it
	// is before you follow it.
	ResourceMetadata string
	// Scope is what a login must allow, separated by spaces; empty when the server
	// does not say.
	Scope string
	// Code and Description are the server's reason (RFC 6750), such as
	// "invalid_token"; empty when it gives none.
	Code, Description string
	// Err is why no new token could be had; nil when one was had, or none was asked for.
	Err error

	hasToken bool // Server.Token is set
}

func (e *LoginNeededError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "mcp server %q ", e.Server)
	if e.insufficient() {
		b.WriteString("does not allow this with the login it was given")
	} else {
		b.WriteString("needs a login")
	}
	fmt.Fprintf(&b, " (%s", statusText(e.Status))
	if e.Code != "" {
		b.WriteString(", " + e.Code)
	}
	b.WriteByte(')')
	if e.Description != "" {
		b.WriteString(": " + e.Description)
	}
	if e.Err != nil {
		b.WriteString("; no new token could be had: " + e.Err.Error())
	}
	b.WriteString("; log in to it again")
	if e.Scope != "" {
		fmt.Fprintf(&b, " with the scope %q", e.Scope)
	}
	if e.ResourceMetadata != "" {
		b.WriteString(" (how: " + e.ResourceMetadata + ")")
	}
	if !e.hasToken {
		b.WriteString(`, and give the token in its headers as "Authorization": "Bearer ${NAME}", or through Server.Token`)
	}
	return b.String()
}

func (e *LoginNeededError) Unwrap() error { return e.Err }

func (e *LoginNeededError) insufficient() bool {
	return e.Status == http.StatusForbidden || e.Code == "insufficient_scope"
}

// Is reports whether target is [ErrLoginNeeded], or [ErrInsufficientScope] for a
// login that does not allow enough.
func (e *LoginNeededError) Is(target error) bool {
	return target == ErrLoginNeeded || (target == ErrInsufficientScope && e.insufficient())
}

func statusText(status int) string {
	return strings.TrimSpace(fmt.Sprintf("%d %s", status, http.StatusText(status)))
}

// isHTTPError reports whether an error of the HTTP wire says already which server
// it is about.
func isHTTPError(err error) bool {
	return errors.Is(err, ErrHTTP) || errors.Is(err, ErrSessionLost) || errors.Is(err, ErrLoginNeeded)
}
