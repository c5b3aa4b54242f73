package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// encode is the reply as it is recorded.
func (r *Reply) encode() ([]byte, error) {
	r.Response.storable()
	return json.Marshal(r)
}

// encode is the tool record as it is recorded.
func (r *ToolRecord) encode() ([]byte, error) {
	r.Result.storable()
	return json.Marshal(r)
}

// recordedReply is the reply that a record holds. What counts is the record: a
// journal may have redacted it.
func recordedReply(key string, record []byte, live *Reply, made []byte) (*Reply, error) {
	reply := &Reply{}
	if err := json.Unmarshal(record, reply); err != nil {
		return nil, fmt.Errorf("record %s: %w", key, err)
	}
	reply.Key, reply.Replayed = key, live == nil
	return reply, nil
}

func recordedTool(key string, data []byte, live *ToolRecord, made []byte) (*ToolRecord, error) {
	record := &ToolRecord{}
	if err := json.Unmarshal(data, record); err != nil {
		return nil, fmt.Errorf("record %s: %w", key, err)
	}
	record.Replayed = live == nil
	return record, nil
}

// storable makes of a reply what JSON can hold: raw fields that are not JSON are
// dropped, and arguments that are not are kept as text with the reason.
func (r *Response) storable() {
	r.Extra = storableFields(r.Extra)
	r.Message.storable()
}

func (m *Message) storable() {
	m.Extra = storableFields(m.Extra)
	m.ToolCalls = append([]ToolCall(nil), m.ToolCalls...)
	for i := range m.ToolCalls {
		call := &m.ToolCalls[i]
		call.Extra = storableFields(call.Extra)
		switch trimmed := bytes.TrimSpace(call.Arguments); {
		case len(trimmed) == 0:
			call.Arguments = nil
		case !json.Valid(trimmed):
			if call.Invalid == "" {
				call.Invalid = parserWords(trimmed)
			}
			text, err := json.Marshal(string(call.Arguments))
			if err != nil { // a string always encodes
				text = nil
			}
			call.Arguments = text
		}
	}
}

func parserWords(text []byte) string {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return err.Error()
	}
	return "not JSON"
}

func (r *ToolResult) storable() {
	if len(r.Structured) == 0 || json.Valid(r.Structured) {
		return
	}
	if len(r.Content) == 0 {
		r.Content = Text(string(r.Structured))
	}
	r.Structured = nil
}

func storableFields(fields map[string]json.RawMessage) map[string]json.RawMessage {
	valid := true
	for _, raw := range fields {
		valid = valid && json.Valid(raw)
	}
	if valid {
		return fields
	}
	kept := make(map[string]json.RawMessage, len(fields))
	for key, raw := range fields {
		if json.Valid(raw) {
			kept[key] = raw
		}
	}
	return kept
}
