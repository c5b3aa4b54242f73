package agent

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

// Add returns the sum. A bucket that only one side reports keeps that figure.
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
	for _, n := range []*int64{u.Input, u.CacheRead, u.CacheWrite, u.Output} {
		if n != nil {
			total += *n
		}
	}
	return total
}

func addTokens(a, b *int64) *int64 {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	sum := *a + *b
	return &sum
}
