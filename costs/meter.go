package costs

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"github.com/treadle-dev/treadle/agent"
)

// ErrUnpriced says that a call of a model was refused because a limit of money
// holds and the price list does not know what the model costs.
var ErrUnpriced = errors.New("the model has no price")

// ErrLimit is what a [*LimitError] matches.
var ErrLimit = errors.New("the money limit is reached")

// LimitError says that the next model call could have passed the limit. The call
// was not made.
type LimitError struct {
	Limit    USD
	Spent    USD // of the calls so far
	Reserved USD // set aside for calls under way elsewhere
	Needed   USD // what the call needs at least
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("the next model call may cost %s dollars, and of %s there are %s spent and %s set aside; raise the limit or narrow the step",
		e.Needed, e.Limit, e.Spent, e.Reserved)
}

// Is reports whether target is [ErrLimit].
func (e *LimitError) Is(target error) bool { return target == ErrLimit }

// Meter limits what model calls cost: an [agent.Meter] for one run, or for all runs
// that share it. A call is reserved at its worst case and settled at what it used,
// so that what is spent and what is reserved stay within the limit together. A
// model without prices of input and output is refused. It is safe for concurrent
// use and must not be copied after its first use.
type Meter struct {
	// Limit is the most that all calls may cost; 0 lets none through.
	Limit USD
	// Prices price the calls. Required.
	Prices *Prices

	mu       sync.Mutex
	spent    USD
	reserved USD
	open     map[string]USD
	settled  map[string]bool
}

var _ agent.Meter = (*Meter)(nil)

// Reserve sets aside the input of a call, at the dearest rate that input can have,
// and as much output as the limit leaves room for. The error is a [*LimitError] or
// matches [ErrUnpriced].
func (m *Meter) Reserve(_ context.Context, call agent.MeteredCall) (int64, error) {
	price, err := m.price(call)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	input := costOf(call.Input, price.dearestInput())
	left := m.Limit - m.spent - m.reserved - input
	output := min(call.Output, tokensFor(left, *price.Output))
	if output < 1 {
		return 0, &LimitError{Limit: m.Limit, Spent: m.spent, Reserved: m.reserved, Needed: input + costOf(1, *price.Output)}
	}
	if m.open == nil {
		m.open = map[string]USD{}
	}
	amount := input + costOf(output, *price.Output)
	m.reserved += amount - m.open[call.Key]
	m.open[call.Key] = amount
	return output, nil
}

// Settle counts what a call cost. What was not reported counts as the call says.
func (m *Meter) Settle(call agent.MeteredCall, usage agent.Usage) {
	cost := m.cost(call, usage)
	m.mu.Lock()
	defer m.mu.Unlock()
	amount, held := m.open[call.Key]
	delete(m.open, call.Key)
	m.reserved -= amount
	if m.settled[call.Key] && !held {
		return
	}
	if m.settled == nil {
		m.settled = map[string]bool{}
	}
	m.settled[call.Key] = true
	m.spent = USD(addSaturated(int64(m.spent), int64(cost)))
}

// Spent is what the settled calls cost.
func (m *Meter) Spent() USD {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.spent
}

// Reserved is what calls under way have set aside.
func (m *Meter) Reserved() USD {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reserved
}

func (m *Meter) price(call agent.MeteredCall) (ModelPrice, error) {
	price, ok := m.Prices.Lookup(call.Provider, call.Model)
	if !ok || price.Input == nil || price.Output == nil {
		return price, fmt.Errorf("%w: %q of provider %q; add it to the price list, or run without a money limit", ErrUnpriced, call.Model, call.Provider)
	}
	return price, nil
}

// cost prices a call. One that was recorded before the price list lost its model
// costs what can be known of it.
func (m *Meter) cost(call agent.MeteredCall, usage agent.Usage) USD {
	price, ok := m.Prices.Lookup(call.Provider, call.Model)
	if !ok {
		return 0
	}
	if usage.Input == nil && usage.CacheRead == nil && usage.CacheWrite == nil {
		usage.Input = &call.Input
	}
	if usage.Output == nil {
		usage.Output = &call.Output
	}
	var total int64
	for _, part := range []struct{ tokens, rate *int64 }{
		{usage.Input, (*int64)(price.Input)},
		{usage.CacheRead, (*int64)(firstRate(price.CacheRead, price.Input))},
		{usage.CacheWrite, (*int64)(firstRate(price.CacheWrite, price.Input))},
		{usage.Output, (*int64)(price.Output)},
	} {
		if part.tokens != nil && part.rate != nil && *part.tokens > 0 {
			total = addSaturated(total, int64(costOf(*part.tokens, USD(*part.rate))))
		}
	}
	return USD(total)
}

// dearestInput is the highest rate that a token sent can have.
func (p *ModelPrice) dearestInput() USD {
	dearest := *p.Input
	for _, rate := range []*USD{p.CacheRead, p.CacheWrite} {
		if rate != nil {
			dearest = max(dearest, *rate)
		}
	}
	return dearest
}

func firstRate(rates ...*USD) *USD {
	for _, rate := range rates {
		if rate != nil {
			return rate
		}
	}
	return nil
}

// tokensFor is how many tokens an amount pays at a rate per million.
func tokensFor(amount, rate USD) int64 {
	switch {
	case amount <= 0:
		return 0
	case rate <= 0:
		return maxTokens
	}
	hi, lo := bits.Mul64(uint64(amount), 1_000_000)
	if hi >= uint64(rate) {
		return maxTokens
	}
	tokens, _ := bits.Div64(hi, lo, uint64(rate))
	return int64(min(tokens, maxTokens))
}

// maxTokens stands for more output than any model gives.
const maxTokens = 1 << 40
