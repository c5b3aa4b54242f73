package openaitest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// created is the time that every reply gives, so that replies repeat exactly.
const created = 1700000000

// Reply is what the server answers. The zero value is an empty reply that stops.
type Reply struct {
	Content string
	// Reasoning is sent as reasoning_content.
	Reasoning string
	// Refusal is sent as the message's refusal.
	Refusal   string
	ToolCalls []ToolCall
	// FinishReason is as on the wire. Default: "tool_calls" with calls, else "stop".
	FinishReason string
	// Model is the model that the reply names. Default: the one asked for.
	Model string
	// Usage is reported when it is set; in a stream only if it was asked for.
	Usage *Usage

	// Status makes the reply an error, such as 429. Body is then what is sent, and
	// by default an error of OpenAI's form with Message and Code.
	Status     int
	Code       string
	Message    string
	RetryAfter string // the Retry-After header
	// Body, when set, is sent as it is, with ContentType (default: JSON).
	Body        []byte
	ContentType string

	// Delay comes before the first byte of the answer, ChunkDelay before each event
	// of a stream, and ByteDelay before each byte of a body.
	Delay      time.Duration
	ChunkDelay time.Duration
	ByteDelay  time.Duration
	// CutAfter breaks the connection after so many bytes of the body.
	CutAfter int
	// Hang keeps the connection open, and silent, where CutAfter would break it, or
	// at the end of the body, until the client leaves or the server closes.
	Hang bool
	// PieceSize is how many bytes of text a streamed piece holds. Default: 8.
	PieceSize int
}

// ToolCall is one call that a reply asks for, or that a request repeats.
type ToolCall struct {
	// ID is made from the reply and the call's position when empty.
	ID        string
	Name      string
	Arguments string // JSON text
}

// Usage is what a reply reports. Prompt includes cached tokens and cache writes,
// and Completion includes reasoning, as on the wire. Nil counts are left out.
type Usage struct {
	Prompt     int64
	Completion int64
	Cached     *int64
	CacheWrite *int64
	Reasoning  *int64
}

// Text returns a reply of one text with its usage.
func Text(content string, prompt, completion int64) Reply {
	return Reply{Content: content, Usage: &Usage{Prompt: prompt, Completion: completion}}
}

// Tokens returns a set count.
func Tokens(n int64) *int64 { return &n }

type writer struct {
	w       http.ResponseWriter
	r       *http.Request
	closing <-chan struct{}
	reply   *Reply
	req     *Request
	id      string
	sent    int
	broken  bool
}

func (o *writer) model() string {
	if o.reply.Model != "" {
		return o.reply.Model
	}
	return o.req.Model
}

func (o *writer) finish() string {
	switch {
	case o.reply.FinishReason != "":
		return o.reply.FinishReason
	case len(o.reply.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

// write answers the request. A reply that could not be finished drops its
// connection, so that the client never takes it for a whole one.
func (o *writer) write() {
	o.answer()
	if o.broken {
		// The server of net/http drops the connection on this panic, and logs nothing.
		panic(http.ErrAbortHandler)
	}
}

func (o *writer) answer() {
	if !o.wait(o.reply.Delay) {
		return
	}
	reply := o.reply
	switch {
	case reply.Body != nil:
		contentType := reply.ContentType
		if contentType == "" {
			contentType = "application/json"
		}
		o.open(contentType)
		o.send(reply.Body)
	case reply.Status >= 400:
		message := reply.Message
		if message == "" {
			message = http.StatusText(reply.Status)
		}
		(&Error{Status: reply.Status, Type: "error", Code: reply.Code, Message: message, RetryAfter: reply.RetryAfter}).write(o.w)
		return
	case o.req.Stream:
		o.open("text/event-stream")
		o.stream()
	default:
		o.open("application/json")
		o.send(o.whole())
	}
	if reply.Hang && !o.broken {
		o.hang()
	}
}

func (o *writer) open(contentType string) {
	o.w.Header().Set("Content-Type", contentType)
	if o.reply.RetryAfter != "" {
		o.w.Header().Set("Retry-After", o.reply.RetryAfter)
	}
	status := o.reply.Status
	if status == 0 {
		status = http.StatusOK
	}
	o.w.WriteHeader(status)
}

func (o *writer) usage() map[string]any {
	u := o.reply.Usage
	if u == nil {
		return nil
	}
	usage := map[string]any{
		"prompt_tokens": u.Prompt, "completion_tokens": u.Completion, "total_tokens": u.Prompt + u.Completion,
	}
	details := func(name string, counts map[string]*int64) {
		set := map[string]any{}
		for key, n := range counts {
			if n != nil {
				set[key] = *n
			}
		}
		if len(set) > 0 {
			usage[name] = set
		}
	}
	details("prompt_tokens_details", map[string]*int64{"cached_tokens": u.Cached, "cache_write_tokens": u.CacheWrite})
	details("completion_tokens_details", map[string]*int64{"reasoning_tokens": u.Reasoning})
	return usage
}

func (o *writer) callID(i int) string {
	if id := o.reply.ToolCalls[i].ID; id != "" {
		return id
	}
	return "call_" + strings.TrimPrefix(o.id, "chatcmpl-") + "_" + strconv.Itoa(i)
}

func (o *writer) whole() []byte {
	message := map[string]any{"role": "assistant", "content": o.reply.Content, "refusal": nil}
	if o.reply.Content == "" && (len(o.reply.ToolCalls) > 0 || o.reply.Refusal != "") {
		message["content"] = nil
	}
	if o.reply.Refusal != "" {
		message["refusal"] = o.reply.Refusal
	}
	if o.reply.Reasoning != "" {
		message["reasoning_content"] = o.reply.Reasoning
	}
	var calls []any
	for i, c := range o.reply.ToolCalls {
		calls = append(calls, map[string]any{
			"id": o.callID(i), "type": "function",
			"function": map[string]any{"name": c.Name, "arguments": c.Arguments},
		})
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	body := map[string]any{
		"id": o.id, "object": "chat.completion", "created": created, "model": o.model(),
		"choices": []any{map[string]any{"index": 0, "message": message, "logprobs": nil, "finish_reason": o.finish()}},
	}
	if usage := o.usage(); usage != nil {
		body["usage"] = usage
	}
	data, _ := json.Marshal(body) // maps of plain values always encode
	return data
}
