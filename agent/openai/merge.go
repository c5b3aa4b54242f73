package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// replyMerge puts a reply together from the chunks of a stream, or from one whole
// response body, which counts as a single chunk.
type replyMerge struct {
	sink    agent.Sink
	whole   bool // one response body instead of a stream
	id      string
	model   string
	usage   usageMerge
	choices []*choiceMerge // in order of first appearance
	done    bool           // the stream said [DONE]
}

// choiceMerge is one of the replies that the provider offers; only the first is
// used.
type choiceMerge struct {
	index   int64
	finish  string
	text    strings.Builder
	refusal strings.Builder
	calls   callMerge
	extras  extrasMerge
}

// add takes the next chunk. An error is what the provider reported in it.
func (m *replyMerge) add(data []byte) *agent.ModelError {
	chunk := asObject(data)
	if chunk == nil {
		// Some gateways wrap an error body in an array, also with status 200.
		if reported := parseErrorBody(data); reported.message != "" && json.Valid(data) {
			return reported.inReply()
		}
		return unreadable(data)
	}
	if reported, ok := reportedError(chunk); ok {
		return reported.inReply()
	}
	if m.id == "" {
		m.id = text(chunk["id"])
	}
	if m.model == "" {
		m.model = text(chunk["model"])
	}
	m.usage.add(chunk["usage"])
	m.usage.add(asObject(chunk["x_groq"])["usage"])
	for _, raw := range asList(chunk["choices"]) {
		if err := m.addChoice(asObject(raw)); err != nil {
			return err
		}
	}
	return nil
}

func (m *replyMerge) addChoice(fields object) *agent.ModelError {
	if fields == nil {
		return nil
	}
	if reported, ok := reportedError(fields); ok {
		return reported.inReply()
	}
	m.usage.add(fields["usage"])
	choice := m.choice(value(number(fields["index"])))
	if finish := text(fields["finish_reason"]); finish != "" {
		choice.finish = finish
	}
	part := asObject(fields["delta"])
	if part == nil {
		part = asObject(fields["message"])
	}
	sink := m.sink
	if choice.index != 0 || sink == nil {
		sink = func(agent.Delta) {}
	}
	choice.add(part, m.whole, sink)
	return nil
}

func (m *replyMerge) choice(index int64) *choiceMerge {
	for _, c := range m.choices {
		if c.index == index {
			return c
		}
	}
	c := &choiceMerge{index: index}
	m.choices = append(m.choices, c)
	return c
}

// first is the choice with the lowest index, or nil.
func (m *replyMerge) first() *choiceMerge {
	var first *choiceMerge
	for _, c := range m.choices {
		if first == nil || c.index < first.index {
			first = c
		}
	}
	return first
}

// finished reports whether the provider said that the reply is complete.
func (m *replyMerge) finished() bool {
	if m.done {
		return true
	}
	first := m.first()
	return first != nil && first.finish != ""
}

func (c *choiceMerge) add(part object, whole bool, sink agent.Sink) {
	if piece := contentText(part["content"]); piece != "" {
		c.text.WriteString(piece)
		sink(agent.Delta{Attempt: 1, Text: piece})
	}
	if piece := text(part["refusal"]); piece != "" {
		c.refusal.WriteString(piece)
		sink(agent.Delta{Attempt: 1, Text: piece})
	}
	started := func(name string) { sink(agent.Delta{Attempt: 1, ToolName: name}) }
	for i, raw := range asList(part["tool_calls"]) {
		fragment := readFragment(raw)
		if whole {
			// Entries of a whole message are calls of their own, whatever they say.
			position := int64(i)
			fragment.index = &position
		}
		c.calls.add(fragment, started)
	}
	if legacy := asObject(part["function_call"]); legacy != nil {
		c.calls.add(fragment{name: text(legacy["name"]), arguments: argumentText(legacy["arguments"])}, started)
	}
	for key, raw := range part {
		if isExtra(key) {
			c.extras.add(key, raw)
		}
	}
}

// contentText is the text of a content field: a string, or a list of parts.
func contentText(raw json.RawMessage) string {
	if s := text(raw); s != "" {
		return s
	}
	var all strings.Builder
	for _, part := range asList(raw) {
		if s := text(part); s != "" {
			all.WriteString(s)
			continue
		}
		o := asObject(part)
		if kind := text(o["type"]); kind == "" || kind == "text" || kind == "output_text" {
			all.WriteString(text(o["text"]))
		}
	}
	return all.String()
}

// text is a JSON string's value; anything else is empty.
func text(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '"' {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func asList(raw json.RawMessage) []json.RawMessage {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || raw[0] != '[' {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}
