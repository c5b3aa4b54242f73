package costs_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
)

func TestAnEntryCountsOnce(t *testing.T) {
	t.Parallel()
	tally := costs.NewTally(prices())
	assert.True(t, tally.Add(call("a", "fetch")))
	assert.False(t, tally.Add(call("a", "fetch")))
	assert.False(t, tally.Add(call("", "fetch")), "without a key nobody could tell it from its repetition")
	assert.EqualValues(t, 1, tally.Totals().Calls)
	assert.Equal(t, 1, tally.Len())
}

func TestMissingIsNotZero(t *testing.T) {
	t.Parallel()
	zero, missing, half := call("a", "zero"), call("b", "missing"), call("c", "half")
	zero.Usage = agent.Usage{Input: agent.Tokens(0), Output: agent.Tokens(0)}
	missing.Usage = agent.Usage{}
	half.Usage = agent.Usage{Input: agent.Tokens(1000)}
	tally := tallyOf(zero, missing, half)

	a := tally.Step("", "zero")
	require.NotNil(t, a.Usage.Input)
	assert.Zero(t, *a.Usage.Input)
	assert.False(t, a.TokensAtLeast())
	assert.False(t, a.CostAtLeast())
	require.NotNil(t, a.Cost.Total)
	assert.Zero(t, *a.Cost.Total)

	a = tally.Step("", "missing")
	assert.Nil(t, a.Usage.Input)
	assert.Nil(t, a.Cost.Total)
	assert.True(t, a.TokensAtLeast())
	assert.True(t, a.CostAtLeast())

	a = tally.Step("", "half")
	assert.Equal(t, "0.002", a.Cost.Total.String())
	assert.Nil(t, a.Usage.Output)
	assert.True(t, a.TokensAtLeast())
	assert.True(t, a.CostAtLeast())

	assert.EqualValues(t, 2, tally.Totals().CallsWithoutUsage)
	assert.EqualValues(t, 1000, tally.Totals().Tokens())
}

func TestMissingStaysMissingInTheFile(t *testing.T) {
	t.Parallel()
	missing := costs.Amount{Calls: 1, CallsWithoutUsage: 1, CallsWithoutPrice: 1}
	text, err := json.Marshal(missing)
	require.NoError(t, err)
	assert.JSONEq(t, `{"llm_call_count": 1, "calls_without_usage": 1, "calls_without_price": 1, "duration_ms": 0}`, string(text))
}

func TestAnUnknownPriceIsNotFree(t *testing.T) {
	t.Parallel()
	unpriced := call("a", "unpriced")
	unpriced.Model = "nobody-knows"
	a := tallyOf(unpriced).Totals()
	assert.Nil(t, a.Cost.Total)
	assert.True(t, a.CostAtLeast())
	assert.False(t, a.TokensAtLeast())
	assert.Empty(t, a.PricingVersions)

	mixed := tallyOf(unpriced, call("b", "priced")).Totals()
	assert.Equal(t, "0.003", mixed.Cost.Total.String())
	assert.True(t, mixed.CostAtLeast())
}

func TestARateThatIsMissingMattersOnlyForTokensOfItsKind(t *testing.T) {
	t.Parallel()
	list := &costs.Prices{Version: "1", Models: []costs.ModelPrice{{
		Model: "big", Input: new(costs.Dollars(1)), Output: new(costs.Dollars(1)),
	}}}
	e := call("a", "s")
	e.Usage.CacheRead = agent.Tokens(0)
	tally := costs.NewTally(list)
	tally.Add(e)
	assert.False(t, tally.Totals().CostAtLeast())

	e.Key, e.Usage.CacheRead = "b", agent.Tokens(1)
	tally.Add(e)
	assert.True(t, tally.Totals().CostAtLeast())
	assert.Equal(t, "0.0022", tally.Totals().Cost.Total.String())
}

func TestBucketsThatOverlapAreCountedOnce(t *testing.T) {
	t.Parallel()
	e := call("a", "s")
	e.Usage = agent.Usage{
		Input: agent.Tokens(1), CacheRead: agent.Tokens(10), CacheWrite: agent.Tokens(100),
		Output: agent.Tokens(1000), Reasoning: agent.Tokens(999),
	}
	a := tallyOf(e).Totals()
	assert.EqualValues(t, 1111, a.Tokens())
	c := a.Cost
	assert.Equal(t, *c.Total, *c.Input+*c.CacheRead+*c.CacheWrite+*c.Output)
}

func TestACountThatMakesNoSenseIsNotReported(t *testing.T) {
	t.Parallel()
	e := call("a", "s")
	e.Usage.Input, e.Duration = agent.Tokens(-5), -5
	a := tallyOf(e).Totals()
	assert.Nil(t, a.Usage.Input)
	assert.True(t, a.TokensAtLeast())
	assert.Zero(t, a.Duration)
}

func TestCountsStopAtTheGreatestRatherThanWrap(t *testing.T) {
	t.Parallel()
	tally := costs.NewTally(prices())
	for i := range 3 {
		e := call(fmt.Sprint(i), "s")
		e.Usage = agent.Usage{Input: agent.Tokens(math.MaxInt64), Output: agent.Tokens(math.MaxInt64)}
		e.Duration = math.MaxInt64
		tally.Add(e)
	}
	a := tally.Totals()
	assert.Equal(t, int64(math.MaxInt64), a.Tokens())
	assert.EqualValues(t, int64(math.MaxInt64), *a.Cost.Total)
	assert.EqualValues(t, int64(math.MaxInt64), a.Duration)
}

func TestRowsAreSortedAndKeyedByWhatTheyGroup(t *testing.T) {
	t.Parallel()
	learning := call("c", "alpha")
	learning.Phase = "learning"
	rows := tallyOf(call("a", "beta"), call("b", "alpha"), learning).ByStep()
	var names []string
	for _, row := range rows {
		names = append(names, row.Key.String())
	}
	assert.Equal(t, []string{"execution:alpha", "execution:beta", "learning:alpha"}, names)
}

func TestARowSpeaksTheLanguageOfTheLedger(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(tallyOf(call("a", "s")).ByModel())
	require.NoError(t, err)
	assert.JSONEq(t, `[{"key": {"provider": "acme", "model": "big"}, "amount": {
	  "llm_call_count": 1, "input_tokens": 1000, "output_tokens": 100, "input_cost_usd": 0.002, "output_cost_usd": 0.001,
	  "total_cost_usd": 0.003, "calls_without_price": 0, "calls_without_usage": 0, "duration_ms": 1500, "pricing_version": "2026-03"}}]`,
		string(text))
}

// BenchmarkTallyAdd adds the calls of runs of 10,000 calls each.
func BenchmarkTallyAdd(b *testing.B) {
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("step-%d/visit/1/attempt/1/turn/%d", i%20, i)
	}
	steps := [4]string{"fetch", "clean", "draft", "send"}
	e := call("", "")
	var tally *costs.Tally
	b.ReportAllocs()
	b.ResetTimer()
	for i := range b.N {
		if i%len(keys) == 0 {
			tally = costs.NewTally(prices())
		}
		e.Key, e.StepID = keys[i%len(keys)], steps[i%4]
		tally.Add(e)
	}
}
