package costs_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
)

func listPrices() *costs.Prices {
	return &costs.Prices{Version: "test", Models: []costs.ModelPrice{{
		Model: "m", Input: new(costs.Dollars(1)), Output: new(costs.Dollars(10)),
		CacheRead: new(costs.Dollars(0.1)), CacheWrite: new(costs.Dollars(1.25)),
	}, {Model: "half", Input: new(costs.Dollars(1))}}}
}

func TestACallIsReservedAtItsWorstAndSettledAtItsCost(t *testing.T) {
	t.Parallel()
	m := &costs.Meter{Limit: costs.Dollars(1), Prices: listPrices()}
	call := agent.MeteredCall{Key: "a", Model: "m", Input: 100_000, Output: 1_000}
	granted, err := m.Reserve(t.Context(), call)
	require.NoError(t, err)
	assert.Equal(t, int64(1_000), granted)
	assert.Equal(t, costs.Dollars(0.125+0.01), m.Reserved())
	m.Settle(call, agent.Usage{Input: agent.Tokens(50_000), CacheRead: agent.Tokens(50_000), Output: agent.Tokens(100)})
	assert.Zero(t, m.Reserved())
	assert.Equal(t, costs.Dollars(0.05+0.005+0.001), m.Spent())
	m.Settle(call, agent.Usage{Input: agent.Tokens(50_000)})
	assert.Equal(t, costs.Dollars(0.056), m.Spent(), "a call was counted twice")
}

func TestALimitShortensAReplyAndThenRefusesTheCall(t *testing.T) {
	t.Parallel()
	m := &costs.Meter{Limit: costs.Dollars(0.01), Prices: listPrices()}
	granted, err := m.Reserve(t.Context(), agent.MeteredCall{Key: "a", Model: "m", Input: 4_000, Output: 16_000})
	require.NoError(t, err)
	assert.Equal(t, int64(500), granted)
	_, err = m.Reserve(t.Context(), agent.MeteredCall{Key: "b", Model: "m", Input: 1, Output: 1})
	require.ErrorIs(t, err, costs.ErrLimit)
	var limit *costs.LimitError
	require.ErrorAs(t, err, &limit)
	assert.Equal(t, costs.Dollars(0.01), limit.Reserved)
}

func TestAModelWithoutAPriceIsRefused(t *testing.T) {
	t.Parallel()
	m := &costs.Meter{Limit: costs.Dollars(1), Prices: listPrices()}
	for _, model := range []string{"unknown", "half", ""} {
		_, err := m.Reserve(t.Context(), agent.MeteredCall{Key: "a", Model: model, Input: 1, Output: 1})
		require.ErrorIs(t, err, costs.ErrUnpriced, model)
	}
}

func TestWhatIsNotReportedCostsAsMuchAsItCan(t *testing.T) {
	t.Parallel()
	m := &costs.Meter{Limit: costs.Dollars(1), Prices: listPrices()}
	m.Settle(agent.MeteredCall{Key: "a", Model: "m", Input: 1_000, Output: 1_000}, agent.Usage{})
	assert.Equal(t, costs.Dollars(0.001+0.01), m.Spent())
}

func TestSpentAndReservedStayWithinTheLimit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := &costs.Meter{Limit: costs.USD(rapid.Int64Range(0, int64(costs.Dollars(1))).Draw(t, "limit")), Prices: listPrices()}
		calls := rapid.IntRange(1, 16).Draw(t, "calls")
		var wg sync.WaitGroup
		for i := range calls {
			call := agent.MeteredCall{
				Key: fmt.Sprint(i), Model: "m",
				Input: rapid.Int64Range(0, 500_000).Draw(t, "input"), Output: rapid.Int64Range(1, 50_000).Draw(t, "output"),
			}
			share := rapid.Int64Range(0, 100).Draw(t, "share")
			wg.Go(func() {
				granted, err := m.Reserve(t.Context(), call)
				if err != nil {
					return
				}
				if granted < 1 || granted > call.Output {
					t.Errorf("granted %d of %d", granted, call.Output)
				}
				m.Settle(call, agent.Usage{Input: agent.Tokens(call.Input * share / 100), Output: agent.Tokens(granted * share / 100)})
			})
		}
		wg.Wait()
		if m.Spent() > m.Limit || m.Reserved() != 0 {
			t.Fatalf("spent %s and reserved %s of %s", m.Spent(), m.Reserved(), m.Limit)
		}
	})
}
