package manifest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/manifest"
)

func config(t *testing.T, text string) map[string]any {
	t.Helper()
	var c map[string]any
	require.NoError(t, json.Unmarshal([]byte(text), &c))
	return c
}

func condition(t *testing.T, text string) *manifest.Condition {
	t.Helper()
	c := &manifest.Condition{}
	require.NoError(t, json.Unmarshal([]byte(text), c), text)
	return c
}

func TestTheFourFormsOfBeingThere(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		config       string
		set, present bool
	}{
		{`{}`, false, false},
		{`{"k":null}`, false, false},
		{`{"k":""}`, false, true},
		{`{"k":[]}`, false, true},
		{`{"k":0}`, true, true},
		{`{"k":false}`, true, true},
		{`{"k":"x"}`, true, true},
		{`{"k":["x"]}`, true, true},
		{`{"k":{}}`, true, true},
	} {
		c := config(t, tc.config)
		assert.Equal(t, tc.set, condition(t, `{"set":"k"}`).Matches(c), tc.config)
		assert.Equal(t, !tc.set, condition(t, `{"unset":"k"}`).Matches(c), tc.config)
		assert.Equal(t, tc.present, condition(t, `{"present":"k"}`).Matches(c), tc.config)
		assert.Equal(t, !tc.present, condition(t, `{"absent":"k"}`).Matches(c), tc.config)
	}
}

func TestConditionsHoldAsTheTableSays(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		condition, config string
		holds             bool
	}{
		{`{"set":"a.b"}`, `{"a":{"b":1}}`, true},
		{`{"absent":"a.b"}`, `{"a":null}`, true},
		{`{"absent":"a.b"}`, `{"a":"text"}`, true},
		{`{"absent":"a.b"}`, `{"a.b":1}`, true},
		{`{"is":{"m":"full"}}`, `{"m":"full"}`, true},
		{`{"is":{"m":"full"}}`, `{"m":"half"}`, false},
		{`{"is":{"m":["half","full"]}}`, `{"m":"full"}`, true},
		{`{"is":{"m":[]}}`, `{}`, false},
		{`{"is":{"m":[null,"full"]}}`, `{}`, true},
		{`{"is":{"m":[null,"full"]}}`, `{"m":""}`, true},
		{`{"is":{"m":null}}`, `{"m":[]}`, true},
		{`{"is":{"m":null}}`, `{"m":0}`, false},
		{`{"is":{"m":"full","n":1}}`, `{"m":"full","n":2}`, false},
		{`{"is":{"m":"full","n":1}}`, `{"m":"full","n":1}`, true},
		{`{"is":{"m":4}}`, `{"m":4.0}`, true},
		{`{"is":{"m":4}}`, `{"m":"4"}`, false},
		{`{"is":{"m":true}}`, `{"m":"true"}`, false},
		{`{"is":{"m":"x"}}`, `{"m":["x"]}`, false},
		{`{"is":{"m":false}}`, `{}`, false},
		{`{"is":{}}`, `{}`, true},
		{`{"has":{"c":["x","y"]}}`, `{"c":["z","y"]}`, true},
		{`{"has":{"c":["x","y"]}}`, `{"c":["z"]}`, false},
		{`{"has":{"c":["x"]}}`, `{"c":"x"}`, false},
		{`{"has":{"c":["x"]}}`, `{}`, false},
		{`{"has":{"c":["x"],"d":["y"]}}`, `{"c":["x"],"d":[]}`, false},
		{`{"not":{"set":"k"}}`, `{}`, true},
		{`{"all":[]}`, `{}`, true},
		{`{"any":[]}`, `{}`, false},
		{`{"all":[{"set":"a"},{"set":"b"}]}`, `{"a":1}`, false},
		{`{"any":[{"set":"a"},{"set":"b"}]}`, `{"a":1}`, true},
	} {
		assert.Equal(t, tc.holds, condition(t, tc.condition).Matches(config(t, tc.config)), "%s on %s", tc.condition, tc.config)
	}
	var none *manifest.Condition
	assert.True(t, none.Matches(nil))
	assert.False(t, (&manifest.Condition{}).Matches(nil))
}

func TestGoValuesCountLikeTheirJSON(t *testing.T) {
	t.Parallel()
	assert.True(t, (&manifest.Condition{Is: map[string]any{"n": 4}}).Matches(map[string]any{"n": json.Number("4.0")}))
	assert.True(t, (&manifest.Condition{Is: map[string]any{"n": []string{"a", "b"}}}).Matches(map[string]any{"n": "b"}))
	assert.True(t, (&manifest.Condition{Has: map[string][]any{"n": {"b"}}}).Matches(map[string]any{"n": []string{"b"}}))
	assert.True(t, (&manifest.Condition{Unset: "n"}).Matches(map[string]any{"n": []string{}}))
	assert.False(t, (&manifest.Condition{Is: map[string]any{"n": json.Number("9007199254740993")}}).Matches(map[string]any{"n": int64(9007199254740992)}))
}

func TestAConditionHasExactlyOneKnownForm(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{}`, `null`, `"set"`, `{"set":"a","unset":"b"}`, `{"exists":"a"}`, `{"set":""}`, `{"set":3}`,
		`{"has":{"c":"x"}}`, `{"not":{}}`, `{"all":[{}]}`, `{"not":null}`,
	} {
		assert.Error(t, json.Unmarshal([]byte(text), &manifest.Condition{}), text)
	}
	_, err := json.Marshal(manifest.Condition{})
	assert.Error(t, err)
}

func TestConditionsComeBackFromJSONUnchanged(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"set":"a"}`, `{"is":{"n":[1.50,null,"x"]}}`, `{"has":{"c":[]}}`, `{"all":[]}`, `{"any":[{"not":{"absent":"x"}}]}`, `{"is":{}}`,
	} {
		written, err := json.Marshal(condition(t, text))
		require.NoError(t, err)
		assert.Equal(t, text, string(written))
	}
}

func TestAConditionNamesTheKeysItReads(t *testing.T) {
	t.Parallel()
	c := condition(t, `{"all":[{"set":"b"},{"not":{"is":{"a":1}}},{"any":[{"has":{"c":[]}},{"absent":"b"}]}]}`)
	assert.Equal(t, []string{"a", "b", "c"}, c.Keys())
}

func TestOppositesNeverAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]any{nil, "", "x", 0, 1.5, json.Number("2"), true, []any{}, []any{"x"}, map[string]any{}}).Draw(t, "value")
		key := rapid.SampledFrom([]string{"k", "k.j", "other"}).Draw(t, "key")
		c := map[string]any{"k": value}
		assert.NotEqual(t, (&manifest.Condition{Set: key}).Matches(c), (&manifest.Condition{Unset: key}).Matches(c))
		assert.NotEqual(t, (&manifest.Condition{Present: key}).Matches(c), (&manifest.Condition{Absent: key}).Matches(c))
		for _, form := range []*manifest.Condition{{Set: key}, {Is: map[string]any{key: value}}, {Has: map[string][]any{key: {"x"}}}} {
			assert.NotEqual(t, form.Matches(c), (&manifest.Condition{Not: form}).Matches(c))
		}
	})
}

func FuzzCondition(f *testing.F) {
	f.Add([]byte(`{"is":{"a.b":[null,1e9]}}`), []byte(`{"a":{"b":1000000000}}`))
	f.Add([]byte(`{"all":[{"not":{"has":{"c":["x"]}}}]}`), []byte(`{"c":["x"]}`))
	f.Fuzz(func(t *testing.T, conditionText, configText []byte) {
		var c manifest.Condition
		var values map[string]any
		if json.Unmarshal(conditionText, &c) != nil || json.Unmarshal(configText, &values) != nil {
			return
		}
		held := c.Matches(values)
		written, err := json.Marshal(c)
		require.NoError(t, err)
		var again manifest.Condition
		require.NoError(t, json.Unmarshal(written, &again))
		require.Equal(t, held, again.Matches(values))
	})
}
