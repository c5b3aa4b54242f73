package agent

import (
	"context"
	"errors"
	"slices"
	"time"
)

// modelCall is the way to one reply: the tries of one backend, then of the next.
type modelCall struct {
	*run
	turn     int
	key      string // of the reply's record
	spoken   bool   // its messages are the conversation
	request  Request
	tries    int
	failed   []FailedTry
	attempts int // of the deltas so far
	repaired bool
}

// generate makes model calls until one gives a reply.
func (c *modelCall) generate(ctx context.Context) (*Reply, error) {
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
	if !again || try >= maxTries || !fits(ctx, wait) {
		return 0, false
	}
	return max(wait, 0), true
}

// maxTries is a hard cap on the tries of one backend, whatever Retry says.
const maxTries = 100

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
// tries, and notes when the first one came. A summary is not part of what is said.
func (c *modelCall) sink(began time.Time, reply *Reply) Sink {
	if c.Sink == nil || !c.spoken {
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
	if failure, ok := errors.AsType[*ModelError](err); ok {
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
