package agent

import "math"

// Usage counts the tokens of model calls in buckets that do not overlap: what
// was sent is Input + CacheRead + CacheWrite, what came back is Output. A nil
// field was not reported, which is not zero.
type Usage struct {
	Input      *int64 `json:"input_tokens,omitempty"`       // sent and not in a cache
	CacheRead  *int64 `json:"cache_read_tokens,omitempty"`  // sent and read from a cache
	CacheWrite *int64 `json:"cache_write_tokens,omitempty"` // sent and written to a cache
	Output     *int64 `json:"output_tokens,omitempty"`      // came back, with Reasoning
	Reasoning  *int64 `json:"reasoning_tokens,omitempty"`   // of Output
}

// Tokens returns a set counter.
func Tokens(n int64) *int64 { return &n }

// Known reports whether both directions were reported.
func (u Usage) Known() bool { return u.Input != nil && u.Output != nil }

// Add returns the sum. A bucket that only one side reports keeps that figure. A
// sum too large for an int64 stays at the largest.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input:      addTokens(u.Input, v.Input),
		CacheRead:  addTokens(u.CacheRead, v.CacheRead),
		CacheWrite: addTokens(u.CacheWrite, v.CacheWrite),
		Output:     addTokens(u.Output, v.Output),
		Reasoning:  addTokens(u.Reasoning, v.Reasoning),
	}
}

// Total is the sum of all reported buckets in tokens.
func (u Usage) Total() int64 {
	var total int64
	for _, n := range [...]*int64{u.Input, u.CacheRead, u.CacheWrite, u.Output} {
		if n != nil {
			total = addSaturated(total, *n)
		}
	}
	return total
}

// sent is the sum of the reported buckets that were sent; nil when none was
// reported.
func (u Usage) sent() *int64 {
	return addTokens(addTokens(u.Input, u.CacheRead), u.CacheWrite)
}

// reported reports whether any bucket was.
func (u Usage) reported() bool { return u != Usage{} }

// possible takes buckets that cannot be for not reported.
func (u Usage) possible() Usage {
	for _, n := range [...]**int64{&u.Input, &u.CacheRead, &u.CacheWrite, &u.Output, &u.Reasoning} {
		if *n != nil && **n < 0 {
			*n = nil
		}
	}
	return u
}

func addTokens(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := addSaturated(*a, *b)
	return &sum
}

// addSaturated adds counters, which are not negative.
func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
