package agent

import (
	"context"
	"errors"
	"strings"
)

// follow does what a reply asks for and reports whether it was the answer.
func (r *run) follow(ctx context.Context, turn int, reply *Reply) (done bool, err error) {
	message := &reply.Response.Message
	switch reply.Response.Finish {
	case FinishRefusal:
		return true, r.unanswered(message, ErrRefused)
	case FinishContentFilter:
		return true, r.unanswered(message, ErrContentFiltered)
	case FinishLength:
		return false, r.goOn(message)
	}
	r.cut = 0
	if len(message.ToolCalls) > 0 {
		r.pieces = nil
		return false, r.runTools(ctx, turn, message.ToolCalls)
	}
	r.result.Final = r.answer(message)
	if repair, err := r.output(reply); repair || err != nil {
		return false, err
	}
	more, err := r.maySteerOn(ctx, turn, reply)
	return !more, err
}

// output takes the structured output out of an answer, or asks for its repair,
// once.
func (r *run) output(reply *Reply) (repair bool, err error) {
	if r.Output == nil {
		return false, nil
	}
	whole := reply.Response
	whole.Message = r.result.Final
	value, err := r.Output.Value(&whole)
	if err == nil {
		r.result.Output, r.repaired = value, false
		return false, nil
	}
	var failure *OutputError
	if r.repaired || !errors.As(err, &failure) || !failure.Repairable() {
		return false, err
	}
	r.repaired = true
	r.conv.appendNote(r.Output.Repair(err), "the output was asked for again")
	return true, nil
}

// unanswered is the end by a reply that is no answer.
func (r *run) unanswered(message *Message, why error) error {
	r.result.Final = r.answer(message)
	return &ReplyError{Err: why, Text: r.result.Final.ContentText()}
}

// The notes that follow a reply that was cut.
const (
	continueNote = "Your reply was cut off by the output limit. Continue it exactly where it stopped, without repeating anything."
	cutCallNote  = "Your reply was cut off by the output limit before its tool call was complete, so nothing was run. " +
		"Make the call again with less in it: split the work into smaller calls."
	cutEmptyNote = "Your reply reached the output limit before it said anything. Answer directly and briefly."
)

// goOn asks for the rest of a reply that was cut.
func (r *run) goOn(message *Message) error {
	text := message.ContentText()
	note := continueNote
	switch {
	case len(message.ToolCalls) > 0:
		note, r.pieces = cutCallNote, nil
	case text == "":
		note = cutEmptyNote
	default:
		r.pieces = append(r.pieces, text)
	}
	r.cut++
	limit := r.MaxCutReplies
	if limit == 0 {
		limit = DefaultMaxCutReplies
	}
	if r.cut > limit {
		said := strings.Join(r.pieces, "")
		if said != "" {
			r.result.Final = AssistantMessage(said)
		}
		return &ReplyError{Err: ErrOutputLimit, Text: said}
	}
	r.conv.appendNote(UserMessage(note), "the rest of a cut reply was asked for")
	return nil
}

// answer is a final message with the pieces that came before it.
func (r *run) answer(message *Message) Message {
	final := *message
	final.ToolCalls = nil
	if len(r.pieces) > 0 {
		final.Content = Text(strings.Join(r.pieces, "") + message.ContentText())
	}
	r.pieces = nil
	return final
}
