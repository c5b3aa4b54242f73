package costs

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// usageJSON is a model's usage in a daily file. Its fields are in the order of
// their names, so that what it writes is sorted.
type usageJSON struct {
	CacheCost         *USD   `json:"cache_cost_usd,omitempty"`
	CacheReadCost     *USD   `json:"cache_read_cost_usd,omitempty"`
	CacheReadTokens   *int64 `json:"cache_read_tokens,omitempty"`
	CacheTokens       *int64 `json:"cache_tokens,omitempty"`
	CacheWriteCost    *USD   `json:"cache_write_cost_usd,omitempty"`
	CacheWriteTokens  *int64 `json:"cache_write_tokens,omitempty"`
	CallsWithoutPrice *int64 `json:"calls_without_price,omitempty"`
	CallsWithoutUsage *int64 `json:"calls_without_usage,omitempty"`
	DurationMS        *int64 `json:"duration_ms,omitempty"`
	InputCost         *USD   `json:"input_cost_usd,omitempty"`
	InputTokens       *int64 `json:"input_tokens,omitempty"`
	Calls             *int64 `json:"llm_call_count,omitempty"`
	OutputCost        *USD   `json:"output_cost_usd,omitempty"`
	OutputTokens      *int64 `json:"output_tokens,omitempty"`
	PricingModel      string `json:"pricing_model_id,omitempty"`
	PricingVersion    string `json:"pricing_version,omitempty"`
	Provider          string `json:"provider,omitempty"`
	ReasoningCost     *USD   `json:"reasoning_cost_usd,omitempty"`
	ReasoningTokens   *int64 `json:"reasoning_tokens,omitempty"`
	TotalCost         *USD   `json:"total_cost_usd,omitempty"`
}

// counts, money and texts find a field by its name; nil is no such field.
func (u *usageJSON) counts(name string) **int64 {
	switch name {
	case "cache_read_tokens":
		return &u.CacheReadTokens
	case "cache_tokens":
		return &u.CacheTokens
	case "cache_write_tokens":
		return &u.CacheWriteTokens
	case "calls_without_price":
		return &u.CallsWithoutPrice
	case "calls_without_usage":
		return &u.CallsWithoutUsage
	case "duration_ms":
		return &u.DurationMS
	case "input_tokens":
		return &u.InputTokens
	case "llm_call_count":
		return &u.Calls
	case "output_tokens":
		return &u.OutputTokens
	case "reasoning_tokens":
		return &u.ReasoningTokens
	}
	return nil
}

func (u *usageJSON) money(name string) **USD {
	switch name {
	case "cache_cost_usd":
		return &u.CacheCost
	case "cache_read_cost_usd":
		return &u.CacheReadCost
	case "cache_write_cost_usd":
		return &u.CacheWriteCost
	case "input_cost_usd":
		return &u.InputCost
	case "output_cost_usd":
		return &u.OutputCost
	case "reasoning_cost_usd":
		return &u.ReasoningCost
	case "total_cost_usd":
		return &u.TotalCost
	}
	return nil
}

func (u *usageJSON) texts(name string) *string {
	switch name {
	case "pricing_model_id":
		return &u.PricingModel
	case "pricing_version":
		return &u.PricingVersion
	case "provider":
		return &u.Provider
	}
	return nil
}

// isUsageField reports whether a rewrite replaces the field: those above, and the
// display texts that older files keep beside the counts and that would go stale.
func isUsageField(name string) bool {
	u := &usageJSON{}
	return u.counts(name) != nil || u.money(name) != nil || u.texts(name) != nil ||
		name == "input_tokens_m" || name == "output_tokens_m"
}

// readUsage reads a model's usage. A null field is an absent one.
func readUsage(raw json.RawMessage) (*usageJSON, error) {
	if len(raw) == 0 || raw[0] != '{' {
		return nil, errNotObject
	}
	u := &usageJSON{}
	return u, members(raw, func(name string, value json.RawMessage) error {
		if string(value) == "null" {
			return nil
		}
		if err := u.read(name, value); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
}

func (u *usageJSON) read(name string, value json.RawMessage) error {
	if field := u.counts(name); field != nil {
		n, err := strconv.ParseInt(string(value), 10, 64)
		if err != nil {
			return fmt.Errorf("%.40s is no whole number", value)
		}
		*field = &n
	} else if field := u.money(name); field != nil {
		*field = new(USD)
		return (*field).UnmarshalJSON(value)
	} else if field := u.texts(name); field != nil {
		return json.Unmarshal(value, field)
	}
	return nil
}

const versionSeparator = ", "

// MarshalJSON writes the amount with the field names of the daily files.
func (a Amount) MarshalJSON() ([]byte, error) { return json.Marshal(a.usage()) }

func (a Amount) usage() usageJSON {
	return usageJSON{
		CacheCost:         sumOf(a.Cost.CacheRead, a.Cost.CacheWrite),
		CacheReadCost:     a.Cost.CacheRead,
		CacheReadTokens:   a.Usage.CacheRead,
		CacheTokens:       sumOf(a.Usage.CacheRead, a.Usage.CacheWrite),
		CacheWriteCost:    a.Cost.CacheWrite,
		CacheWriteTokens:  a.Usage.CacheWrite,
		CallsWithoutPrice: &a.CallsWithoutPrice,
		CallsWithoutUsage: &a.CallsWithoutUsage,
		DurationMS:        new(a.Duration.Milliseconds()),
		InputCost:         a.Cost.Input,
		InputTokens:       a.Usage.Input,
		Calls:             &a.Calls,
		OutputCost:        a.Cost.Output,
		OutputTokens:      a.Usage.Output,
		PricingVersion:    strings.Join(a.PricingVersions, versionSeparator),
		ReasoningCost:     a.Cost.Reasoning,
		ReasoningTokens:   a.Usage.Reasoning,
		TotalCost:         a.Cost.Total,
	}
}

// sumOf adds what is set; nothing set is nil.
func sumOf[N ~int64](a, b *N) *N {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return new(N(addSaturated(int64(*a), int64(*b))))
}

// bucket reads what a file says. Fields that only this package writes are filled
// in for the files of others: without a total, the cost of every call is unknown.
func (u *usageJSON) bucket() (*bucket, error) {
	b := &bucket{}
	r := bucketReader{}
	r.count(&b.calls, "llm_call_count", u.Calls)
	r.count(&b.withoutUsage, "calls_without_usage", u.CallsWithoutUsage)
	r.count(&b.withoutPrice, "calls_without_price", u.CallsWithoutPrice)
	var ms int64
	r.count(&ms, "duration_ms", u.DurationMS)
	if ms > int64(time.Duration(1<<63-1)/time.Millisecond) {
		r.errs = append(r.errs, errors.New("duration_ms is out of range"))
	}
	b.duration = ms * int64(time.Millisecond)

	cacheRead, cacheReadCost := u.CacheReadTokens, u.CacheReadCost
	if cacheRead == nil && u.CacheWriteTokens == nil {
		cacheRead = u.CacheTokens // older files know no difference
	}
	if cacheReadCost == nil && u.CacheWriteCost == nil {
		cacheReadCost = u.CacheCost
	}
	r.tokens(b, atInput, "input_tokens", u.InputTokens)
	r.tokens(b, atCacheRead, "cache_read_tokens", cacheRead)
	r.tokens(b, atCacheWrite, "cache_write_tokens", u.CacheWriteTokens)
	r.tokens(b, atOutput, "output_tokens", u.OutputTokens)
	r.tokens(b, atReasoning, "reasoning_tokens", u.ReasoningTokens)
	r.cost(b, atInput, "input_cost_usd", u.InputCost)
	r.cost(b, atCacheRead, "cache_read_cost_usd", cacheReadCost)
	r.cost(b, atCacheWrite, "cache_write_cost_usd", u.CacheWriteCost)
	r.cost(b, atOutput, "output_cost_usd", u.OutputCost)
	r.cost(b, atReasoning, "reasoning_cost_usd", u.ReasoningCost)
	total := u.TotalCost
	if total == nil {
		total = sumOf(sumOf(u.InputCost, u.OutputCost), sumOf(cacheReadCost, u.CacheWriteCost))
	}
	if len(r.errs) == 0 { // the sum of parts is only safe once they are checked
		r.cost(b, atTotal, "total_cost_usd", total)
	}
	if u.CallsWithoutPrice == nil && total == nil {
		b.withoutPrice = b.calls
	}
	if u.PricingVersion != "" {
		for v := range strings.SplitSeq(u.PricingVersion, versionSeparator) {
			b.addVersion(v)
		}
	}
	return b, errors.Join(r.errs...)
}

// bucketReader refuses negative counts and collects what it refused.
type bucketReader struct{ errs []error }

func (r *bucketReader) counter(c *counter, name string, n *int64) {
	switch {
	case n == nil:
	case *n < 0:
		r.errs = append(r.errs, fmt.Errorf("%s is negative", name))
	default:
		c.add(*n)
	}
}

func (r *bucketReader) count(to *int64, name string, n *int64) {
	var c counter
	r.counter(&c, name, n)
	*to = c.n
}

func (r *bucketReader) tokens(b *bucket, kind int, name string, n *int64) {
	r.counter(&b.tokens[kind], name, n)
}

func (r *bucketReader) cost(b *bucket, kind int, name string, usd *USD) {
	r.counter(&b.costs[kind], name, (*int64)(usd))
}
