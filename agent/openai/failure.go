package openai

import (
	"encoding/json"
	"errors"
	"fmt"
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
	wait    time.Duration // as its words ask for
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

// errorInstead returns the error of a chunk or body that holds one: in its error
// member, or as the whole, where choices would be.
func errorInstead(fields object) (reported, bool) {
	if r, ok := reportedError(fields); ok {
		return r, true
	}
	_, isReply := fields["choices"]
	says := text(fields["object"]) == "error" || text(fields["type"]) == "error"
	for _, key := range [...]string{"message", "msg", "detail"} {
		says = says || text(fields[key]) != ""
	}
	if isReply || !says {
		return reported{}, false
	}
	return parseErrorBody(encode(fields)), true
}

func readError(fields object) reported {
	r := reported{
		code:    word(fields["code"]),
		kind:    word(fields["type"]),
		message: text(fields["message"]),
	}
	if r.message == "" {
		r.message = text(fields["msg"])
	}
	if r.kind == "" {
		r.kind = word(fields["status"])
	}
	if r.code == "" {
		r.code = r.kind
	}
	r.wait = waitInWords(r.message, fields["details"])
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
	e := &agent.ModelError{Code: r.code, Message: r.message, RetryAfter: r.wait, Retryable: !r.permanent(), Err: r.kindOfError()}
	if status, err := strconv.Atoi(r.code); err == nil && status >= 400 && status < 600 {
		e.Retryable = retryableStatus(status)
	}
	if e.Err != nil {
		e.Retryable = false
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

// kindOfError is the kind that callers tell apart, or nil: an error about the tool
// call that the model wrote, or a filter's.
func (r reported) kindOfError() error {
	switch r.code {
	case "tool_use_failed":
		return agent.ErrModelToolCall
	case "content_filter", "content_policy_violation":
		return agent.ErrContentFiltered
	}
	return nil
}

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
		Err:        r.kindOfError(),
	}
	if e.RetryAfter == 0 {
		e.RetryAfter = r.wait
	}
	// The status is that of a rate limit, but waiting does not fill an account.
	if r.code == "insufficient_quota" || r.kind == "insufficient_quota" {
		e.Retryable = false
	}
	switch e.Message {
	case "", "{}", "[]", "null":
		e.Message = http.StatusText(resp.StatusCode)
	}
	if e.Message == "" {
		e.Message = "the provider gave no reason"
	}
	if to, err := resp.Location(); err == nil && resp.StatusCode < 400 {
		e.Message += fmt.Sprintf(" (the endpoint sends calls on to %s://%s%s; is the base URL right?)", to.Scheme, to.Host, to.Path)
	}
	if resp.StatusCode == http.StatusNotFound && r.code == "" {
		e.Message += " (is the base URL right? it usually ends in /v1)"
	}
	return e
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
