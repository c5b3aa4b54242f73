package agent

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// Defaults of a [Condenser].
const (
	DefaultKeepExchanges = 4
	// DefaultFill is the part of the window, in percent, that a request may take
	// before it is condensed. The rest is for the reply, the tools' schemas, and what
	// the estimate misses.
	DefaultFill = 80
)

// Condenser keeps a conversation within a model's window: near its end, older
// exchanges give way to a summary. An exchange is an assistant message with
// everything up to the next one, so that a tool call and its result are never
// parted. What stands before the first assistant message stays, and so do the last
// exchanges. Where they alone are too large, their largest texts from tools and
// users are cut, with a note.
//
// A plan is a function of its arguments, so a loop that is resumed decides as it
// did before. The zero value is ready to use, and does nothing for a model whose
// window is not known. It is safe for concurrent use.
type Condenser struct {
	// Window is used when the model's own is not known, in tokens. 0 is unknown.
	Window int64
	// Keep is how many exchanges at the end stay as they are. 0 is
	// [DefaultKeepExchanges].
	Keep int
	// Fill is the part of the window, in percent, at which to condense. 0 is
	// [DefaultFill]; it is at most 100.
	Fill int
}

// condensedKey marks, in a message's Extra, the summary of an earlier
// condensation, which the next one takes in. Backends send only the extras that
// they know.
const condensedKey = "treadle_condensed"

// Sizes in bytes.
const (
	messageOverhead = 16   // role, separators and names, as models count them
	mediaBytes      = 4000 // an image costs about 1,000 tokens with most models
	minCut          = 800  // what a cut text keeps at least
	maxSummaryShare = 8    // a summary may take an eighth of the limit
	minSummary      = 400
)

// Plan decides whether the conversation must shrink before the next model call.
// The window is the model's, in tokens; 0 takes the condenser's own. lastInput is
// how many tokens the last reply reported as sent, caches included, and 0 when it
// reported none or when the conversation has been condensed since: then size is
// estimated from bytes alone. It returns false when nothing needs to be done, and
// when nothing can be.
func (c *Condenser) Plan(conv []Message, window, lastInput int64) (CondensePlan, bool) {
	if window <= 0 {
		window = c.Window
	}
	if window <= 0 {
		return CondensePlan{}, false
	}
	fill := c.Fill
	if fill <= 0 {
		fill = DefaultFill
	}
	limitTokens := window * int64(min(fill, 100)) / 100
	if lastInput > 0 && lastInput+int64(conversationBytes(conv[lastReply(conv):])) <= limitTokens {
		return CondensePlan{}, false // at a token a byte, and without a look at all of it
	}
	perToken := bytesEachToken(conv, lastInput)
	if estimateConversation(conv, lastInput, perToken) <= limitTokens {
		return CondensePlan{}, false
	}
	p := CondensePlan{conv: conv, limit: int(float64(limitTokens) * perToken)}
	p.divide(c.keep())
	before := conversationBytes(conv)
	return p, len(p.old) > 0 || conversationBytes(p.Cut()) < before
}

func (c *Condenser) keep() int {
	if c.Keep > 0 {
		return c.Keep
	}
	return DefaultKeepExchanges
}

// CondensePlan is what a [Condenser] proposes. It holds its own view of the
// conversation and changes none of the messages.
//
// The way to use it: when Request is not nil, make that model call and give its
// reply to Apply. When the call or Apply fails, or when Request is nil, use Cut:
// what was said stays, and only what is too large for the window is shortened. The
// conversation goes on from what Apply or Cut returned, and the next Plan gets 0
// for lastInput unless a reply to the new conversation has reported it.
type CondensePlan struct {
	conv  []Message
	limit int // of the conversation, in bytes

	head []Message // stays
	old  []Message // is summarised
	tail []Message // stays, with its largest texts cut
}

// divide chooses what is summarised. The last exchanges are given up one by one
// while they are too large even when cut, except for the last.
func (p *CondensePlan) divide(keep int) {
	first := slices.IndexFunc(p.conv, func(m Message) bool { return m.Role == RoleAssistant })
	if first < 0 {
		first = len(p.conv)
	}
	var earlier []Message // the summary of the condensation before
	for _, m := range p.conv[:first] {
		if _, condensed := m.Extra[condensedKey]; condensed {
			earlier = append(earlier, m)
		} else {
			p.head = append(p.head, m)
		}
	}
	starts := exchangeStarts(p.conv, first)
	room := p.roomAfter() - conversationBytes(p.head) - p.summaryBytes()
	for keep = min(keep, len(starts)); keep > 1; keep-- {
		if leastBytes(p.conv[starts[len(starts)-keep]:]) <= room {
			break
		}
	}
	from := first
	if keep < len(starts) {
		from = starts[len(starts)-keep]
	}
	p.tail = cutToFit(p.conv[from:], room)
	if conversationBytes(p.conv[first:from]) >= p.summaryBytes()/2 {
		p.old = slices.Concat(earlier, p.conv[first:from])
	}
	// Else there is nothing, or too little, to be worth a call: where tools and head
	// fill the window, each turn would ask for a summary of the turn before.
}

func exchangeStarts(conv []Message, first int) []int {
	var starts []int
	for i := first; i < len(conv); i++ {
		if conv[i].Role == RoleAssistant {
			starts = append(starts, i)
		}
	}
	return starts
}

// roomAfter is what the conversation may take afterwards: three quarters of the
// limit, so that the next time is some turns away.
func (p *CondensePlan) roomAfter() int { return p.limit * 3 / 4 }

func (p *CondensePlan) summaryBytes() int { return max(p.limit/maxSummaryShare, minSummary) }

// Cut returns the whole conversation with its largest texts from tools and users
// cut, with a note, as far as the window needs it. The system message and what
// precedes the first reply stay whole.
func (p CondensePlan) Cut() []Message {
	first := slices.IndexFunc(p.conv, func(m Message) bool { return m.Role == RoleAssistant })
	if first < 0 {
		return p.conv
	}
	cut := slices.Clone(p.conv[:first])
	return append(cut, cutToFit(p.conv[first:], p.roomAfter()-conversationBytes(cut))...)
}

// ErrNotCondensed is why [CondensePlan.Apply] refuses a reply.
var ErrNotCondensed = errors.New("the reply is no summary of the older conversation")

// Apply returns the conversation with its older part replaced by the reply to
// Request. It refuses, with an error that matches [ErrNotCondensed], a reply that
// did not come to its end, calls tools, is empty, or would not make the
// conversation smaller; the history is then what it was.
func (p CondensePlan) Apply(reply *Response) ([]Message, error) {
	summary, err := p.summary(reply)
	if err != nil {
		return nil, err
	}
	applied := slices.Clone(p.head)
	applied = append(applied, summary)
	applied = append(applied, p.tail...)
	if conversationBytes(applied) >= conversationBytes(p.conv) {
		return nil, refusedSummary("it is not shorter than what it replaces")
	}
	return applied, nil
}

func (p CondensePlan) summary(reply *Response) (Message, error) {
	switch text := reply.Message.ContentText(); {
	case len(p.old) == 0:
		return Message{}, refusedSummary("nothing was to be condensed")
	case len(reply.Message.ToolCalls) > 0:
		return Message{}, refusedSummary("it calls tools")
	case reply.Finish != FinishStop:
		return Message{}, refusedSummary("it ended with " + string(reply.Finish))
	case isBlank(text):
		return Message{}, refusedSummary("it is empty")
	default:
		m := UserMessage(renderCondensed(text))
		m.Extra = map[string]json.RawMessage{condensedKey: json.RawMessage("true")}
		return m, nil
	}
}

func refusedSummary(why string) error { return fmt.Errorf("%w: %s", ErrNotCondensed, why) }

// cutToFit returns the messages with the largest texts of tool and user messages
// cut to one common length, so that all of them take room bytes where that can be
// done. The given messages are not changed.
func cutToFit(messages []Message, room int) []Message {
	if conversationBytes(messages) <= room {
		return messages
	}
	var sizes []int
	fixed := 0
	for i := range messages {
		m := &messages[i]
		fixed += messageBytes(m)
		if cuttable(m) {
			for _, part := range m.Content {
				if part.Type == PartText {
					sizes = append(sizes, len(part.Text))
					fixed -= len(part.Text)
				}
			}
		}
	}
	length := commonLength(sizes, room-fixed)
	cut := slices.Clone(messages)
	for i := range cut {
		if cuttable(&cut[i]) {
			cut[i] = cutMessage(cut[i], length)
		}
	}
	return cut
}

func cuttable(m *Message) bool { return m.Role == RoleTool || m.Role == RoleUser }

// commonLength is the length to which all that are longer are cut, so that their
// sum is at most room; but at least [minCut].
func commonLength(sizes []int, room int) int {
	slices.Sort(sizes)
	for i, size := range sizes {
		share := room / (len(sizes) - i)
		if size > share {
			return max(share, minCut)
		}
		room -= size
	}
	return minCut
}

func cutMessage(m Message, length int) Message {
	if !slices.ContainsFunc(m.Content, func(p Part) bool { return p.Type == PartText && len(p.Text) > length }) {
		return m
	}
	m.Content = slices.Clone(m.Content)
	for i := range m.Content {
		if part := &m.Content[i]; part.Type == PartText {
			part.Text = cutText(part.Text, length)
		}
	}
	return m
}
