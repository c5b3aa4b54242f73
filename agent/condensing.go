package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"
)

func condenseKey(turn int) string { return "turn/" + strconv.Itoa(turn) + "/condense" }

func summaryKey(turn int) string { return condenseKey(turn) + "/reply" }

// keptMessage is a message of a condensed conversation: one that was there before,
// by its place, or another. So a record is no larger than what is new.
type keptMessage struct {
	At      *int     `json:"at,omitempty"` // from 0, in the conversation before
	Message *Message `json:"message,omitempty"`
}

// condense shrinks the conversation before the model call of a turn when it nears
// the window, in tokens. It is called inside the call's own Do.
func (r *run) condense(ctx context.Context, turn int, window, lastInput int64) (bool, error) {
	plan, needed := r.Condenser.Plan(r.conv.view(), window, lastInput)
	if !needed {
		return false, nil
	}
	input := r.conv.Digest()
	record, err := do(ctx, r.Journal, condenseKey(turn), input, func(ctx context.Context) ([]byte, error) {
		messages, err := r.condensed(ctx, turn, input, plan)
		if err != nil {
			return nil, err
		}
		return json.Marshal(difference(r.conv.view(), messages))
	})
	if err != nil {
		return false, err
	}
	return true, r.adopt(turn, record)
}

// condensed asks for a summary. Without one the conversation is only cut, so that a
// call that fails neither loses history nor ends the loop.
func (r *run) condensed(ctx context.Context, turn int, input string, plan CondensePlan) ([]Message, error) {
	request := plan.Request()
	if request == nil {
		return plan.Cut(), nil
	}
	summary, err := r.summarise(ctx, turn, input, request)
	var failure *ModelError
	switch {
	case err == nil:
		if messages, err := plan.Apply(&summary.Response); err == nil {
			return messages, nil
		}
		return plan.Cut(), nil
	case ctx.Err() == nil && errors.As(err, &failure):
		return plan.Cut(), nil
	}
	return nil, err
}

// summarise makes the model call for a summary, or takes it from the journal.
func (r *run) summarise(ctx context.Context, turn int, input string, request []Message) (*Reply, error) {
	key := summaryKey(turn)
	var m made[Reply]
	record, err := do(ctx, r.Journal, key, input, func(ctx context.Context) ([]byte, error) {
		call := r.summaryCall(turn)
		call.request.Messages = request
		var err error
		if m.value, err = call.generate(ctx); err != nil {
			return nil, err
		}
		m.data, m.same, err = m.value.encode()
		return m.data, err
	})
	if err != nil {
		return nil, err
	}
	reply, err := recorded(key, record, m)
	if err != nil {
		return nil, err
	}
	reply.Key, reply.Replayed = key, m.value == nil
	if reply.Replayed {
		r.settleReplayed(r.summaryCall(turn), reply)
	}
	r.countUsage(reply)
	if r.OnReply != nil {
		r.OnReply(turn, reply)
	}
	return reply, nil
}

func (r *run) summaryCall(turn int) *modelCall {
	call := &modelCall{run: r, turn: turn, key: summaryKey(turn), request: r.Request}
	call.request.Output = nil
	return call
}

// condenseRecorded does again what the record of a turn says.
func (r *run) condenseRecorded(ctx context.Context, turn int) error {
	input := r.conv.Digest()
	absent := func(context.Context) ([]byte, error) { return nil, errNotRecorded }
	_, err := r.Journal.Do(ctx, summaryKey(turn), input, absent)
	if err == nil {
		_, err = r.summarise(ctx, turn, input, nil)
	}
	if err != nil && !errors.Is(err, errNotRecorded) {
		return err
	}
	record, err := r.Journal.Do(ctx, condenseKey(turn), input, absent)
	if err != nil {
		return fmt.Errorf("record %s: %w", condenseKey(turn), err)
	}
	return r.adopt(turn, record)
}

// tooLong reports whether a provider refused a call because of its length. There is
// no common code for it.
func tooLong(err error) bool {
	var failure *ModelError
	if !errors.As(err, &failure) || failure.Retryable {
		return false
	}
	if failure.Code == "context_length_exceeded" || failure.StatusCode == http.StatusRequestEntityTooLarge {
		return true
	}
	words := strings.ToLower(failure.Message)
	for _, sign := range []string{"context length", "context window", "context size", "prompt is too long", "maximum context", "input is too long"} {
		if strings.Contains(words, sign) {
			return true
		}
	}
	return false
}

var errNotRecorded = errors.New("nothing is recorded")

// adopt goes on with the conversation that a record describes.
func (r *run) adopt(turn int, record []byte) error {
	var kept []keptMessage
	if err := json.Unmarshal(record, &kept); err != nil {
		return fmt.Errorf("record %s: %w", condenseKey(turn), err)
	}
	before := r.conv.view()
	messages := make([]Message, 0, len(kept))
	for _, k := range kept {
		switch {
		case k.Message != nil:
			messages = append(messages, *k.Message)
		case k.At != nil && *k.At >= 0 && *k.At < len(before):
			messages = append(messages, before[*k.At])
		default:
			return fmt.Errorf("record %s: it names a message that the conversation does not have", condenseKey(turn))
		}
	}
	r.conv.replaceRecorded(messages, record)
	r.bounds, r.lastInput = bounds{}, 0
	r.result.Condensed++
	return nil
}

// difference tells messages by those before. Their order is the same, except where
// messages are new.
func difference(before, after []Message) []keptMessage {
	kept := make([]keptMessage, len(after))
	next := 0
	for i := range after {
		at := next
		for at < len(before) && !reflect.DeepEqual(before[at], after[i]) {
			at++
		}
		if at == len(before) {
			kept[i].Message = &after[i]
			continue
		}
		kept[i].At = &at
		next = at + 1
	}
	return kept
}
