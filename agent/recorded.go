package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// A record is what counts, since a journal may redact it. But most come back as
// they were written, and then what was written need not be parsed again: settle
// brings a value into the very form that its own JSON would give back.

// encode returns the reply as it is recorded, and whether the reply itself equals
// what the record would be read as.
func (r *Reply) encode() (data []byte, same bool, err error) {
	var s settler
	s.response(&r.Response)
	for i := range r.Failed {
		f := &r.Failed[i]
		s.text(f.Provider, f.Model, f.Error)
	}
	s.text(r.Provider, r.Model)
	data, err = r.text()
	return data, !s.altered, err
}

// encode is [Reply.encode] for a tool call.
func (r *ToolRecord) encode() (data []byte, same bool) {
	var s settler
	s.text(r.Name)
	s.text(r.Unwrapped...)
	s.result(&r.Result)
	return r.text(), !s.altered
}

// made is a value with the record that was made of it.
type made[T any] struct {
	value *T // nil when it comes from the journal
	data  []byte
	same  bool // the value equals what the data would be read as
}

// recorded is the value that a record holds.
func recorded[T any](key string, record []byte, m made[T]) (*T, error) {
	if m.same && bytes.Equal(record, m.data) {
		return m.value, nil
	}
	value := new(T)
	if err := json.Unmarshal(record, value); err != nil {
		return nil, fmt.Errorf("record %s: %w", key, err)
	}
	return value, nil
}

// settler makes values what JSON can hold: raw fields that are not JSON are
// dropped, and arguments that are not are kept as text with the reason. It does
// not change what slices and maps of a backend hold.
type settler struct {
	altered bool // JSON will replace bytes of a text that are not UTF-8
}

func (s *settler) response(r *Response) {
	s.text(r.ID, r.Model, string(r.Finish))
	r.Extra = s.fields(r.Extra)
	s.message(&r.Message)
}

func (s *settler) message(m *Message) {
	s.text(string(m.Role), m.ToolCallID, m.ToolName)
	m.Content = s.parts(m.Content)
	m.Extra = s.fields(m.Extra)
	m.ToolCalls = append([]ToolCall(nil), m.ToolCalls...)
	for i := range m.ToolCalls {
		s.call(&m.ToolCalls[i])
	}
}

func (s *settler) call(c *ToolCall) {
	c.Extra = s.fields(c.Extra)
	if trimmed := bytes.TrimSpace(c.Arguments); len(trimmed) == 0 {
		c.Arguments = nil
	} else if compact, err := compactRaw(trimmed); err == nil {
		c.Arguments = compact
	} else {
		if c.Invalid == "" {
			c.Invalid = parserWords(trimmed)
		}
		c.Arguments = jsonString(string(c.Arguments))
	}
	s.text(c.ID, c.Name, c.Invalid, c.Key)
	s.text(string(c.Arguments))
}

func (s *settler) result(r *ToolResult) {
	r.Content = s.parts(r.Content)
	if len(r.Structured) == 0 {
		r.Structured = nil
		return
	}
	compact, err := compactRaw(r.Structured)
	if err != nil {
		if len(r.Content) == 0 {
			r.Content = s.parts(Text(string(r.Structured)))
		}
		compact = nil
	}
	r.Structured = compact
	s.text(string(compact))
}

func (s *settler) parts(parts []Part) []Part {
	if len(parts) == 0 {
		return nil
	}
	for i := range parts {
		p := &parts[i]
		s.text(string(p.Type), p.Text, p.MediaType, p.URI)
		// An empty slice comes back as none.
		s.altered = s.altered || (p.Data != nil && len(p.Data) == 0)
	}
	return parts
}

func (s *settler) fields(fields map[string]json.RawMessage) map[string]json.RawMessage {
	if len(fields) == 0 {
		return nil
	}
	kept := make(map[string]json.RawMessage, len(fields))
	for key, raw := range fields {
		compact, err := compactRaw(raw)
		if err != nil {
			continue
		}
		kept[key] = compact
		s.text(key, string(compact))
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// text notes whether texts come back from JSON as they are.
func (s *settler) text(texts ...string) {
	for _, t := range texts {
		s.altered = s.altered || !utf8.ValidString(t)
	}
}

// compactRaw is raw JSON as it stands inside a record: without space, and with
// escapes for what HTML takes for its own.
func compactRaw(raw json.RawMessage) (json.RawMessage, error) {
	for _, c := range raw {
		if c <= ' ' || c == '<' || c == '>' || c == '&' || c == 0xE2 { // 0xE2 may begin a line separator
			return json.Marshal(raw)
		}
	}
	if !json.Valid(raw) {
		return json.Marshal(raw)
	}
	return raw, nil
}

func parserWords(text []byte) string {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err.Error()
	}
	return "not JSON"
}

func jsonString(text string) json.RawMessage {
	data, err := json.Marshal(text)
	if err != nil { // a string always encodes
		return json.RawMessage(`""`)
	}
	return data
}
