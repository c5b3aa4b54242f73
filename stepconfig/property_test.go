package stepconfig_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// tree is a JSON text as plain values, with numbers as they are spelled.
func tree(t require.TestingT, text []byte) any {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var value any
	require.NoError(t, dec.Decode(&value))
	return value
}

// migrates are the keys that a save may write in another form.
var migrates = []string{"enabled_custom_tool_categories", "enabled_custom_tools", "learnings_access", "declared_execution_mode"}

func withoutMigrated(step map[string]any) map[string]any {
	step = maps.Clone(step)
	if configs, ok := step["agent_configs"].(map[string]any); ok {
		configs = maps.Clone(configs)
		for _, key := range migrates {
			delete(configs, key)
		}
		step["agent_configs"] = configs
	}
	return step
}

func TestReadingAndWritingARandomDocumentLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := documents{Faults: true}.draw(t)
		file, _ := stepconfig.Parse("f", []byte(text))
		require.NotNil(t, file)
		written, err := file.Encode()
		require.NoError(t, err)
		was, is := stepsOf(t, []byte(text)), stepsOf(t, written)
		require.Len(t, is, len(was))
		for i := range was {
			before, ok := was[i].(map[string]any)
			if !ok {
				require.Equal(t, was[i], is[i])
				continue
			}
			require.Equal(t, withoutMigrated(before), withoutMigrated(is[i].(map[string]any)))
		}
		checkAround(t, []byte(text), written)
	})
}

func stepsOf(t require.TestingT, text []byte) []any {
	switch value := tree(t, text).(type) {
	case []any:
		return value
	case map[string]any:
		list, _ := value["steps"].([]any)
		return list
	default:
		return nil
	}
}

// What an edit names changes, in the last entry of its id; all else is as it was, the
// other entries byte for byte.
func TestEditingARandomDocumentLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := documents{Faults: rapid.IntRange(0, 3).Draw(t, "faults") == 0, Legacy: true}
		text := g.draw(t)
		ids := []string{"of no step"}
		for _, step := range stepsOf(t, []byte(text)) {
			if object, ok := step.(map[string]any); ok {
				id, _ := object["id"].(string)
				ids = append(ids, id)
			}
		}
		key := rapid.SampledFrom([]string{"title", "x-new", "execution_max_turns", "execution_llm", "new key", "review_notes"}).Draw(t, "key")
		value := g.anything(t, 2)
		switch key {
		case "title", "review_notes":
			value = g.text(t)
		case "execution_max_turns":
			value = "7"
		}
		checkEdit(t, text, ids[rapid.IntRange(0, len(ids)-1).Draw(t, "step")],
			key, value)
	})
}

// checkEdit sets a key of a step and compares what comes out with plain values.
func checkEdit(t require.TestingT, text, id, key, value string) {
	editor, err := stepconfig.NewEditor("f", []byte(text))
	var found workspace.Diagnostics
	if err != nil {
		require.ErrorAs(t, err, &found)
		require.True(t, found.HasErrors())
		return
	}
	pointer, path := "/agent_configs/"+workspace.PointerEscape(key), []string{"agent_configs", key}
	if key == "title" {
		pointer, path = "/title", []string{"title"}
	}
	if err := editor.Set(id, pointer, json.RawMessage(value)); err != nil {
		var refused *stepconfig.EditError
		require.ErrorAs(t, err, &refused)
		return
	}
	after, changes, err := editor.Result()
	if err != nil {
		require.ErrorAs(t, err, &found)
		require.True(t, found.HasErrors())
		return
	}
	if len(changes) == 0 {
		require.Equal(t, text, string(after))
		return
	}
	want := lastWins(stepsOf(t, []byte(text)))
	got := stepsOf(t, after)
	require.Len(t, got, len(want))
	for i := range want {
		step := want[i].(map[string]any)
		if step["id"] != id {
			require.Equal(t, step, got[i])
			continue
		}
		put(step, path, tree(t, []byte(value)))
		require.Equal(t, withoutMigrated(step), withoutMigrated(got[i].(map[string]any)))
	}
	checkRest(t, text, string(after), id)

	again, err := stepconfig.NewEditor("f", after)
	require.NoError(t, err)
	require.NoError(t, again.Set(id, pointer, json.RawMessage(value)))
	_, changes, err = again.Result()
	require.NoError(t, err)
	require.Empty(t, changes, "an edit that was made is made")
}

// checkRest compares what is around the list of steps, and the texts of the steps that
// were not edited.
func checkRest(t require.TestingT, before, after, id string) {
	if _, legacy := tree(t, []byte(before)).([]any); legacy {
		return // the list is laid out anew
	}
	checkAround(t, []byte(before), []byte(after))
	old, now := rawSteps(t, before), rawSteps(t, after)
	for step, raw := range now {
		if step != id {
			require.Equal(t, old[step], raw, "another step's text")
		}
	}
}

// checkAround compares what is beside the list of steps.
func checkAround(t require.TestingT, before, after []byte) {
	was, is := tree(t, before).(map[string]any), tree(t, after).(map[string]any)
	delete(was, "steps")
	delete(is, "steps")
	require.Equal(t, was, is)
}

// rawSteps are the texts of the entries by id.
func rawSteps(t require.TestingT, text string) map[string]string {
	var file struct {
		Steps []json.RawMessage `json:"steps"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &file))
	raw := map[string]string{}
	for _, step := range file.Steps {
		var entry map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(step, &entry))
		var id string
		_ = json.Unmarshal(entry["id"], &id)
		raw[id] = string(step)
	}
	return raw
}

// lastWins drops the entries that a later one of the same id replaces.
func lastWins(steps []any) []any {
	seen := map[string]bool{}
	var kept []any
	for _, step := range slices.Backward(steps) {
		id, _ := step.(map[string]any)["id"].(string)
		if id != "" && seen[id] {
			continue
		}
		seen[id] = true
		kept = append(kept, step)
	}
	slices.Reverse(kept)
	return kept
}

func put(object map[string]any, path []string, value any) {
	for _, key := range path[:len(path)-1] {
		inner, ok := object[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[key] = inner
		}
		object = inner
	}
	object[path[len(path)-1]] = value
}

func FuzzEdit(f *testing.F) {
	f.Add(threeSteps, "b", "execution_max_turns", "7")
	f.Add(`[{"id":"a","id":"b"}]`, "b", "x", `{"a":1.0}`)
	f.Add(`{"steps":[],"steps":[{"id":"a"},{"id":"a","agent_configs":{"learning_objective":"o"}}]}`, "a", "title", `"t"`)
	f.Fuzz(func(t *testing.T, text, id, key, value string) {
		editor, err := stepconfig.NewEditor("f", []byte(text))
		if err != nil {
			var found workspace.Diagnostics
			require.ErrorAs(t, err, &found)
			return
		}
		edits := []error{
			editor.Set(id, "/agent_configs/"+workspace.PointerEscape(key), json.RawMessage(value)),
			editor.Unset(id, "/"+workspace.PointerEscape(value)),
			editor.Change(id, turns(3)),
			editor.Rename(id, key),
			editor.Add(&stepconfig.StepConfig{ID: value}),
			editor.Remove(key),
		}
		for _, err := range edits {
			if err != nil {
				var refused *stepconfig.EditError
				require.ErrorAs(t, err, &refused)
			}
		}
		after, changes, err := editor.Result()
		if err != nil {
			var found workspace.Diagnostics
			require.ErrorAs(t, err, &found)
			return
		}
		require.True(t, json.Valid(after))
		if len(changes) == 0 {
			require.Equal(t, text, string(after))
			return
		}
		_, err = stepconfig.NewEditor("f", after)
		require.NoError(t, err)
		_, found := stepconfig.Parse("f", after)
		for _, d := range found {
			require.NotEqual(t, "stepconfig.id.duplicate", d.Code)
			require.NotEqual(t, "stepconfig.id.missing", d.Code)
		}
	})
}
