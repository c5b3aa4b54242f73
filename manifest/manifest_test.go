package manifest_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/manifest"
)

func float(f float64) *float64 { return &f }

// painter is a manifest that uses every kind of field.
func painter() *manifest.Manifest {
	return &manifest.Manifest{
		Type: "painter", Version: 1, Label: "Painter", Summary: "Paints a scene, or each of a list.",
		Category: manifest.CategoryAI, CallsModel: manifest.CallsModelAlways,
		Research:       &manifest.Research{Title: "t", Summary: "s", URL: "https://example.org"},
		Flow:           &manifest.Flow{Kind: manifest.FlowBranches, Keys: []string{"ok"}, Labels: map[string]string{"ok": "Painted"}},
		CannotRunAlone: "it needs a scene",
		Sentence: []manifest.Segment{
			{Text: "Paints each of {scenes}", When: &manifest.Condition{Set: "scenes"}},
			{Text: "Paints {scene}", When: &manifest.Condition{Unset: "scenes"}},
			{Text: ", at most {params.limit}", When: &manifest.Condition{Set: "params.limit"}},
			{Text: " with {@tools} and {colours}"},
			{Text: ", then tries once more", When: &manifest.Condition{Is: map[string]any{"on_error": []any{"retry", nil}}}},
		},
		Settings: []manifest.Setting{
			{Key: "scene", Label: "Scene", Widget: manifest.WidgetPrompt, Level: manifest.LevelSetup, Refs: true},
			{Key: "scenes", Label: "Scenes", Widget: manifest.WidgetText, Level: manifest.LevelOption, Value: true},
			{
				Key: "params.limit", Label: "Most scenes", Widget: manifest.WidgetNumber, Level: manifest.LevelOption,
				Default: 4, Min: float(1), Max: float(6), Integer: true,
				Defaults: []manifest.ConditionalDefault{{When: &manifest.Condition{Set: "scenes"}, Value: 2}},
				When:     &manifest.Condition{Present: "scenes"}, UnusedNote: "Used with a list only.",
			},
			{Key: "colours", Label: "Colours", Widget: manifest.WidgetList, Level: manifest.LevelAdvanced},
			{
				Key: "on_error", Label: "On an error", Widget: manifest.WidgetSelect, Level: manifest.LevelRecovery,
				Options: []string{"stop", "retry"}, OptionLabels: map[string]string{"stop": "Stop the run"}, Default: "",
				EmptyChoice: []string{"The host decides", "Choose"},
			},
		},
		Parts:    []manifest.Part{{ID: "@pictures", Level: manifest.LevelSetup, After: "scene"}},
		Outputs:  []manifest.Output{{Path: "pictures", Label: "Pictures", Type: manifest.OutputList, Item: "picture", When: &manifest.Condition{Not: &manifest.Condition{Any: []manifest.Condition{}}}}},
		Presets:  []manifest.Preset{{ID: "list", Label: "A list", Config: map[string]any{"scenes": "", "params.limit": 3}}},
		Defaults: map[string]any{},
	}
}

func TestAManifestComesBackFromJSONUnchanged(t *testing.T) {
	t.Parallel()
	written, err := json.Marshal(painter())
	require.NoError(t, err)
	var read manifest.Manifest
	require.NoError(t, json.Unmarshal(written, &read))
	rewritten, err := json.Marshal(&read)
	require.NoError(t, err)
	assert.Equal(t, string(written), string(rewritten))
	assert.Contains(t, string(written), `"default":""`, "an empty default is not an absent one")
	assert.Contains(t, string(written), `"defaults":{}`)
}

func TestNumbersOfOpenFieldsComeBackAsWritten(t *testing.T) {
	t.Parallel()
	const text = `{"type":"x","version":1,"label":"X","settings":[{"key":"k","label":"K","widget":"number","level":"setup","default":9007199254740993}],"defaults":{"a":1.50}}`
	var read manifest.Manifest
	require.NoError(t, json.Unmarshal([]byte(text), &read))
	written, err := json.Marshal(read)
	require.NoError(t, err)
	assert.Equal(t, text, string(written))
}

func TestAManifestThatKeepsTheRulesIsValid(t *testing.T) {
	t.Parallel()
	p := painter()
	p.Settings[4].Default = nil
	assert.NoError(t, p.Validate())
}

func TestEveryBrokenRuleIsNamed(t *testing.T) {
	t.Parallel()
	for want, spoil := range map[string]func(m *manifest.Manifest){
		`has no type`:                       func(m *manifest.Manifest) { m.Type = "" },
		`version is 0`:                      func(m *manifest.Manifest) { m.Version = 0 },
		`unknown category "art"`:            func(m *manifest.Manifest) { m.Category = "art" },
		`branch "no" has no label`:          func(m *manifest.Manifest) { m.Flow.Keys = append(m.Flow.Keys, "no") },
		`setting "scene" is there twice`:    func(m *manifest.Manifest) { m.Settings[1].Key = "scene" },
		`widget "canvas"`:                   func(m *manifest.Manifest) { m.Settings[0].Widget = "canvas" },
		`level "basic"`:                     func(m *manifest.Manifest) { m.Settings[0].Level = "basic" },
		`label has 41 characters`:           func(m *manifest.Manifest) { m.Settings[0].Label = strings.Repeat("ä", 41) },
		`tip has 161 characters`:            func(m *manifest.Manifest) { m.Settings[0].Tip = strings.Repeat("ä", 161) },
		`min 7 is above max 6`:              func(m *manifest.Manifest) { m.Settings[2].Min = float(7) },
		`default 9 is out of bounds`:        func(m *manifest.Manifest) { m.Settings[2].Default = 9 },
		`default 1.5 is not whole`:          func(m *manifest.Manifest) { m.Settings[2].Default = 1.5 },
		`default "go" is no option`:         func(m *manifest.Manifest) { m.Settings[4].Default = "go" },
		`empty_choice has 1 entries`:        func(m *manifest.Manifest) { m.Settings[4].EmptyChoice = []string{"x"} },
		`label for "no", which`:             func(m *manifest.Manifest) { m.Settings[4].OptionLabels = map[string]string{"no": "x"} },
		`unknown part "@brush"`:             func(m *manifest.Manifest) { m.Parts[0].ID = "@brush" },
		`stands after "none"`:               func(m *manifest.Manifest) { m.Parts[0].After = "none" },
		`placeholder {nothing}`:             func(m *manifest.Manifest) { m.Sentence[0].Text = "{nothing}" },
		`placeholder {@weather}`:            func(m *manifest.Manifest) { m.Sentence[0].Text = "{@weather}" },
		`when: condition has 2 forms`:       func(m *manifest.Manifest) { m.Sentence[0].When.Absent = "x" },
		`output "pictures" is there twice`:  func(m *manifest.Manifest) { m.Outputs = append(m.Outputs, m.Outputs[0]) },
		`output pictures: type "picture"`:   func(m *manifest.Manifest) { m.Outputs[0].Type = "picture" },
		`preset "list" is there twice`:      func(m *manifest.Manifest) { m.Presets = append(m.Presets, m.Presets[0]) },
		`setting key "params..x" is no dot`: func(m *manifest.Manifest) { m.Settings[3].Key = "params..x" },
	} {
		m := painter()
		spoil(m)
		assert.ErrorContains(t, m.Validate(), want)
	}
}

func TestADefaultMayDependOnOtherSettings(t *testing.T) {
	t.Parallel()
	limit := painter().Settings[2]
	assert.Equal(t, 4, limit.EffectiveDefault(map[string]any{"scenes": ""}))
	assert.Equal(t, 2, limit.EffectiveDefault(map[string]any{"scenes": "x"}))
}

func TestASentenceSumsTheConfigurationUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, config, phrase, want string
	}{
		{"nothing is set", `{}`, "", ", then tries once more"},
		{"a long text shows its first clause", `{"scene":"A dog, version 2.5, runs. It is late."}`, "", "Paints A dog, version 2.5, runs, then tries once more"},
		{"a reference shows step and field", `{"scenes":"{{tutor.pictures}}","on_error":"stop"}`, "", "Paints each of tutor → pictures"},
		{"a list is enumerated", `{"scene":"x","colours":["red","blue","green"],"on_error":"stop"}`, "", "Paints x with  and red, blue and green"},
		{"a phrase comes from the host", `{"scene":"x","on_error":"stop"}`, "brushes", "Paints x with brushes and "},
		{"a number below a path", `{"scene":"x","params":{"limit":3},"on_error":"stop"}`, "", "Paints x, at most 3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			host := manifest.Host{Phrase: func(string) string { return tc.phrase }}
			assert.Equal(t, tc.want, painter().Describe(config(t, tc.config), host))
		})
	}
}

func TestValuesAreShownByTheirWidget(t *testing.T) {
	t.Parallel()
	names := manifest.Host{Name: func(w manifest.Widget, id string) string {
		return map[string]string{"model/m1": "Model One", "agents/a1": "Anna"}[string(w)+"/"+id]
	}}
	for _, tc := range []struct {
		widget manifest.Widget
		value  any
		want   string
	}{
		{manifest.WidgetSelect, "stop", "Stop"},
		{manifest.WidgetSelect, "other", "other"},
		{manifest.WidgetModel, "m1", "Model One"},
		{manifest.WidgetModel, "m2", "m2"},
		{manifest.WidgetAgents, []any{"a1", "a2"}, "Anna and a2"},
		{manifest.WidgetBoolean, true, "yes"},
		{manifest.WidgetBoolean, false, "no"},
		{manifest.WidgetNumber, json.Number("0"), "0"},
		{manifest.WidgetNumber, 1500000.0, "1500000"},
		{manifest.WidgetNumber, json.Number("1e3"), "1000"},
		{manifest.WidgetNumber, 0.1, "0.1"},
		{manifest.WidgetNumber, json.Number("-2.50"), "-2.5"},
		{manifest.WidgetNumber, json.Number("1e400"), "1e+400"},
		{manifest.WidgetVoice, "v1", "v1"},
		{manifest.WidgetList, []any{"one"}, "one"},
		{manifest.WidgetList, []any{"one", "", "two"}, "one and two"},
		{manifest.WidgetTextarea, "Is it red? Say so.", "Is it red"},
		{manifest.WidgetPrompt, "See {{a.b}}: then go on", "See a → b"},
		{manifest.WidgetPrompt, "one\ntwo", "one"},
		{manifest.WidgetPrompt, strings.Repeat("word ", 30), strings.TrimSpace(strings.Repeat("word ", 16)) + "…"},
		{manifest.WidgetText, "Look at {{a.b.c}} now", "Look at a → b.c now"},
		{manifest.WidgetFields, map[string]any{"x": 1}, ""},
	} {
		m := &manifest.Manifest{
			Sentence: []manifest.Segment{{Text: "{v}"}},
			Settings: []manifest.Setting{{Key: "v", Widget: tc.widget, OptionLabels: map[string]string{"stop": "Stop"}}},
		}
		assert.Equal(t, tc.want, m.Describe(map[string]any{"v": tc.value}, names), tc.value)
	}
}
