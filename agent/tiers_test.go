package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
)

func TestATierResolvesToItsOwnModelOrTheNearestThatIsSet(t *testing.T) {
	t.Parallel()
	high, medium, low := agent.ModelRef{Model: "big"}, agent.ModelRef{Model: "mid"}, agent.ModelRef{Model: "small"}
	for _, c := range []struct {
		tiers agent.Tiers
		tier  agent.Tier
		want  agent.ModelRef
	}{
		{agent.Tiers{High: high, Medium: medium, Low: low}, agent.TierHigh, high},
		{agent.Tiers{High: high, Medium: medium, Low: low}, agent.TierMedium, medium},
		{agent.Tiers{High: high, Medium: medium, Low: low}, agent.TierLow, low},
		{agent.Tiers{High: high, Low: low}, agent.TierMedium, high},
		{agent.Tiers{Low: low}, agent.TierMedium, low},
		{agent.Tiers{High: high, Medium: medium}, agent.TierLow, medium},
		{agent.Tiers{Low: low}, agent.TierHigh, low},
		{agent.Tiers{}, agent.TierHigh, agent.ModelRef{}},
	} {
		got, err := c.tiers.Resolve(c.tier)
		require.NoError(t, err)
		assert.Equal(t, c.want, got, "%s of %+v", c.tier, c.tiers)
	}
}

func TestAnUnknownTierIsRefusedByName(t *testing.T) {
	t.Parallel()
	_, err := agent.Tiers{}.Resolve("huge")
	var unknown *agent.UnknownTierError
	require.ErrorAs(t, err, &unknown)
	assert.Equal(t, "huge", unknown.Name)
	_, err = agent.ParseTier("4")
	require.ErrorAs(t, err, &unknown)
	for text, want := range map[string]agent.Tier{"high": agent.TierHigh, "1": agent.TierHigh, "2": agent.TierMedium, "low": agent.TierLow, "3": agent.TierLow} {
		got, err := agent.ParseTier(text)
		require.NoError(t, err)
		assert.Equal(t, want, got)
	}
}

func TestAChainIsTheModelAndItsFallbacksInOrderEachOnce(t *testing.T) {
	t.Parallel()
	ref := agent.ModelRef{
		Model: "a", Options: map[string]json.RawMessage{"x": json.RawMessage("1")},
		Fallbacks: []agent.ModelRef{{Model: "b", Fallbacks: []agent.ModelRef{{Model: "a"}, {Provider: "p", Model: "a"}}}, {Model: "c"}, {Model: "b"}},
	}
	var names []string
	for _, r := range ref.Chain() {
		assert.Empty(t, r.Fallbacks)
		names = append(names, r.Provider+"/"+r.Model)
	}
	assert.Equal(t, []string{"/a", "/b", "p/a", "/c"}, names)
	assert.Len(t, ref.Fallbacks, 3, "the reference itself is unchanged")
}

func TestUnsetTiersAreLeftOutOfTheJSON(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(agent.Tiers{Low: agent.ModelRef{Model: "small"}})
	require.NoError(t, err)
	assert.JSONEq(t, `{"low":{"model_id":"small"}}`, string(data))
}
