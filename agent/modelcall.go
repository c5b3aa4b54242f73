package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
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
		call := &modelCall{run: r, turn: turn}
		if m.value, err = call.generate(ctx); err != nil {
			return nil, err
		}
		m.value.Steered = steered
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
	if len(r.meters) > 0 {
		call := &modelCall{run: r, turn: turn}
		for i := range reply.Failed {
			f := &reply.Failed[i]
			call.settleFailed(call.metered(f.Provider, f.Model), f)
			call.tries++
		}
		call.settleReply(call.metered(reply.Provider, reply.Model), &reply.Response)
	}
	return nil
}

// count adds a reply to the result. The failed tries of a call that this process
// made are counted already.
func (r *run) count(reply *Reply) {
	response := &reply.Response
	r.result.Turns++
	r.result.Finish = response.Finish
	if response.Finish != FinishLength && response.Finish != FinishRefusal && response.Finish != FinishContentFilter {
		r.result.ToolCalls += len(response.Message.ToolCalls)
	}
	r.result.Usage = r.result.Usage.Add(response.Usage)
	if !response.Usage.Known() {
		r.result.UnknownUsage++
	}
	if reply.Replayed {
		for i := range reply.Failed {
			r.countFailed(&reply.Failed[i])
		}
	}
	r.bounds.learn(r.conv.Len(), response.Usage)
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

// modelCall is the way to one reply: the tries of one backend, then of the next.
type modelCall struct {
	*run
	turn     int
	tries    int
	request  Request
	failed   []FailedTry
	attempts int // of the deltas so far
	repaired bool
}

// generate makes model calls until one gives a reply.
func (c *modelCall) generate(ctx context.Context) (*Reply, error) {
	c.request = c.Request
	c.request.Messages, c.request.Tools = c.conv.view(), c.tools.specs
	c.live = true
	for {
		reply, err := c.ask(ctx, c.at(c.backend))
		switch {
		case err == nil:
			reply.Failed = c.failed
			return reply, nil
		case ctx.Err() != nil || errors.Is(err, ErrLimit):
			return nil, err
		case c.backend >= len(c.Fallbacks):
			return nil, c.gaveUp(err)
		}
		c.backend++
	}
}

// at is the backend of a number: the loop's own, then the fallbacks.
func (r *run) at(i int) Fallback {
	if i == 0 {
		return Fallback{LLM: r.LLM, Provider: r.Provider, Model: r.Request.Model, Options: r.Request.Options}
	}
	return r.Fallbacks[i-1]
}

func (c *modelCall) gaveUp(err error) error {
	if len(c.failed) < 2 {
		return err
	}
	return &TriesError{Tries: c.failed, Err: err}
}

// ask calls one backend until it replies or Retry says that it is enough.
func (c *modelCall) ask(ctx context.Context, b Fallback) (*Reply, error) {
	for try := 1; ; try++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		reply, err := c.try(ctx, b)
		if err == nil || ctx.Err() != nil || errors.Is(err, ErrLimit) {
			return reply, err
		}
		wait, again := c.again(ctx, try, err)
		if c.OnRetry != nil {
			c.OnRetry(c.turn, &c.failed[len(c.failed)-1], wait, again || c.backend < len(c.Fallbacks))
		}
		if !again {
			return nil, err
		}
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// again decides whether a backend is asked once more. A provider that refused the
// tool call which its own model wrote is, once, with its words told to the model.
func (c *modelCall) again(ctx context.Context, try int, err error) (time.Duration, bool) {
	if errors.Is(err, ErrModelToolCall) {
		if c.repaired {
			return 0, false
		}
		c.repaired = true
		note := "The provider refused your last tool call: " + clipText(err.Error(), maxErrorText) + ". Write it again as valid JSON that fits the tool's schema."
		c.request.Messages = append(slices.Clip(c.request.Messages), UserMessage(note))
		return 0, true
	}
	retry := c.Retry
	if retry == nil {
		retry = DefaultRetry
	}
	wait, again := retry(try, err)
	if !again || !fits(ctx, wait) {
		return 0, false
	}
	return max(wait, 0), true
}

// try makes one call. A call that was made and failed is added to the failed ones.
func (c *modelCall) try(ctx context.Context, b Fallback) (*Reply, error) {
	request := c.request
	request.Model, request.Options = b.Model, b.Options
	metered, err := c.reserve(ctx, b, &request)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	reply := &Reply{Provider: b.Provider, Model: b.Model, StartedAt: began.UTC().Round(0)}
	response, err := b.LLM.Generate(ctx, &request, c.sink(began, reply))
	took := time.Since(began).Milliseconds()
	if err == nil {
		err = unusable(response)
	}
	if err != nil {
		failed := failedTry(err)
		failed.Provider, failed.Model, failed.StartedAt, failed.DurationMS = b.Provider, b.Model, reply.StartedAt, took
		c.settleFailed(metered, &failed)
		c.countFailed(&failed)
		c.failed = append(c.failed, failed)
		c.tries++
		return nil, err
	}
	reply.DurationMS, reply.Response = took, *response
	reply.Response.Usage = reply.Response.Usage.possible()
	if reply.Response.Message.Role == "" {
		reply.Response.Message.Role = RoleAssistant
	}
	c.settleReply(metered, &reply.Response)
	return reply, nil
}

// sink passes deltas on to the loop's sink, with the attempt counted over all
// tries, and notes when the first one came.
func (c *modelCall) sink(began time.Time, reply *Reply) Sink {
	if c.Sink == nil {
		return nil
	}
	before := c.attempts
	return func(d Delta) {
		if reply.FirstTokenMS == 0 {
			reply.FirstTokenMS = max(1, time.Since(began).Milliseconds())
		}
		d.Attempt = before + max(1, d.Attempt)
		c.attempts = max(c.attempts, d.Attempt)
		c.Sink(d)
	}
}

// unusable is the error of a reply that a backend took for complete.
func unusable(response *Response) error {
	switch {
	case response == nil:
		return &ModelError{Message: "the backend returned neither a reply nor an error"}
	case response.Finish == FinishLength, response.Finish == FinishRefusal, response.Finish == FinishContentFilter:
		return nil
	case len(response.Message.ToolCalls) == 0 && !hasContent(&response.Message):
		return &ModelError{
			Message: "the reply holds neither text nor a tool call", Retryable: true, Partial: response, Err: ErrReplyEmpty,
		}
	}
	return nil
}

func hasContent(m *Message) bool {
	return slices.ContainsFunc(m.Content, func(p Part) bool { return p.Type != PartText || p.Text != "" })
}

func failedTry(err error) FailedTry {
	failed := FailedTry{Error: clipText(err.Error(), maxErrorText), Err: err}
	var failure *ModelError
	if errors.As(err, &failure) {
		failed.StatusCode = failure.StatusCode
		failed.Billable = failure.Partial != nil
		if failure.Partial != nil {
			failed.Usage = failure.Partial.Usage.possible()
		}
	}
	for _, late := range []error{ErrReplyCut, ErrReplyStalled, ErrReplyTimeout, ErrReplyTooLarge, ErrReplyEmpty} {
		failed.Billable = failed.Billable || errors.Is(err, late)
	}
	failed.Billable = failed.Billable || ended(err)
	return failed
}
