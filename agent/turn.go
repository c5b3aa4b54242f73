package agent

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

func replyKey(turn int) string { return "turn/" + strconv.Itoa(turn) + "/reply" }

// reply makes the model call of a turn, or takes it from the journal, and appends
// it to the conversation.
func (r *run) reply(ctx context.Context, turn int) (*Reply, error) {
	key := replyKey(turn)
	var m made[Reply]
	record, err := do(ctx, r.Journal, key, r.conv.Digest(), func(ctx context.Context) ([]byte, error) {
		steered, err := r.steer(ctx, turn)
		if err != nil {
			return nil, err
		}
		tools, err := r.refresh(ctx)
		if err != nil {
			return nil, err
		}
		var condensed bool
		if m.value, condensed, err = r.generateWithin(ctx, turn, key); err != nil {
			return nil, err
		}
		m.value.Steered, m.value.Condensed, m.value.Tools = steered, condensed, tools
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
		if err := r.replay(ctx, turn, reply); err != nil {
			return nil, err
		}
	}
	r.count(reply)
	r.conv.appendRecorded(reply.Response.sentBack(turn), record)
	if r.OnReply != nil {
		r.OnReply(turn, reply)
	}
	return reply, nil
}

// generateWithin makes the model call of a turn with a conversation that fits the
// model's window: condensed before, or when the provider says that it is too long.
func (r *run) generateWithin(ctx context.Context, turn int, key string) (reply *Reply, condensed bool, err error) {
	if r.Condenser != nil {
		if condensed, err = r.condense(ctx, turn, r.describe(ctx).ContextWindow, r.lastInput); err != nil {
			return nil, false, err
		}
	}
	call := r.spokenCall(turn, key)
	reply, err = call.generate(ctx)
	if r.Condenser == nil || condensed || !tooLong(err) {
		return reply, condensed, err
	}
	// The true window is not known; it is less than what was sent.
	window := EstimateTokens(conversationBytes(r.conv.view())) * 3 / 4
	condensed, failure := r.condense(ctx, turn, window, 0)
	if failure != nil || !condensed {
		return nil, false, errors.Join(failure, err)
	}
	again := r.spokenCall(turn, key)
	again.failed, again.tries, again.attempts = call.failed, call.tries, call.attempts
	reply, err = again.generate(ctx)
	return reply, true, err
}

// replay does what a call from the journal did besides its reply.
func (r *run) replay(ctx context.Context, turn int, reply *Reply) error {
	if reply.Steered {
		found, err := r.steerRecorded(ctx, turn)
		if err != nil {
			return err
		}
		if !found {
			return fmt.Errorf("record %s: the messages that the reply of this turn was given are missing", steerKey(turn))
		}
	}
	if reply.Condensed {
		if err := r.condenseRecorded(ctx, turn); err != nil {
			return err
		}
	}
	if reply.Tools != nil {
		if err := r.refreshRecorded(ctx, reply.Tools); err != nil {
			return err
		}
	}
	r.settleReplayed(r.spokenCall(turn, reply.Key), reply)
	return nil
}

// spokenCall is the call whose reply continues the conversation.
func (r *run) spokenCall(turn int, key string) *modelCall {
	call := &modelCall{run: r, turn: turn, key: key, spoken: true, request: r.Request}
	call.request.Messages, call.request.Tools = r.conv.view(), r.tools.specs
	if r.Output != nil {
		call.request.Output = r.Output.Request()
	}
	return call
}

// settleReplayed counts a call from the journal with the meters.
func (r *run) settleReplayed(call *modelCall, reply *Reply) {
	if len(r.meters) == 0 {
		return
	}
	for i := range reply.Failed {
		f := &reply.Failed[i]
		call.settleFailed(call.metered(f.Provider, f.Model), f)
		call.tries++
	}
	call.settleReply(call.metered(reply.Provider, reply.Model), &reply.Response)
}

// count adds a reply of a turn to the result.
func (r *run) count(reply *Reply) {
	response := &reply.Response
	r.result.Turns++
	r.result.Finish = response.Finish
	r.lastInput = 0
	if sent := response.Usage.sent(); sent != nil {
		r.lastInput = *sent
	}
	if response.Finish != FinishLength && response.Finish != FinishRefusal && response.Finish != FinishContentFilter {
		r.result.ToolCalls += len(response.Message.ToolCalls)
	}
	r.countUsage(reply)
	r.bounds.learn(r.conv.Len(), response.Usage)
}

// countUsage adds what a call reported. The failed tries of a call that this
// process made are counted already.
func (r *run) countUsage(reply *Reply) {
	response := &reply.Response
	r.result.Usage = r.result.Usage.Add(response.Usage)
	if !response.Usage.Known() {
		r.result.UnknownUsage++
	}
	if reply.Replayed {
		for i := range reply.Failed {
			r.countFailed(&reply.Failed[i])
		}
	}
}

func (r *run) countFailed(failed *FailedTry) {
	r.result.FailedTries++
	r.result.Usage = r.result.Usage.Add(failed.Usage)
	if failed.Billable && !failed.Usage.Known() {
		r.result.UnknownUsage++
	}
}

// sentBack is the message as later calls send it: with ids that pair each call
// with its result, and without calls that will have none.
func (r *Response) sentBack(turn int) Message {
	switch r.Finish {
	case FinishLength, FinishRefusal, FinishContentFilter:
		message := r.Message
		if len(message.ToolCalls) > 0 {
			// What the provider wants back may belong to the calls.
			message.ToolCalls, message.Extra = nil, nil
		}
		return message
	}
	repairIDs(r.Message.ToolCalls, turn)
	return r.Message
}

// repairIDs gives calls without an id, or with that of another call, one of their
// own.
func repairIDs(calls []ToolCall, turn int) {
	taken := make(map[string]bool, len(calls))
	for i := range calls {
		taken[calls[i].ID] = true
	}
	used := make(map[string]bool, len(calls))
	for i := range calls {
		call := &calls[i]
		if call.ID == "" || used[call.ID] {
			for n := i + 1; call.ID == "" || taken[call.ID]; n += len(calls) {
				call.ID = fmt.Sprintf("call_%d_%d", turn, n)
			}
			taken[call.ID] = true
		}
		used[call.ID] = true
	}
}
