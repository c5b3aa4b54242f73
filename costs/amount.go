package costs

import (
	"slices"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// Amount is what a number of model calls used. Its JSON is that of a model's usage
// in the daily files.
type Amount struct {
	// Calls is the number of model calls. With none, nothing was spent: tokens and
	// costs are then absent and exactly zero.
	Calls int64
	// CallsWithoutUsage counts the calls whose provider did not report both
	// directions, CallsWithoutPrice those whose cost is not known in full.
	CallsWithoutUsage int64
	CallsWithoutPrice int64
	// Usage holds the sums of what was reported; nil is never reported.
	Usage agent.Usage
	Cost  Cost
	// Duration is the time spent in the calls, added up even where they ran side
	// by side.
	Duration time.Duration
	// PricingVersions are the versions of the price lists used, sorted.
	PricingVersions []string
}

// Cost is money by token bucket; nil is unknown.
type Cost struct {
	Total      *USD // Input + CacheRead + CacheWrite + Output, of those known
	Input      *USD
	CacheRead  *USD
	CacheWrite *USD
	Output     *USD // with Reasoning
	Reasoning  *USD // of Output
}

// Tokens is the sum of all reported buckets, each token once.
func (a Amount) Tokens() int64 {
	var sum int64
	for _, n := range []*int64{a.Usage.Input, a.Usage.CacheRead, a.Usage.CacheWrite, a.Usage.Output} {
		if n != nil {
			sum = addSaturated(sum, *n)
		}
	}
	return sum
}

// TokensAtLeast reports whether the token counts are lower bounds.
func (a Amount) TokensAtLeast() bool { return a.CallsWithoutUsage > 0 }

// CostAtLeast reports whether the cost is a lower bound, or, where it is nil,
// unknown.
func (a Amount) CostAtLeast() bool { return a.CallsWithoutPrice > 0 }

// The places of a bucket's counters. Money has one more, its total.
const (
	atInput = iota
	atCacheRead
	atCacheWrite
	atOutput
	atReasoning
	tokenKinds
	atTotal = tokenKinds
)

// counter tells not reported from zero without a pointer. It never goes negative.
type counter struct {
	n   int64
	set bool
}

func (c *counter) add(n int64) {
	c.n = addSaturated(c.n, n)
	c.set = true
}

func (c *counter) merge(d counter) {
	if d.set {
		c.add(d.n)
	}
}

func (c counter) tokens() *int64 {
	if !c.set {
		return nil
	}
	return &c.n
}

func (c counter) usd() *USD {
	if !c.set {
		return nil
	}
	return new(USD(c.n))
}

// bucket is an [Amount] that is cheap to add to. Every operation on it commutes,
// which makes totals independent of the order of calls.
type bucket struct {
	calls, withoutUsage, withoutPrice int64

	tokens   [tokenKinds]counter
	costs    [tokenKinds + 1]counter
	duration int64    // nanoseconds
	versions []string // sorted, without repeats
}

func (b *bucket) merge(c *bucket) {
	b.calls = addSaturated(b.calls, c.calls)
	b.withoutUsage = addSaturated(b.withoutUsage, c.withoutUsage)
	b.withoutPrice = addSaturated(b.withoutPrice, c.withoutPrice)
	for i := range b.tokens {
		b.tokens[i].merge(c.tokens[i])
	}
	for i := range b.costs {
		b.costs[i].merge(c.costs[i])
	}
	b.duration = addSaturated(b.duration, c.duration)
	for _, v := range c.versions {
		b.addVersion(v)
	}
}

func (b *bucket) addVersion(v string) {
	if i, found := slices.BinarySearch(b.versions, v); !found {
		b.versions = slices.Insert(slices.Clip(b.versions), i, v)
	}
}

// count adds one call.
func (b *bucket) count(u *agent.Usage, took time.Duration, rates *rates) {
	b.calls = addSaturated(b.calls, 1)
	b.duration = addSaturated(b.duration, int64(max(took, 0)))
	reported := [tokenKinds]*int64{
		atInput: u.Input, atCacheRead: u.CacheRead, atCacheWrite: u.CacheWrite,
		atOutput: u.Output, atReasoning: u.Reasoning,
	}
	for i, n := range reported {
		if n != nil && *n < 0 {
			reported[i] = nil
		}
	}
	priced := rates != nil
	if reported[atInput] == nil || reported[atOutput] == nil {
		b.withoutUsage = addSaturated(b.withoutUsage, 1)
		priced = false
	}
	for i, n := range reported {
		if n == nil {
			continue
		}
		b.tokens[i].add(*n)
		cost, known := rates.cost(i, *n)
		if !known {
			priced = false
			continue
		}
		b.costs[i].add(int64(cost))
		if i != atReasoning {
			b.costs[atTotal].add(int64(cost))
		}
	}
	if !priced {
		b.withoutPrice = addSaturated(b.withoutPrice, 1)
	}
}

func (b *bucket) amount() Amount {
	return Amount{
		Calls:             b.calls,
		CallsWithoutUsage: b.withoutUsage,
		CallsWithoutPrice: b.withoutPrice,
		Usage: agent.Usage{
			Input:      b.tokens[atInput].tokens(),
			CacheRead:  b.tokens[atCacheRead].tokens(),
			CacheWrite: b.tokens[atCacheWrite].tokens(),
			Output:     b.tokens[atOutput].tokens(),
			Reasoning:  b.tokens[atReasoning].tokens(),
		},
		Cost: Cost{
			Total:      b.costs[atTotal].usd(),
			Input:      b.costs[atInput].usd(),
			CacheRead:  b.costs[atCacheRead].usd(),
			CacheWrite: b.costs[atCacheWrite].usd(),
			Output:     b.costs[atOutput].usd(),
			Reasoning:  b.costs[atReasoning].usd(),
		},
		Duration:        time.Duration(b.duration),
		PricingVersions: slices.Clone(b.versions),
	}
}

// rates is a [ModelPrice] in the order of a bucket's counters; nil knows nothing.
type rates struct {
	perMillion [tokenKinds]counter
}

func newRates(p ModelPrice) *rates {
	r := &rates{}
	for i, usd := range [tokenKinds]*USD{
		atInput: p.Input, atCacheRead: p.CacheRead, atCacheWrite: p.CacheWrite,
		atOutput: p.Output, atReasoning: p.Output,
	} {
		if usd != nil && *usd >= 0 {
			r.perMillion[i].add(int64(*usd))
		}
	}
	return r
}

// cost prices n tokens of one kind. No tokens cost nothing at any rate of a model
// that has a price, even at one that is not known.
func (r *rates) cost(kind int, n int64) (cost USD, known bool) {
	switch {
	case r == nil:
		return 0, false
	case r.perMillion[kind].set:
		return costOf(n, USD(r.perMillion[kind].n)), true
	default:
		return 0, n == 0
	}
}
