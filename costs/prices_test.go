package costs_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/costs"
)

func TestAPriceOfAProviderGoesBeforeOneOfAnyProvider(t *testing.T) {
	t.Parallel()
	list := &costs.Prices{Version: "1", Models: []costs.ModelPrice{
		{Model: "big", Input: new(costs.Dollars(9))},
		{Provider: "acme", Model: "big", Input: new(costs.Dollars(1))},
	}}
	require.NoError(t, list.Validate())
	for provider, want := range map[string]string{"acme": "1", "other": "9", "": "9"} {
		price, ok := list.Lookup(provider, "big")
		require.True(t, ok)
		assert.Equal(t, want, price.Input.String(), provider)
	}
	_, ok := list.Lookup("acme", "small")
	assert.False(t, ok)
	_, ok = (*costs.Prices)(nil).Lookup("acme", "big")
	assert.False(t, ok)
}

func TestAPriceListIsPlainData(t *testing.T) {
	t.Parallel()
	var list costs.Prices
	require.NoError(t, json.Unmarshal([]byte(`{"version": "1", "models": [{"model": "big", "input": 0.075, "output": 0}]}`), &list))
	price := list.Models[0]
	assert.Equal(t, "0.075", price.Input.String())
	assert.Zero(t, *price.Output)
	assert.Nil(t, price.CacheRead)
}

func TestAllMistakesOfAPriceListAreFoundAtOnce(t *testing.T) {
	t.Parallel()
	list := &costs.Prices{Models: []costs.ModelPrice{
		{Provider: "acme"}, {Model: "big", Output: new(costs.Dollars(-1))}, {Model: "big"},
	}}
	err := list.Validate()
	require.ErrorIs(t, err, costs.ErrInvalidPrice)
	for _, want := range []string{"no version", "models[0] names no model", "models[1].output of big is negative", "models[2] prices big a second time"} {
		assert.ErrorContains(t, err, want)
	}
	assert.NoError(t, (*costs.Prices)(nil).Validate())
	assert.NoError(t, (&costs.Prices{}).Validate())
}

func TestMoneyIsExact(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]costs.USD{
		"0": 0, "1": 1e12, "0.1": 1e11, "0.000000000001": 1, "-2.5": -25e11, "1.5e-7": 150_000,
		"0.12270000000000001": 122_700_000_000, "9223372.036854775807": 9223372036854775807,
	} {
		var got costs.USD
		require.NoError(t, json.Unmarshal([]byte(text), &got), text)
		assert.Equal(t, want, got, text)
	}
	for _, text := range []string{`"1"`, `1e7`, `1e999`, `true`, `[]`} {
		var got costs.USD
		assert.Error(t, json.Unmarshal([]byte(text), &got), text)
	}
}

func TestMoneySurvivesJSON(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := costs.USD(rapid.Int64Range(-1<<63+1, 1<<63-1).Draw(t, "units"))
		text, err := json.Marshal(want)
		require.NoError(t, err)
		var got costs.USD
		require.NoError(t, json.Unmarshal(text, &got))
		require.Equal(t, want, got)
	})
}

func TestDollarsStayInRange(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "0.1", costs.Dollars(0.1).String())
	assert.InDelta(t, 0.1, costs.Dollars(0.1).Float64(), 0)
	assert.Zero(t, costs.Dollars(math.NaN()))
	assert.Equal(t, costs.USD(math.MaxInt64), costs.Dollars(math.Inf(1)))
	assert.Equal(t, -costs.USD(math.MaxInt64), costs.Dollars(-1e9))
}
