package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// reported is an error in the provider's words.
type reported struct {
	code    string // the provider's code or, without one, its type
	kind    string // the provider's type
	message string
}

// reportedError returns the error inside an object that has one. A null or empty
// error is none.
func reportedError(fields object) (reported, bool) {
	raw := fields["error"]
	if isNull(raw) {
		return reported{}, false
	}
	if s := text(raw); s != "" {
		return reported{code: word(fields["code"]), message: s}, true
	}
	inner := asObject(raw)
	if len(inner) == 0 {
		return reported{}, false
	}
	return readError(inner), true
}

func readError(fields object) reported {
	r := reported{
		code:    word(fields["code"]),
		kind:    word(fields["type"]),
		message: text(fields["message"]),
	}
	if r.kind == "" {
		r.kind = word(fields["status"])
	}
	if r.code == "" {
		r.code = r.kind
	}
	// Routers put the words of the server behind them here.
	if raw := text(asObject(fields["metadata"])["raw"]); raw != "" {
		r.message = strings.TrimSpace(r.message + ": " + clip(raw, 500))
	}
	if r.message == "" {
		r.message = clip(string(encode(fields)), 500)
	}
	return r
}

// word is a string or number as text.
func word(raw json.RawMessage) string {
	if s := text(raw); s != "" {
		return s
	}
	if n := number(raw); n != nil {
		return strconv.FormatInt(*n, 10)
	}
	return ""
}

// parseErrorBody finds the best text in the body of an error, in whatever form
// it comes.
func parseErrorBody(body []byte) reported {
	if list := asList(body); len(list) > 0 {
		body = list[0]
	}
	if s := text(body); s != "" {
		return reported{message: s}
	}
	fields := asObject(body)
	if fields == nil {
		return reported{message: plainText(string(body))}
	}
	if r, ok := reportedError(fields); ok {
		return r
	}
	if detail := fields["detail"]; !isNull(detail) {
		if s := text(detail); s != "" {
			return reported{message: s}
		}
		return reported{message: clip(string(compact(detail)), 500)}
	}
	return readError(fields)
}

var (
	markupHidden = regexp.MustCompile(`(?is)<(script|style)\b.*?</(script|style)>`)
	markupTag    = regexp.MustCompile(`<[^>]*>`)
)

// plainText is the readable part of a page.
func plainText(page string) string {
	page = clip(page, 8<<10)
	page = markupTag.ReplaceAllString(markupHidden.ReplaceAllString(page, " "), " ")
	return clip(strings.Join(strings.Fields(page), " "), 300)
}

// clip cuts text after limit bytes, at a character.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "") + "…"
}

// inReply is the error of a reply that holds an error although its status is 200.
func (r reported) inReply() *agent.ModelError {
	e := &agent.ModelError{Code: r.code, Message: r.message, Retryable: !r.permanent()}
	if status, err := strconv.Atoi(r.code); err == nil && status >= 400 && status < 600 {
		e.Retryable = retryableStatus(status)
	}
	if r.blamesModel() {
		e.Retryable, e.Err = false, agent.ErrModelToolCall
	}
	if e.Message == "" {
		e.Message = "the provider reported an error"
	}
	return e
}

// permanent reports whether the provider's words say that the same call cannot
// succeed.
func (r reported) permanent() bool {
	for _, w := range []string{strings.ToLower(r.code), strings.ToLower(r.kind)} {
		switch w {
		case "invalid_request_error", "badrequesterror", "invalid_argument", "invalid_api_key",
			"authentication_error", "permission_error", "permission_denied", "not_found_error",
			"model_not_found", "context_length_exceeded", "insufficient_quota", "content_filter",
			"content_policy_violation", "unsupported_parameter", "billing_not_active":
			return true
		}
	}
	return false
}

// blamesModel reports whether the error is about the tool call that the model
// wrote, rather than about the request.
func (r reported) blamesModel() bool { return r.code == "tool_use_failed" }

func retryableStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return status >= 500
}

// refused is the error of a response whose status says so.
func refused(resp *http.Response, body []byte, now time.Time) *agent.ModelError {
	r := parseErrorBody(body)
	e := &agent.ModelError{
		StatusCode: resp.StatusCode,
		Code:       r.code,
		Message:    r.message,
		RetryAfter: retryAfter(resp.Header, now),
		Retryable:  retryableStatus(resp.StatusCode),
		Body:       string(body),
	}
	// The status is that of a rate limit, but waiting does not fill an account.
	if r.code == "insufficient_quota" || r.kind == "insufficient_quota" {
		e.Retryable = false
	}
	if r.blamesModel() {
		e.Err = agent.ErrModelToolCall
	}
	if e.Message == "" || e.Message == "{}" {
		e.Message = http.StatusText(resp.StatusCode)
	}
	if resp.StatusCode == http.StatusNotFound && r.code == "" {
		e.Message += " (is the base URL right? it usually ends in /v1)"
	}
	return e
}

// longestWait keeps a wait that a provider asks for inside a duration that callers
// can still add to.
const longestWait = 365 * 24 * time.Hour

// retryAfter reads how long the provider asks to wait: milliseconds or seconds, or
// a date.
func retryAfter(header http.Header, now time.Time) time.Duration {
	for _, h := range []struct {
		name string
		unit time.Duration
	}{{"Retry-After-Ms", time.Millisecond}, {"Retry-After", time.Second}} {
		f, err := strconv.ParseFloat(strings.TrimSpace(header.Get(h.name)), 64)
		switch {
		case err != nil, math.IsNaN(f), f < 0:
			continue
		case f > float64(longestWait)/float64(h.unit):
			return longestWait
		}
		return time.Duration(f * float64(h.unit))
	}
	if at, err := http.ParseTime(header.Get("Retry-After")); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

func unreadable(data []byte) *agent.ModelError {
	words := plainText(string(data))
	if words == "" {
		words = "nothing"
	}
	return &agent.ModelError{
		Message: fmt.Sprintf("the reply is not what a chat completions endpoint sends (is the base URL right? it usually ends in /v1): %s", clip(words, 200)),
		Err:     errNotAReply,
	}
}

var errNotAReply = errors.New("the reply cannot be read")
