package openaitest

import (
	"encoding/json"
	"net/http"
	"time"
	"unicode/utf8"
)

// stream sends the reply as OpenAI streams it: the role, the text in pieces, each
// call's name and then its arguments in pieces, the finish reason, the usage in a
// chunk without choices, and [DONE].
func (o *writer) stream() {
	delta := func(d map[string]any) bool { return o.chunk(d, nil) }
	if !delta(map[string]any{"role": "assistant", "content": ""}) {
		return
	}
	for _, text := range []struct{ field, value string }{
		{"reasoning_content", o.reply.Reasoning}, {"content", o.reply.Content}, {"refusal", o.reply.Refusal},
	} {
		for _, piece := range o.pieces(text.value) {
			if !delta(map[string]any{text.field: piece}) {
				return
			}
		}
	}
	for i, call := range o.reply.ToolCalls {
		start := map[string]any{
			"index": i, "id": o.callID(i), "type": "function",
			"function": map[string]any{"name": call.Name, "arguments": ""},
		}
		if !delta(map[string]any{"tool_calls": []any{start}}) {
			return
		}
		for _, piece := range o.pieces(call.Arguments) {
			more := map[string]any{"index": i, "function": map[string]any{"arguments": piece}}
			if !delta(map[string]any{"tool_calls": []any{more}}) {
				return
			}
		}
	}
	if !o.chunk(map[string]any{}, o.finish()) {
		return
	}
	if usage := o.usage(); usage != nil && o.req.IncludeUsage {
		if !o.event(map[string]any{"choices": []any{}, "usage": usage}) {
			return
		}
	}
	o.send([]byte("data: [DONE]\n\n"))
}

func (o *writer) chunk(delta map[string]any, finish any) bool {
	body := map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}}
	if o.req.IncludeUsage {
		body["usage"] = nil
	}
	return o.event(body)
}

// event sends one event; it reports false when the reply has been broken off.
func (o *writer) event(body map[string]any) bool {
	body["id"], body["object"], body["created"], body["model"] = o.id, "chat.completion.chunk", created, o.model()
	data, _ := json.Marshal(body) // maps of plain values always encode
	return o.wait(o.reply.ChunkDelay) && o.send([]byte("data: "+string(data)+"\n\n"))
}

// pieces cuts text into pieces of at most PieceSize bytes, between characters.
func (o *writer) pieces(text string) []string {
	size := o.reply.PieceSize
	if size <= 0 {
		size = 8
	}
	var pieces []string
	for len(text) > 0 {
		end := min(size, len(text))
		for end < len(text) && !utf8.RuneStart(text[end]) {
			end++
		}
		pieces = append(pieces, text[:end])
		text = text[end:]
	}
	return pieces
}

// send writes bytes at the reply's pace and up to its cut.
func (o *writer) send(data []byte) bool {
	cut := o.reply.CutAfter > 0 && o.sent+len(data) > o.reply.CutAfter
	if cut {
		data = data[:o.reply.CutAfter-o.sent]
	}
	step := len(data)
	if o.reply.ByteDelay > 0 {
		step = 1
	}
	for len(data) > 0 {
		if !o.wait(o.reply.ByteDelay) {
			return false
		}
		n := min(step, len(data))
		if _, err := o.w.Write(data[:n]); err != nil {
			o.broken = true
			return false
		}
		o.sent += n
		data = data[n:]
		_ = http.NewResponseController(o.w).Flush()
	}
	if !cut {
		return true
	}
	o.broken = true
	if o.reply.Hang {
		o.hang()
	}
	return false
}

// wait reports false when the client left or the server closes first.
func (o *writer) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-o.r.Context().Done():
	case <-o.closing:
	}
	o.broken = true
	return false
}

func (o *writer) hang() {
	select {
	case <-o.r.Context().Done():
	case <-o.closing:
	}
}
