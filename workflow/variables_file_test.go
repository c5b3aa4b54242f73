package workflow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

func TestFindingsInVariables(t *testing.T) {
	t.Parallel()
	const declared = `"variables": [{"name": "A", "value": "a"}, {"name": "B"}]`
	checkFindings(t, workspace.VariablesFile, []findingCase{
		{"every field is known", `{"variables": [{"name": "A", "value": "", "description": "d"}], "groups": [{"name": "g", "values": {"A": "1"}, "enabled": false}], "extraction_date": "2026-01-01"}`, nil},
		{"groups without variables", `{"groups": [{"name": "default"}]}`, nil},
		{"an empty object", `{}`, nil},
		{"an empty file", ` `, []string{"error variables.json.syntax"}},
		{"no object", `"x"`, []string{"error variables.json.type"}},
		{"variables that are an object", `{"variables": {}}`, []string{"error variables.json.type /variables"}},
		{"a variable that is a text", `{"variables": ["A"]}`, []string{"error variables.json.type /variables/0"}},
		{"a value that is a number", `{"variables": [{"name": "A", "value": 8080}]}`, []string{"error variables.json.type /variables/0/value"}},
		{"a name that is a number", `{"variables": [{"name": 1}]}`, []string{"error variables.json.type /variables/0/name"}},
		{"values of a group that are no texts", `{` + declared + `, "groups": [{"name": "g", "values": {"A": 1, "B": null}}]}`, []string{
			"error variables.json.type /groups/0/values/A", "error variables.json.type /groups/0/values/B",
		}},
		{"values that are a list", `{"groups": [{"name": "g", "values": []}]}`, []string{"error variables.json.type /groups/0/values"}},
		{"unknown keys", `{"objective": "x", "groups": [{"name": "g", "note": 1}]}`, []string{"notice variables.key.unknown /objective", "notice variables.key.unknown /groups/0/note"}},
		{"a key twice", `{"groups": [{"name": "f", "name": "g"}]}`, []string{"notice variables.key.duplicate /groups/0/name"}},
		{"no name", `{"variables": [{"value": "x"}]}`, []string{"error variables.name.invalid /variables/0/name"}},
		{"a name with a dash", `{"variables": [{"name": "a-b"}]}`, []string{"error variables.name.invalid /variables/0/name"}},
		{"a name twice", `{"variables": [{"name": "A"}, {"name": "A"}]}`, []string{"error variables.name.duplicate /variables/1/name"}},
		{"names that differ by case", `{"variables": [{"name": "City"}, {"name": "CITY"}]}`, []string{"notice variables.name.case /variables/1/name"}},
		{"the name that scripts have", `{"variables": [{"name": "GROUP_NAME"}]}`, []string{"notice variables.name.reserved /variables/0/name"}},
		{"a group without a name", `{"groups": [{"values": {}}]}`, []string{"error variables.group.name.missing /groups/0/name"}},
		{"a group with an empty name", `{"groups": [{"name": "  "}]}`, []string{"error variables.group.name.missing /groups/0/name"}},
		{"a group of punctuation", `{"groups": [{"name": "../.."}]}`, []string{"error variables.group.name.invalid /groups/0/name"}},
		{"a group with a name of 101 bytes", `{"groups": [{"name": "` + longName(101) + `"}]}`, []string{"error variables.group.name.invalid /groups/0/name"}},
		{"a group twice", `{"groups": [{"name": "g"}, {"name": "g"}]}`, []string{"error variables.group.duplicate /groups/1/name"}},
		{"groups of one folder", `{"groups": [{"name": "Team A"}, {"name": "team-a"}]}`, []string{"error variables.group.collision /groups/1/name"}},
		{"older groups", `{"groups": [{"group_id": "g-1", "display_name": "Group 1"}, {"display_name": "Group 2"}, {"name": "g3", "display_name": "Group 3"}]}`, []string{
			"notice variables.group.legacy /groups/0/group_id", "notice variables.group.legacy /groups/1/display_name",
		}},
		{"a value of no variable", `{` + declared + `, "groups": [{"name": "g", "values": {"B": "b", "b/x": ""}}]}`, []string{"error variables.group.value.undeclared /groups/0/values/b~1x"}},
		{"a variable without a value", `{` + declared + `, "groups": [{"name": "g", "values": {"A": "x"}}]}`, []string{"notice variables.group.value.missing /groups/0/values"}},
		{"a typed variable is given by the run", `{"variables": [{"name": "INPUT", "type": "object"}], "groups": [{"name": "default", "enabled": true}]}`, nil},
	})
}

func longName(n int) string {
	name := make([]byte, n)
	for i := range name {
		name[i] = 'a'
	}
	return string(name)
}

func TestAGroupCannotTakeAFolderOfARun(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"execution", "Execution", "logs", "work", "planning", "journal", "journal-blobs", "Journal Blobs", "tool_output",
		"batch", "Downloads", "evaluation", "__ungrouped__",
	} {
		ds := findingsOf(t, workspace.VariablesFile, `{"groups": [{"name": "`+name+`"}]}`)
		assert.Equal(t, []string{"error variables.group.name.reserved /groups/0/name"}, found(ds), name)
	}
}

func TestAGroupsFolderIsItsNameInLowerCaseWithoutPunctuation(t *testing.T) {
	t.Parallel()
	for name, folder := range map[string]string{
		"production": "production", "Production EU": "production-eu", "North & South": "north-south", "a/b\\c": "a-b-c",
		" trimmed. ": "trimmed", "under_score": "under_score", "Ærøskøbing": "ærøskøbing", "東京": "東京", "v1.2": "v1-2", "..": "", "": "",
	} {
		assert.Equal(t, folder, (&workflow.Group{Name: name}).Folder(), name)
	}
}

func TestAGroupsValuesComeBeforeTheVariablesOwn(t *testing.T) {
	t.Parallel()
	file, ds, err := workflow.ReadVariables(t.Context(), holding(t, workspace.VariablesFile, `{
		"variables": [{"name": "A", "value": "own"}, {"name": "B", "value": "own"}, {"name": "C"}, {"name": "D", "value": ""}],
		"groups": [{"name": "Team A", "values": {"A": "group", "C": "group", "D": ""}}, {"name": "off", "enabled": false}]}`))
	require.NoError(t, err)
	require.False(t, ds.HasErrors())
	assert.Equal(t, workflow.Variables{"A": "group", "B": "own", "C": "group", "D": ""}, file.Values(file.Group("Team A")))
	assert.Equal(t, workflow.Variables{"A": "own", "B": "own", "D": ""}, file.Values(nil))
	assert.Same(t, file.Group("Team A"), file.Group("team-a"), "a group is found by its folder, too")
	assert.Nil(t, file.Group("Team"))
	assert.Nil(t, file.Group(""))
	assert.Equal(t, []string{"Team A", "off"}, file.GroupNames())
	assert.True(t, file.Groups[0].IsEnabled())
	assert.False(t, file.Groups[1].IsEnabled())
}

func TestEditingVariablesKeepsAllElse(t *testing.T) {
	t.Parallel()
	ws := holding(t, workspace.VariablesFile, `{"objective":"x","groups":[{"group_id":"g-1","display_name":"One","note":1.0},{"name":"two","values":{"B":"2","A":"1"}}],"variables":[{"name":"A"},{"name":"B","kind":"\u00e9"}]}`)
	changes, err := workflow.EditVariables(t.Context(), ws, func(f *workflow.VariablesFile) error {
		f.Group("two").Values["A"] = "<new>"
		return nil
	})
	require.NoError(t, err)
	require.Len(t, changes, 1)
	assert.Equal(t, "/groups", changes[0].Pointer)
	assert.Equal(t, `{
  "objective": "x",
  "groups": [
    {
      "display_name": "One",
      "note": 1.0,
      "name": "g-1"
    },
    {
      "name": "two",
      "values": {
        "B": "2",
        "A": "<new>"
      }
    }
  ],
  "variables": [
    {
      "name": "A"
    },
    {
      "name": "B",
      "kind": "\u00e9"
    }
  ]
}
`, contentOf(t, ws, workspace.VariablesFile))
	_, err = workflow.EditVariables(t.Context(), ws, func(f *workflow.VariablesFile) error {
		f.Groups = append(f.Groups, workflow.Group{Name: "logs"})
		return nil
	})
	require.ErrorContains(t, err, "variables.group.name.reserved")
}

func TestAFileThatIsNotThereIsMadeByAnEdit(t *testing.T) {
	t.Parallel()
	ws := holding(t)
	value := "v"
	_, err := workflow.EditVariables(t.Context(), ws, func(f *workflow.VariablesFile) error {
		f.Variables = []workflow.Variable{{Name: "A", Value: &value}}
		return nil
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"variables":[{"name":"A","value":"v"}]}`, contentOf(t, ws, workspace.VariablesFile))
}

func TestPlansUseVariablesThatAreDeclaredAndHaveValues(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, step, variables string
		opts                  workflow.CompileOptions
		want                  []string
	}{
		{"in every text", `"title":"{{T}}","description":"{{D}}","context_output":"{{O}}.json","context_dependencies":["in/{{I}}"]`, `{}`, workflow.CompileOptions{}, []string{
			"error variables.unknown /steps/0/context_output", "error variables.unknown /steps/0/context_dependencies/0",
			"error variables.unknown /steps/0/description", "error variables.unknown /steps/0/title",
		}},
		{"by their name to the letter", `"description":"{{city}}"`, `{"variables":[{"name":"CITY","value":"x"}]}`, workflow.CompileOptions{}, []string{"error variables.unknown /steps/0/description"}},
		{"with white space", `"description":"{{ CITY }}"`, `{"variables":[{"name":"CITY","value":"x"}]}`, workflow.CompileOptions{}, nil},
		{"what is no name is left alone", `"description":"{{.id}} {{ 1 }} {{a.b}} {{a-b}} {{}}"`, `{}`, workflow.CompileOptions{}, nil},
		{"an input that is not given", `"description":"{{input.question}}"`, `{}`, workflow.CompileOptions{}, []string{"error variables.input.missing /steps/0/description"}},
		{"an input that is given", `"description":"{{input.question}}"`, `{}`, workflow.CompileOptions{Variables: workflow.Variables{"input.question": "?"}}, nil},
		{"a value for no variable", `"description":"x"`, `{}`, workflow.CompileOptions{Variables: workflow.Variables{"X": ""}}, []string{"error variables.override.unknown"}},
		{"each group is looked at", `"description":"{{A}}"`, `{"variables":[{"name":"A"}],"groups":[{"name":"f","values":{"A":""}},{"name":"g"},{"name":"h","enabled":false}]}`, workflow.CompileOptions{}, []string{
			"notice variables.group.value.missing /groups/1/values", "notice variables.group.value.missing /groups/2/values", "error variables.value.missing /steps/0/description",
		}},
		{"the chosen group has all", `"description":"{{A}}"`, `{"variables":[{"name":"A"}],"groups":[{"name":"f","values":{"A":""}},{"name":"g"}]}`, workflow.CompileOptions{Group: "f"}, []string{"notice variables.group.value.missing /groups/1/values"}},
		{"the chosen group lacks one", `"description":"{{A}}"`, `{"variables":[{"name":"A"}],"groups":[{"name":"f","values":{"A":""}},{"name":"h","enabled":false}]}`, workflow.CompileOptions{Group: "h"}, []string{
			"notice variables.group.value.missing /groups/1/values", "error variables.value.missing /steps/0/description",
		}},
		{"a group that there is not", `"description":"{{A}}"`, `{"variables":[{"name":"A"}],"groups":[{"name":"f","values":{"A":""}}]}`, workflow.CompileOptions{Group: "x"}, []string{"error variables.group.unknown /groups"}},
		{"a group where there are none", `"description":"x"`, `{}`, workflow.CompileOptions{Group: "x"}, []string{"error variables.group.unknown /groups"}},
		{"a name of a file that one group spoils", `"context_output":"{{A}}.json"`, `{"variables":[{"name":"A","value":"a"}],"groups":[{"name":"f"},{"name":"g","values":{"A":"../x"}}]}`, workflow.CompileOptions{}, []string{"error plan.output.invalid /steps/0/context_output"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			src := plan(`{"steps":[{"id":"a","type":"regular",` + tc.step + `}]}`)
			src.Variables = []byte(tc.variables)
			_, ds := workflow.Compile(&src, &tc.opts)
			assert.ElementsMatch(t, append([]string{}, tc.want...), found(ds), "%v", ds)
		})
	}
}

func TestANameInTheWrongCaseIsToldTheRightOne(t *testing.T) {
	t.Parallel()
	src := plan(`{"steps":[{"id":"a","type":"regular","description":"{{city}}"}]}`)
	src.Variables = []byte(`{"variables":[{"name":"CITY","value":"x"}]}`)
	_, ds := workflow.Compile(&src, nil)
	require.Len(t, ds, 1)
	assert.Contains(t, ds[0].Hint, `write "CITY"`)
}
