package stepconfig_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// editing opens a text for edits.
func editing(t *testing.T, text string) *stepconfig.Editor {
	t.Helper()
	editor, err := stepconfig.NewEditor("f", []byte(text))
	require.NoError(t, err)
	return editor
}

// result is the text after the edits.
func result(t *testing.T, editor *stepconfig.Editor) string {
	t.Helper()
	text, _, err := editor.Result()
	require.NoError(t, err)
	return string(text)
}

func turns(n int) func(*stepconfig.StepConfig) error {
	return func(step *stepconfig.StepConfig) error {
		if step.AgentConfigs == nil {
			step.AgentConfigs = &stepconfig.AgentConfigs{}
		}
		step.AgentConfigs.ExecutionMaxTurns = &n
		return nil
	}
}

const threeSteps = `{
  "version": 1.0,
  "steps": [
    {"id":"a",   "agent_configs": {"execution_max_turns": 5, "later": {"n": 1.0}}},
    {
      "id": "b",
      "agent_configs": {
        "x-big": 123456789012345678901234567890,
        "execution_llm": {"options": {"temperature": 1.0, "a": "\u00e9"}, "provider": "p"},
        "execution_max_turns": 10,
        "last": null
      },
      "note": 1.50
    },
	{ "id" : "c" , "agent_configs" : null }
  ],
  "after": {"z":1,"a":2}
}`

func TestAnEditChangesWhatItNamesAndNothingElse(t *testing.T) {
	t.Parallel()
	editor := editing(t, threeSteps)
	require.NoError(t, editor.Change("b", func(step *stepconfig.StepConfig) error {
		step.AgentConfigs.ExecutionLLM.ModelID = "m"
		return turns(20)(step)
	}))
	text, changes, err := editor.Result()
	require.NoError(t, err)
	assert.Equal(t, `{
  "version": 1.0,
  "steps": [
    {"id":"a",   "agent_configs": {"execution_max_turns": 5, "later": {"n": 1.0}}},
    {
      "id": "b",
      "agent_configs": {
        "x-big": 123456789012345678901234567890,
        "execution_llm": {
          "options": {
            "temperature": 1.0,
            "a": "\u00e9"
          },
          "provider": "p",
          "model_id": "m"
        },
        "execution_max_turns": 20,
        "last": null
      },
      "note": 1.50
    },
	{ "id" : "c" , "agent_configs" : null }
  ],
  "after": {"z":1,"a":2}
}`, string(text))
	assert.Equal(t, []stepconfig.Change{
		{
			Step: "b", Pointer: "/agent_configs/execution_llm",
			Before: json.RawMessage(`{"options":{"temperature":1.0,"a":"\u00e9"},"provider":"p"}`),
			After:  json.RawMessage(`{"options":{"temperature":1.0,"a":"\u00e9"},"provider":"p","model_id":"m"}`),
		},
		{Step: "b", Pointer: "/agent_configs/execution_max_turns", Before: json.RawMessage(`10`), After: json.RawMessage(`20`)},
	}, changes)
}

func TestAValueThatIsSetLeavesTheSpellingOfTheOthers(t *testing.T) {
	t.Parallel()
	editor := editing(t, threeSteps)
	require.NoError(t, editor.Set("b", "/agent_configs/execution_llm/options/top_p", json.RawMessage(`0.10`)))
	require.NoError(t, editor.Unset("b", "/agent_configs/execution_max_turns"))
	text, changes, err := editor.Result()
	require.NoError(t, err)
	assert.Contains(t, string(text), `    {
      "id": "b",
      "agent_configs": {
        "x-big": 123456789012345678901234567890,
        "execution_llm": {
          "options": {
            "temperature": 1.0,
            "a": "\u00e9",
            "top_p": 0.10
          },
          "provider": "p"
        },
        "last": null
      },
      "note": 1.50
    },
`)
	assert.Len(t, changes, 2)
}

func TestAnEditThatChangesNothingLeavesTheFileAlone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		threeSteps,
		`[{"id":"a","agent_configs":{"execution_max_turns":5}}]`,
		`{"steps":[{"id":"a"},{"id":"a","agent_configs":{"execution_max_turns":5,"enabled_custom_tool_categories":["x"]}}]}`,
	} {
		editor := editing(t, text)
		require.NoError(t, editor.Change("a", turns(5)))
		require.NoError(t, editor.Set("a", "/agent_configs/execution_max_turns", json.RawMessage(` 5 `)))
		require.NoError(t, editor.Unset("a", "/agent_configs/nothing"))
		require.NoError(t, editor.Rename("a", "a"))
		got, changes, err := editor.Result()
		require.NoError(t, err)
		assert.Empty(t, changes)
		assert.Equal(t, text, string(got))
	}
}

func TestAbsentNullFalseZeroAndEmptyAreDifferentThings(t *testing.T) {
	t.Parallel()
	const pointer = "/agent_configs/anything"
	values := []string{"", "null", "false", "0", "0.0", `""`, "[]", "{}"}
	for _, from := range values {
		for _, to := range values {
			member := ""
			if from != "" {
				member = `"anything":` + from
			}
			editor := editing(t, oneStep("{"+member+"}"))
			if to == "" {
				require.NoError(t, editor.Unset("a", pointer))
			} else {
				require.NoError(t, editor.Set("a", pointer, json.RawMessage(to)))
			}
			_, changes, err := editor.Result()
			require.NoError(t, err)
			if from == to {
				assert.Empty(t, changes)
				continue
			}
			require.Len(t, changes, 1, "from %q to %q", from, to)
			assert.Equal(t, pointer, changes[0].Pointer)
			assert.Equal(t, from, string(changes[0].Before))
			assert.Equal(t, to, string(changes[0].After))
			assert.Equal(t, from == "", changes[0].Before == nil)
			assert.Equal(t, to == "", changes[0].After == nil)
		}
	}
}

func TestAFieldOfEveryFormKeepsNullEmptyAndZeroThroughAnEdit(t *testing.T) {
	t.Parallel()
	const kept = `{"selected_servers":null,"selected_tools":[],"disable_validation":false,"learn_code_max_fix_iterations":0,"learning_objective":"","execution_llm":{},"validation_llm":null,"prerequisite_rules":[],"successful_runs":null,"execution_max_turns":`
	editor := editing(t, oneStep(kept+`1}`))
	require.NoError(t, editor.Change("a", turns(2)))
	assert.JSONEq(t, oneStep(kept+`2}`), result(t, editor))
}

func TestStepsAreAddedRemovedAndRenamed(t *testing.T) {
	t.Parallel()
	two := 2
	added := &stepconfig.StepConfig{ID: "new", AgentConfigs: &stepconfig.AgentConfigs{ExecutionMaxTurns: &two}}
	const addedText = "    {\n      \"id\": \"new\",\n      \"agent_configs\": {\n        \"execution_max_turns\": 2\n      }\n    }"
	for _, tc := range []struct {
		name, text string
		edit       func(*stepconfig.Editor) error
		want       string
		changes    []stepconfig.Change
	}{
		{
			"added to none", "{\n  \"steps\": []\n}\n", func(e *stepconfig.Editor) error { return e.Add(added) },
			"{\n  \"steps\": [\n" + addedText + "\n  ]\n}\n",
			[]stepconfig.Change{{Step: "new", After: json.RawMessage(`{"id":"new","agent_configs":{"execution_max_turns":2}}`)}},
		},
		{
			"added to one", "{\n  \"steps\": [\n    {\"id\": \"a\"}\n  ]\n}", func(e *stepconfig.Editor) error { return e.Add(added) },
			"{\n  \"steps\": [\n    {\"id\": \"a\"},\n" + addedText + "\n  ]\n}",
			[]stepconfig.Change{{Step: "new", After: json.RawMessage(`{"id":"new","agent_configs":{"execution_max_turns":2}}`)}},
		},
		{
			"the first removed", `{"steps": [ {"id":"a"}, {"id":"b"}, {"id":"c"} ]}`, func(e *stepconfig.Editor) error { return e.Remove("a") },
			`{"steps": [ {"id":"b"}, {"id":"c"} ]}`,
			[]stepconfig.Change{{Step: "a", Before: json.RawMessage(`{"id":"a"}`)}},
		},
		{
			"the middle removed", `{"steps": [ {"id":"a"}, {"id":"b"}, {"id":"c"} ]}`, func(e *stepconfig.Editor) error { return e.Remove("b") },
			`{"steps": [ {"id":"a"}, {"id":"c"} ]}`,
			[]stepconfig.Change{{Step: "b", Before: json.RawMessage(`{"id":"b"}`)}},
		},
		{
			"the last removed", `{"steps": [ {"id":"a"}, {"id":"b"} ]}`, func(e *stepconfig.Editor) error { return e.Remove("b") },
			`{"steps": [ {"id":"a"} ]}`,
			[]stepconfig.Change{{Step: "b", Before: json.RawMessage(`{"id":"b"}`)}},
		},
		{
			"all removed", `{"steps": [ {"id":"a"} ]}`, func(e *stepconfig.Editor) error { return e.Remove("a") },
			`{"steps": []}`,
			[]stepconfig.Change{{Step: "a", Before: json.RawMessage(`{"id":"a"}`)}},
		},
		{
			"renamed", `{"steps": [{"x":1.0,"id":"a"},{"id":"b"}]}`, func(e *stepconfig.Editor) error { return e.Rename("a", "c") },
			"{\"steps\": [{\n      \"x\": 1.0,\n      \"id\": \"c\"\n    },{\"id\":\"b\"}]}",
			[]stepconfig.Change{{Step: "c", Pointer: "/id", Before: json.RawMessage(`"a"`), After: json.RawMessage(`"c"`)}},
		},
		{
			"added and removed again", `{"steps": [ ]}`, func(e *stepconfig.Editor) error { return errors.Join(e.Add(added), e.Remove("new")) },
			`{"steps": [ ]}`, nil,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			editor := editing(t, tc.text)
			require.NoError(t, tc.edit(editor))
			text, changes, err := editor.Result()
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(text))
			assert.Equal(t, tc.changes, changes)
		})
	}
}

func TestLegacyFormsAreWrittenAnewWithWhatIsEdited(t *testing.T) {
	t.Parallel()
	editor := editing(t, `[{"id":"a","agent_configs":{"enabled_custom_tool_categories":["human_tools"],"learning_objective":"o","declared_execution_mode":"learn_code","n":1.0}},
{"id":"b","agent_configs":{"enabled_custom_tool_categories":["x"],"n":2.0}}]`)
	require.NoError(t, editor.Change("a", turns(3)))
	text, changes, err := editor.Result()
	require.NoError(t, err)
	assert.Equal(t, `{
  "steps": [
    {
      "id": "a",
      "agent_configs": {
        "learning_objective": "o",
        "declared_execution_mode": "scripted",
        "n": 1.0,
        "execution_max_turns": 3,
        "enabled_custom_tools": [
          "human_tools:*"
        ],
        "learnings_access": "read-write"
      }
    },
    {
      "id": "b",
      "agent_configs": {
        "enabled_custom_tool_categories": [
          "x"
        ],
        "n": 2.0
      }
    }
  ]
}
`, string(text))
	pointers := []string{}
	for _, c := range changes {
		pointers = append(pointers, c.Step+strings.TrimPrefix(c.Pointer, "/agent_configs"))
	}
	assert.Equal(t, []string{"a/enabled_custom_tool_categories", "a/declared_execution_mode", "a/execution_max_turns", "a/enabled_custom_tools", "a/learnings_access"}, pointers)
}

func TestDuplicateEntriesGoWhenTheFileIsSaved(t *testing.T) {
	t.Parallel()
	const text = `{"steps":[{"id":"a","title":"old"},{"id":"b"},{"id":"a","title":"last"}]}`
	editor := editing(t, text)
	require.NoError(t, editor.Set("b", "/title", json.RawMessage(`"t"`)))
	got, changes, err := editor.Result()
	require.NoError(t, err)
	assert.JSONEq(t, `{"steps":[{"id":"b","title":"t"},{"id":"a","title":"last"}]}`, string(got))
	assert.Equal(t, []stepconfig.Change{
		{Step: "a", Before: json.RawMessage(`{"id":"a","title":"old"}`)},
		{Step: "b", Pointer: "/title", After: json.RawMessage(`"t"`)},
	}, changes)

	editor = editing(t, text)
	require.NoError(t, editor.Rename("a", "c"))
	assert.JSONEq(t, `{"steps":[{"id":"b"},{"id":"c","title":"last"}]}`, result(t, editor), "no older entry comes to count")
	editor = editing(t, text)
	require.NoError(t, editor.Remove("a"))
	assert.JSONEq(t, `{"steps":[{"id":"b"}]}`, result(t, editor))
}

func TestEditsThatMeanNothingAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		edit   func(*stepconfig.Editor) error
		reason error
		text   string
	}{
		{"change of no step", func(e *stepconfig.Editor) error { return e.Change("z", turns(1)) }, stepconfig.ErrNoStep, `f: step "z": the file has no such step`},
		{"change of the empty id", func(e *stepconfig.Editor) error { return e.Change("", turns(1)) }, stepconfig.ErrNoStep, ""},
		{"set of no step", func(e *stepconfig.Editor) error { return e.Set("z", "/x", json.RawMessage(`1`)) }, stepconfig.ErrNoStep, ""},
		{"unset of no step", func(e *stepconfig.Editor) error { return e.Unset("z", "/x") }, stepconfig.ErrNoStep, ""},
		{"removal of no step", func(e *stepconfig.Editor) error { return e.Remove("z") }, stepconfig.ErrNoStep, ""},
		{"rename of no step", func(e *stepconfig.Editor) error { return e.Rename("z", "y") }, stepconfig.ErrNoStep, ""},
		{"rename to a taken id", func(e *stepconfig.Editor) error { return e.Rename("a", "b") }, stepconfig.ErrStepExists, `f: step "b" at /id: the file has such a step already`},
		{"rename to no id", func(e *stepconfig.Editor) error { return e.Rename("a", " ") }, stepconfig.ErrNoID, ""},
		{"rename to broken text", func(e *stepconfig.Editor) error { return e.Rename("a", "\xff") }, nil, "not UTF-8"},
		{"adding a taken id", func(e *stepconfig.Editor) error { return e.Add(&stepconfig.StepConfig{ID: "a"}) }, stepconfig.ErrStepExists, ""},
		{"adding no id", func(e *stepconfig.Editor) error { return e.Add(&stepconfig.StepConfig{}) }, stepconfig.ErrNoID, ""},
		{"adding nothing", func(e *stepconfig.Editor) error { return e.Add(nil) }, stepconfig.ErrNoID, ""},
		{"adding what is no JSON", func(e *stepconfig.Editor) error {
			return e.Add(&stepconfig.StepConfig{ID: "n", ValidationSchema: json.RawMessage(`{`)})
		}, nil, `step "n"`},
		{"setting what is no JSON", func(e *stepconfig.Editor) error { return e.Set("a", "/title", json.RawMessage(`{`)) }, stepconfig.ErrNotJSON, ""},
		{"setting nothing", func(e *stepconfig.Editor) error { return e.Set("a", "/title", nil) }, stepconfig.ErrNotJSON, ""},
		{"setting the id", func(e *stepconfig.Editor) error { return e.Set("a", "/id", json.RawMessage(`"b"`)) }, stepconfig.ErrIDChange, ""},
		{"unsetting the id", func(e *stepconfig.Editor) error { return e.Unset("a", "/id") }, stepconfig.ErrIDChange, ""},
		{"changing the id", func(e *stepconfig.Editor) error {
			return e.Change("a", func(s *stepconfig.StepConfig) error { s.ID = "b"; return nil })
		}, stepconfig.ErrIDChange, ""},
		{"a pointer through a number", func(e *stepconfig.Editor) error { return e.Set("a", "/n/x", json.RawMessage(`1`)) }, nil, `step "a" at /n/x: is no object`},
		{"a pointer to the entry", func(e *stepconfig.Editor) error { return e.Set("a", "", json.RawMessage(`{}`)) }, nil, "names no key"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			editor := editing(t, `{"steps":[{"id":"a","n":1},{"id":"b"}]}`)
			err := tc.edit(editor)
			var refused *stepconfig.EditError
			require.ErrorAs(t, err, &refused)
			if tc.reason != nil {
				require.ErrorIs(t, err, tc.reason)
			}
			require.ErrorContains(t, err, tc.text)
			_, changes, err := editor.Result()
			require.NoError(t, err)
			assert.Empty(t, changes)
		})
	}
}

func TestAFaultThatAnEditWouldMakeIsRefusedAndOneThatIsThereIsNot(t *testing.T) {
	t.Parallel()
	const text = `{"steps":[{"id":"a","agent_configs":{"execution_max_turns":"many"}},{"id":"b"}]}`
	editor := editing(t, text)
	require.NoError(t, editor.Set("a", "/agent_configs/execution_tier", json.RawMessage(`"low"`)), "another field may be edited")
	assert.Contains(t, result(t, editor), `"many"`)

	editor = editing(t, text)
	require.NoError(t, editor.Set("a", "/agent_configs/execution_max_turns", json.RawMessage(`7`)), "and this one mended")
	assert.NotContains(t, result(t, editor), `"many"`)

	editor = editing(t, text)
	require.NoError(t, editor.Set("b", "/agent_configs/execution_tier", json.RawMessage(`"huge"`)))
	_, _, err := editor.Result()
	var found workspace.Diagnostics
	require.ErrorAs(t, err, &found)
	assert.Equal(t, []string{"error value.unknown /steps/1/agent_configs/execution_tier"}, codes(found))
}

func TestAnEntryWithoutAnIDIsNotWritten(t *testing.T) {
	t.Parallel()
	editor := editing(t, `{"steps":[{"id":""},{"id":"a"}]}`)
	require.NoError(t, editor.Change("a", turns(3)))
	_, _, err := editor.Result()
	var found workspace.Diagnostics
	require.ErrorAs(t, err, &found)
	assert.Equal(t, []string{"error id.missing /steps/0/id"}, codes(found))
}

func TestAFileThatIsNoListOfEntriesIsNotEdited(t *testing.T) {
	t.Parallel()
	for _, text := range []string{``, `{`, `7`, `null`, `{}`, `{"steps":null}`, `{"steps":{}}`, `{"steps":[7]}`, `[null]`, `{"steps":[],"steps":1}`} {
		_, err := stepconfig.NewEditor("f", []byte(text))
		var found workspace.Diagnostics
		require.ErrorAs(t, err, &found, text)
		assert.True(t, found.HasErrors())
	}
	_, err := stepconfig.NewEditor("f", []byte(`{"steps":1,"steps":[]}`))
	assert.NoError(t, err, "the last one counts")
}

func TestTheErrorOfAChangeComesBack(t *testing.T) {
	t.Parallel()
	editor, no := editing(t, threeSteps), errors.New("no")
	err := editor.Change("b", func(step *stepconfig.StepConfig) error {
		step.Title = "half done"
		return no
	})
	require.ErrorIs(t, err, no)
	assert.Equal(t, threeSteps, result(t, editor))
}
