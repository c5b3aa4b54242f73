package costs_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
)

func TestAnAmountSurvivesJSON(t *testing.T) {
	t.Parallel()
	prices := &costs.Prices{Version: "2026-11-01", Models: []costs.ModelPrice{{
		Model: "m", Input: new(costs.Dollars(1)), Output: new(costs.Dollars(2)), CacheRead: new(costs.Dollars(0.5)),
	}}}
	tally := costs.NewTally(prices)
	usage := agent.Usage{Input: new(int64(10)), CacheRead: new(int64(0)), Output: new(int64(5)), Reasoning: new(int64(2))}
	tally.Add(costs.Entry{Key: "a", Time: time.Unix(0, 0), StepID: "s", Model: "m", Usage: usage, Duration: 3 * time.Millisecond})
	tally.Add(costs.Entry{Key: "b", Time: time.Unix(0, 0), StepID: "s", Model: "unpriced"})
	for _, amount := range []costs.Amount{{}, tally.Totals()} {
		data, err := json.Marshal(amount)
		require.NoError(t, err)
		var back costs.Amount
		require.NoError(t, json.Unmarshal(data, &back), "%s", data)
		assert.Equal(t, amount, back, "%s", data)
	}
}
