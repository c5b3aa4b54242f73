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
	reader  textReader // of the content
	think   thinkSplit
	text    strings.Builder
	refusal textMerge
	calls   callMerge
	legacy  callMerge // the old function call, which some servers send beside calls
	extras  extrasMerge
	deltas  bool // something came in a delta
}

// asked are the tool calls of the reply.
func (c *choiceMerge) asked() *callMerge {
	if len(c.calls.calls) == 0 {
		return &c.legacy
	}
	return &c.calls
}

func (c *choiceMerge) empty() bool {
	return c.text.Len() == 0 && c.refusal.Len() == 0 && len(c.asked().calls) == 0
}

// add takes the next chunk. An error is what the provider reported in it.
func (m *replyMerge) add(data []byte) *agent.ModelError {
	chunk := asObject(data)
	if chunk == nil {
		if isNull(data) || bytes.Equal(compact(data), []byte("[]")) {
			return nil
		}
		// Some gateways wrap an error body in an array, also with status 200.
		if reported := parseErrorBody(data); reported.message != "" && json.Valid(data) {
			return reported.inReply()
		}
		return unreadable(data)
	}
	if m.id == "" {
		m.id = text(chunk["id"])
	}
	if m.model == "" {
		m.model = text(chunk["model"])
	}
	m.usage.add(chunk["usage"])
	m.usage.add(asObject(chunk["x_groq"])["usage"])
	if reported, ok := errorInstead(chunk); ok {
		return reported.inReply()
	}
	for _, raw := range asList(chunk["choices"]) {
		if err := m.addChoice(asObject(raw)); err != nil {
			return err
		}
	}
	return nil
}

func (m *replyMerge) addAll(chunks []json.RawMessage) *agent.ModelError {
	for _, chunk := range chunks {
		if failure := m.add(chunk); failure != nil {
			return failure
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
	if finish := text(fields["finish_reason"]); finish != "" && finish != "null" {
		choice.finish = finish
	}
	part := asObject(fields["delta"])
	fromDelta := len(part) > 0
	// Some servers end a stream with the whole message, after its pieces.
	if !fromDelta && !choice.deltas {
		part = asObject(fields["message"])
	}
	choice.add(part, m.whole, m.sinkOf(choice))
	choice.deltas = choice.deltas || fromDelta && !choice.empty()
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

// settle ends the texts: nothing more comes. A reply that the provider did not
// finish, or cut at its limit, may end inside its reasoning.
func (m *replyMerge) settle() {
	for _, c := range m.choices {
		sink := m.sinkOf(c)
		c.say(c.reader.rest(), sink)
		broken := !m.finished() && !m.whole
		said, thought := c.think.end(broken || c.reason() == agent.FinishLength)
		c.keepThought(thought)
		c.tell(said, sink)
	}
}

func (m *replyMerge) sinkOf(c *choiceMerge) agent.Sink {
	if c.index != 0 || m.sink == nil {
		return func(agent.Delta) {}
	}
	return m.sink
}

func (c *choiceMerge) add(part object, whole bool, sink agent.Sink) {
	c.addContent(part["content"], sink)
	c.addRefusal(part["refusal"], sink)
	started := func(name string) { sink(agent.Delta{Attempt: 1, ToolName: name}) }
	for i, raw := range entries(part["tool_calls"]) {
		fragment := readFragment(raw)
		if whole {
			// Entries of a whole message are calls of their own, whatever they say.
			position := int64(i)
			fragment.index = &position
		}
		c.calls.add(&fragment, started)
	}
	if function := asObject(part["function_call"]); function != nil {
		c.legacy.add(&fragment{name: text(function["name"]), arguments: function["arguments"]}, started)
	}
	for key, raw := range part {
		switch {
		case !isExtra(key):
		case whole:
			c.extras.addWhole(key, raw)
		default:
			c.extras.add(key, raw)
		}
	}
}

// addContent takes a content field: a string, or a list of parts. What is no text
// is kept with the provider's own fields.
func (c *choiceMerge) addContent(raw json.RawMessage, sink agent.Sink) {
	c.say(c.reader.next(raw), sink)
	for _, part := range entries(raw) {
		fields := asObject(part)
		switch kind := text(fields["type"]); {
		case fields == nil:
			c.say(c.reader.next(part), sink)
		case kind == "", kind == "text", kind == "output_text":
			c.say(c.reader.next(fields["text"]), sink)
		case kind == "refusal":
			c.addRefusal(fields["refusal"], sink)
		case kind == "thinking":
			c.addThinking(fields["thinking"])
		default:
			c.extras.add("content_parts", encode([]json.RawMessage{part}))
		}
	}
}

// addThinking takes the reasoning that comes as a part of the content: a string, or
// a list of text parts.
func (c *choiceMerge) addThinking(raw json.RawMessage) {
	if text(raw) != "" {
		c.extras.add("thinking", raw)
	}
	for _, part := range entries(raw) {
		if piece := asObject(part)["text"]; text(piece) != "" {
			c.extras.add("thinking", piece)
		}
	}
}

func (c *choiceMerge) addRefusal(raw json.RawMessage, sink agent.Sink) {
	if piece := c.refusal.add(raw); piece != "" {
		sink(agent.Delta{Attempt: 1, Text: piece})
	}
}

// say takes the next piece of the content, which may open with reasoning.
func (c *choiceMerge) say(piece string, sink agent.Sink) {
	said, thought := c.think.add(piece)
	c.keepThought(thought)
	c.tell(said, sink)
}

func (c *choiceMerge) tell(said string, sink agent.Sink) {
	if said != "" {
		c.text.WriteString(said)
		sink(agent.Delta{Attempt: 1, Text: said})
	}
}

// keepThought keeps reasoning under the name that most servers give it.
func (c *choiceMerge) keepThought(thought string) {
	if thought != "" {
		c.extras.add("reasoning_content", encode(thought))
	}
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

// entries are the entries of a list, or the one object that some servers send
// instead of a list of one.
func entries(raw json.RawMessage) []json.RawMessage {
	if asObject(raw) != nil {
		return []json.RawMessage{raw}
	}
	return asList(raw)
}
