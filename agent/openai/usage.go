package openai

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/treadle-dev/treadle/agent"
)

// object is a JSON object with its values unread.
type object = map[string]json.RawMessage

// asObject returns the members of a JSON object, or nil for anything else.
func asObject(raw json.RawMessage) object {
	var o object
	if json.Unmarshal(raw, &o) != nil {
		return nil
	}
	return o
}

func isNull(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) == 0 || string(raw) == "null"
}

// usageMerge keeps the last figures that a reply reported. Providers send running
// totals, so figures are never added up; a zero does not replace a figure, because
// some send zeros until, or after, they know.
type usageMerge struct{ fields object }

func (u *usageMerge) add(raw json.RawMessage) {
	if o := asObject(raw); o != nil {
		u.fields = mergeUsage(u.fields, o)
	}
}

func mergeUsage(into, from object) object {
	if into == nil {
		into = object{}
	}
	for key, value := range from {
		switch inner := asObject(value); {
		case isNull(value):
		case inner != nil:
			if merged, err := json.Marshal(mergeUsage(asObject(into[key]), inner)); err == nil {
				into[key] = merged
			}
		case saysNothing(value) && into[key] != nil:
		default:
			into[key] = value
		}
	}
	return into
}

// saysNothing reports whether a figure must not replace one that is there.
func saysNothing(raw json.RawMessage) bool {
	n := number(raw)
	return n != nil && *n <= 0
}

// raw is the provider's usage object, or nil when nothing was reported.
func (u *usageMerge) raw() json.RawMessage {
	if len(u.fields) == 0 {
		return nil
	}
	raw, err := json.Marshal(u.fields)
	if err != nil {
		return nil
	}
	return raw
}

// buckets turns the figures into buckets that do not overlap.
func (u *usageMerge) buckets() agent.Usage {
	f := u.fields
	var usage agent.Usage
	prompt, promptHoldsCache := tokens(f, "prompt_tokens"), true
	promptDetails := asObject(f["prompt_tokens_details"])
	if prompt == nil {
		prompt = tokens(f, "input_tokens")
		promptDetails = asObject(f["input_tokens_details"])
		// Servers that pass on Anthropic's own names count cached input apart.
		promptHoldsCache = promptDetails != nil
	}
	usage.CacheRead = firstOf(
		tokens(promptDetails, "cached_tokens"), tokens(f, "prompt_cache_hit_tokens"),
		tokens(f, "cached_tokens"), tokens(f, "cache_read_input_tokens"))
	usage.CacheWrite = firstOf(
		tokens(promptDetails, "cache_write_tokens"), tokens(promptDetails, "cache_creation_tokens"),
		tokens(f, "cache_creation_input_tokens"))
	if prompt != nil {
		cached := value(usage.CacheRead) + value(usage.CacheWrite)
		input := *prompt
		// More cached than sent shows that the provider counts them apart.
		if promptHoldsCache && cached <= input {
			input -= cached
		}
		usage.Input = &input
	}

	usage.Output = firstOf(tokens(f, "completion_tokens"), tokens(f, "output_tokens"))
	usage.Reasoning = firstOf(
		tokens(asObject(f["completion_tokens_details"]), "reasoning_tokens"),
		tokens(asObject(f["output_tokens_details"]), "reasoning_tokens"),
		tokens(f, "reasoning_tokens"))
	usage.Output = outputWithReasoning(usage, tokens(f, "total_tokens"))
	return usage
}

// outputWithReasoning is what came back in all. Some providers leave reasoning out
// of the completion figure; it shows in their total, which is what they bill.
func outputWithReasoning(usage agent.Usage, total *int64) *int64 {
	if usage.Output == nil {
		return nil
	}
	output := *usage.Output
	sent := value(usage.Input) + value(usage.CacheRead) + value(usage.CacheWrite)
	switch {
	case usage.Input != nil && value(total) > sent+output:
		output = *total - sent
	case value(usage.Reasoning) > output:
		output += *usage.Reasoning
	}
	return &output
}

func firstOf(figures ...*int64) *int64 {
	for _, n := range figures {
		if n != nil {
			return n
		}
	}
	return nil
}

func value(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}

func tokens(o object, key string) *int64 {
	n := number(o[key])
	if n == nil || *n < 0 {
		return nil
	}
	return n
}

// maxTokens keeps sums of a few figures inside an int64.
const maxTokens = 1 << 53

// number reads an integer that may be written as 12, 12.0 or "12".
func number(raw json.RawMessage) *int64 {
	if isNull(raw) {
		return nil
	}
	text := string(bytes.TrimSpace(raw))
	var quoted string
	if json.Unmarshal(raw, &quoted) == nil {
		text = quoted
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.Trunc(f) != f || math.Abs(f) > maxTokens {
		return nil
	}
	n := int64(f)
	return &n
}
