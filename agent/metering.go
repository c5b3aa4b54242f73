package agent

import (
	"context"
	"errors"
	"strconv"
)

// meters are what a run's model calls are counted by: the run's own first, so that
// a refusal leaves nothing reserved that outlives the run.
func (l *Loop) meters() []Meter {
	var meters []Meter
	if l.MaxTokens > 0 {
		meters = append(meters, &TokenMeter{Limit: l.MaxTokens})
	}
	if l.Meter != nil {
		meters = append(meters, l.Meter)
	}
	return meters
}

// metered describes the next try.
func (c *modelCall) metered(provider, model string) MeteredCall {
	return MeteredCall{
		Key:      c.KeyPrefix + c.key + "/try/" + strconv.Itoa(c.tries+1),
		Provider: provider,
		Model:    model,
		Input:    c.inputBound(),
	}
}

// inputBound is the most tokens that the call's messages are sent as.
func (c *modelCall) inputBound() int64 {
	messages, tools := c.request.Messages, c.request.Tools
	if !c.spoken {
		var alone bounds
		return alone.input(messages, tools)
	}
	known := min(c.conv.Len(), len(messages))
	bound := c.bounds.input(c.conv.view(), tools)
	for i := known; i < len(messages); i++ {
		bound += messageBound(&messages[i])
	}
	return bound
}

// reserve sets the worst case of a call aside with every meter, and bounds the
// request's output by what they allow.
func (c *modelCall) reserve(ctx context.Context, b Fallback, request *Request) (MeteredCall, error) {
	if len(c.meters) == 0 {
		return MeteredCall{}, nil
	}
	call := c.metered(b.Provider, b.Model)
	most := c.describe(ctx).MaxOutputTokens
	switch {
	case request.MaxOutputTokens != nil:
		call.Output = *request.MaxOutputTokens
	case most > 0:
		call.Output = most
	default:
		call.Output = DefaultMaxOutputTokens
	}
	for _, meter := range c.meters {
		granted, err := meter.Reserve(ctx, call)
		if err != nil {
			return call, refusedBy(err)
		}
		call.Output = min(call.Output, granted)
	}
	if request.MaxOutputTokens != nil || call.Output != most {
		request.MaxOutputTokens = &call.Output
	}
	return call, nil
}

// refusedBy is a meter's error as the loop returns it: a value of its own, since
// what was done until then is put into it.
func refusedBy(err error) error {
	if tokens, ok := errors.AsType[*TokenLimitError](err); ok {
		own := *tokens
		return &own
	}
	if budget, ok := errors.AsType[*BudgetError](err); ok {
		err = budget.Err
	}
	return &BudgetError{Err: err}
}

// describe is what the backend in use says of its model; what it does not say is
// zero. It is asked once a run.
func (r *run) describe(ctx context.Context) ModelInfo {
	info, known := r.described[r.backend]
	if known {
		return info
	}
	b := r.at(r.backend)
	if describer, ok := b.LLM.(Describer); ok {
		// A backend that cannot say now may say later, but not in this run.
		info, _ = describer.Describe(ctx, b.Model)
	}
	if r.described == nil {
		r.described = map[int]ModelInfo{}
	}
	r.described[r.backend] = info
	return info
}

func (c *modelCall) settle(call MeteredCall, usage Usage) {
	for _, meter := range c.meters {
		meter.Settle(call, usage)
	}
}

// settleReply counts a reply. When the provider did not, its own size bounds it.
func (c *modelCall) settleReply(call MeteredCall, response *Response) {
	call.Output = messageBound(&response.Message)
	c.settle(call, response.Usage)
}

// settleFailed counts a failed try: one that the provider cannot charge for costs
// nothing, another what it reported, or else all that was set aside.
func (c *modelCall) settleFailed(call MeteredCall, failed *FailedTry) {
	usage := failed.Usage
	if !failed.Billable && !usage.reported() {
		usage = Usage{Input: Tokens(0), Output: Tokens(0)}
	}
	c.settle(call, usage)
}
