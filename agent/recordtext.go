package agent

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// recordText writes a record as encoding/json does, to the byte. It exists because
// encoding/json takes a third of a turn's time, half of it to check once more that
// raw fields are JSON; these are settled before and written as they stand.
type recordText struct{ out []byte }

// What most records need besides what was said, so that one allocation takes each.
const (
	replyRoom = 320
	toolRoom  = 112
)

func newRecordText(room int64, said *Message) recordText {
	return recordText{make([]byte, 0, room+messageBound(said))}
}

func (r *Reply) text() ([]byte, error) {
	var failed, tools []byte
	var err error
	if len(r.Failed) > 0 {
		if failed, err = json.Marshal(r.Failed); err != nil {
			return nil, err
		}
	}
	if r.Tools != nil {
		if tools, err = json.Marshal(r.Tools); err != nil {
			return nil, err
		}
	}
	w := newRecordText(replyRoom, &r.Response.Message)
	w.open('{')
	w.name("response")
	w.response(&r.Response)
	w.optional("provider", r.Provider)
	w.optional("model", r.Model)
	w.time("started_at", r.StartedAt)
	w.number("duration_ms", r.DurationMS)
	if r.FirstTokenMS != 0 {
		w.number("first_token_ms", r.FirstTokenMS)
	}
	w.raw("failed_tries", failed)
	w.flag("steered", r.Steered)
	w.flag("condensed", r.Condensed)
	w.raw("tools", tools)
	w.close('}')
	return w.out, nil
}

func (r *ToolRecord) text() []byte {
	w := newRecordText(toolRoom, &Message{Content: r.Result.Content})
	w.open('{')
	w.required("name", r.Name)
	w.name("result")
	w.open('{')
	w.parts(r.Result.Content)
	w.raw("structured", r.Result.Structured)
	w.flag("is_error", r.Result.IsError)
	w.close('}')
	w.time("started_at", r.StartedAt)
	w.number("duration_ms", r.DurationMS)
	w.flag("in_doubt", r.InDoubt)
	w.flag("invalid", r.Invalid)
	if len(r.Unwrapped) > 0 {
		w.name("unwrapped")
		w.open('[')
		for _, place := range r.Unwrapped {
			w.element()
			w.quote(place)
		}
		w.close(']')
	}
	w.close('}')
	return w.out
}

func (w *recordText) response(r *Response) {
	w.open('{')
	w.optional("id", r.ID)
	w.optional("model", r.Model)
	w.name("message")
	w.message(&r.Message)
	w.required("finish_reason", string(r.Finish))
	w.name("usage")
	w.usage(&r.Usage)
	w.fields(r.Extra)
	w.close('}')
}

func (w *recordText) message(m *Message) {
	w.open('{')
	w.required("role", string(m.Role))
	w.parts(m.Content)
	if len(m.ToolCalls) > 0 {
		w.name("tool_calls")
		w.open('[')
		for i := range m.ToolCalls {
			w.element()
			w.call(&m.ToolCalls[i])
		}
		w.close(']')
	}
	w.optional("tool_call_id", m.ToolCallID)
	w.optional("tool_name", m.ToolName)
	w.flag("is_error", m.IsError)
	w.fields(m.Extra)
	w.close('}')
}

func (w *recordText) call(c *ToolCall) {
	w.open('{')
	w.optional("id", c.ID)
	w.required("name", c.Name)
	w.raw("arguments", c.Arguments)
	w.optional("invalid", c.Invalid)
	w.fields(c.Extra)
	w.optional("key", c.Key)
	w.close('}')
}

func (w *recordText) parts(parts []Part) {
	if len(parts) == 0 {
		return
	}
	w.name("content")
	w.open('[')
	for i := range parts {
		p := &parts[i]
		w.element()
		w.open('{')
		w.required("type", string(p.Type))
		w.optional("text", p.Text)
		w.optional("media_type", p.MediaType)
		if len(p.Data) > 0 {
			w.name("data")
			w.out = append(w.out, '"')
			w.out = base64.StdEncoding.AppendEncode(w.out, p.Data)
			w.out = append(w.out, '"')
		}
		w.optional("uri", p.URI)
		w.close('}')
	}
	w.close(']')
}

func (w *recordText) usage(u *Usage) {
	w.open('{')
	for _, bucket := range [...]struct {
		name string
		n    *int64
	}{
		{"input_tokens", u.Input},
		{"cache_read_tokens", u.CacheRead},
		{"cache_write_tokens", u.CacheWrite},
		{"output_tokens", u.Output},
		{"reasoning_tokens", u.Reasoning},
	} {
		if bucket.n != nil {
			w.number(bucket.name, *bucket.n)
		}
	}
	w.close('}')
}

// fields writes the member extra.
func (w *recordText) fields(fields map[string]json.RawMessage) {
	if len(fields) == 0 {
		return
	}
	w.name("extra")
	w.open('{')
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		w.element()
		w.quote(name)
		w.out = append(w.out, ':')
		w.out = append(w.out, fields[name]...)
	}
	w.close('}')
}

func (w *recordText) open(bracket byte)  { w.out = append(w.out, bracket) }
func (w *recordText) close(bracket byte) { w.out = append(w.out, bracket) }

// element sets a comma unless it is the first one.
func (w *recordText) element() {
	if last := w.out[len(w.out)-1]; last != '{' && last != '[' {
		w.out = append(w.out, ',')
	}
}

func (w *recordText) name(name string) {
	w.element()
	w.out = append(w.out, '"')
	w.out = append(w.out, name...)
	w.out = append(w.out, '"', ':')
}

func (w *recordText) required(name, text string) {
	w.name(name)
	w.quote(text)
}

func (w *recordText) optional(name, text string) {
	if text != "" {
		w.required(name, text)
	}
}

func (w *recordText) raw(name string, text []byte) {
	if len(text) > 0 {
		w.name(name)
		w.out = append(w.out, text...)
	}
}

func (w *recordText) number(name string, n int64) {
	w.name(name)
	w.out = strconv.AppendInt(w.out, n, 10)
}

func (w *recordText) flag(name string, set bool) {
	if set {
		w.name(name)
		w.out = append(w.out, "true"...)
	}
}

func (w *recordText) time(name string, at time.Time) {
	w.name(name)
	w.out = append(w.out, '"')
	w.out = at.AppendFormat(w.out, time.RFC3339Nano)
	w.out = append(w.out, '"')
}

// quote writes a string with the escapes of encoding/json, those for HTML with them.
func (w *recordText) quote(text string) {
	out := w.out
	out = append(out, '"')
	plain := 0 // where what is not yet written begins
	for i := 0; i < len(text); {
		c, size := rune(text[i]), 1
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
				i++
				continue
			}
		} else {
			c, size = utf8.DecodeRuneInString(text[i:])
			if c != '\u2028' && c != '\u2029' && (c != utf8.RuneError || size != 1) {
				i += size
				continue
			}
		}
		out = append(out, text[plain:i]...)
		out = appendEscape(out, c)
		i += size
		plain = i
	}
	out = append(out, text[plain:]...)
	out = append(out, '"')
	w.out = out
}

func appendEscape(out []byte, c rune) []byte {
	const digits = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(out, '\\', byte(c))
	case '\b':
		return append(out, '\\', 'b')
	case '\f':
		return append(out, '\\', 'f')
	case '\n':
		return append(out, '\\', 'n')
	case '\r':
		return append(out, '\\', 'r')
	case '\t':
		return append(out, '\\', 't')
	}
	return append(out, '\\', 'u', digits[c>>12&15], digits[c>>8&15], digits[c>>4&15], digits[c&15])
}
