package learning_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/learning"
	"github.com/treadle-dev/treadle/workspace"
)

func TestSuccessesInARowCountPerDescription(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	m, err := learning.ReadMetadata(t.Context(), st, "fetch")
	require.NoError(t, err)
	assert.False(t, m.Steady("Fetch.", 1))
	for _, visit := range []string{"r1/fetch/visit/1", "r1/fetch/visit/1", "r2/fetch/visit/1", "r3/fetch/visit/1"} {
		m.Succeeded(visit, "Fetch.")
		require.NoError(t, m.Write(t.Context(), st))
		m, err = learning.ReadMetadata(t.Context(), st, "fetch")
		require.NoError(t, err)
	}
	assert.Equal(t, 3, m.DescriptionHashRuns, "a visit that is resumed counts once")
	assert.True(t, m.Steady("  Fetch.\n", 3), "white space around the text is no change")
	assert.False(t, m.Steady("Fetch.", 4))

	m.Succeeded("r4/fetch/visit/1", "Fetch all.")
	assert.Equal(t, 1, m.DescriptionHashRuns)
	assert.Equal(t, 4, m.SuccessfulRuns)
	assert.False(t, m.Steady("Fetch.", 1))
}

func TestWhatAnotherVersionWroteIsKept(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	name := workspace.LearningMetadata("fetch")
	require.NoError(t, st.WriteFile(t.Context(), name, []byte(`{"step_id":"fetch","medium_success_streak":2,"successful_runs":7,"detection_history":[{"iteration":1}]}`), workspace.Lazy))
	m, err := learning.ReadMetadata(t.Context(), st, "fetch")
	require.NoError(t, err)
	m.Succeeded("r/fetch/visit/1", "x")
	require.NoError(t, m.Write(t.Context(), st))
	data, err := st.ReadFile(t.Context(), name)
	require.NoError(t, err)
	assert.Contains(t, string(data), `"medium_success_streak": 2`)
	assert.Contains(t, string(data), `"iteration": 1`)
	assert.Contains(t, string(data), `"successful_runs": 8`)
}

func TestADamagedFileIsAnErrorAndStays(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	name := workspace.LearningMetadata("fetch")
	for _, damaged := range []string{"", "[]", "{", `{"successful_runs":"many"}`} {
		require.NoError(t, st.WriteFile(t.Context(), name, []byte(damaged), workspace.Lazy))
		_, err := learning.ReadMetadata(t.Context(), st, "fetch")
		require.ErrorContains(t, err, name, damaged)
	}
}

func TestAFileThatWasCopiedFromAnotherStepCountsForItsOwn(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	const text = `{"step_id":"../planning","successful_runs":7}`
	require.NoError(t, st.WriteFile(t.Context(), workspace.LearningMetadata("fetch"), []byte(text), workspace.Lazy))
	m, err := learning.ReadMetadata(t.Context(), st, "fetch")
	require.NoError(t, err)
	m.Succeeded("r/fetch/visit/1", "x")
	require.NoError(t, m.Write(t.Context(), st))
	again, err := learning.ReadMetadata(t.Context(), st, "fetch")
	require.NoError(t, err)
	assert.Equal(t, "fetch", again.StepID)
	assert.Equal(t, 8, again.SuccessfulRuns)
}

func TestRandomKeysSurviveACount(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{`1e400`, `-0.0`, `"\u00e9\ud83d\ude00"`, `null`, `[]`, `{"a":{"b":[1.50,{"c":null}]}}`, `12345678901234567890`, `true`, `""`})
		keys := rapid.SliceOfNDistinct(rapid.StringMatching(`x-[a-z~/ü"]{1,6}`), 0, 6, rapid.ID[string]).Draw(t, "keys")
		text, want := `{"step_id":"fetch"`, map[string]string{}
		for _, key := range keys {
			name, _ := json.Marshal(key)
			want[key] = value.Draw(t, "value")
			text += "," + string(name) + ":" + want[key]
		}
		st := workspace.NewMem()
		require.NoError(t, st.WriteFile(context.Background(), workspace.LearningMetadata("fetch"), []byte(text+"}"), workspace.Lazy))
		m, err := learning.ReadMetadata(context.Background(), st, "fetch")
		require.NoError(t, err)
		m.Succeeded("r/fetch/visit/1", "x")
		require.NoError(t, m.Write(context.Background(), st))
		data, err := st.ReadFile(context.Background(), workspace.LearningMetadata("fetch"))
		require.NoError(t, err)
		for key, value := range want {
			assert.Truef(t, jsonedit.Equal([]byte(value), jsonedit.Get(data, key)), "%s in %s", key, data)
		}
	})
}
