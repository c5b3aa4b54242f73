package workflow_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

func TestVariablesArePutIntoTheFileNamesOfASchema(t *testing.T) {
	t.Parallel()
	const region = `{"variables":[{"name":"REGION","value":"north"}]}`
	b := setup(t, withModel(t, writes("sum-north.json", `{"total":"4"}`), agenttest.Reply("done"), writes("sum-north.json", `{"total":4}`), agenttest.Reply("mended")),
		`{"steps":[{"id":"sum","type":"regular","context_output":"sum-{{REGION}}.json","validation_schema":{"files":[
			{"file_name":"sum-{{ REGION }}.json","json_checks":[{"path":"$.total","value_type":"number"}]}]}}]}`,
		workspace.VariablesFile, region)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	log := b.read(t, "runs/iteration-1/logs/sum/pre_validation-attempt-1-iteration-1.json")
	assert.Contains(t, log, `"file_name":"sum-north.json"`)
	prompts := b.read(t, "runs/iteration-1/logs/sum/execution/execution-attempt-1-iteration-1-prompts.json")
	assert.Contains(t, prompts, `sum-north.json`)
	assert.NotContains(t, prompts, `REGION`, "the agent is told the name as it is checked")
}

func TestTheVariablesOfASchemaAreChecked(t *testing.T) {
	t.Parallel()
	const files = "/steps/0/validation_schema/files/0"
	for name, c := range map[string]struct {
		variables, schema string
		want              []string
	}{
		"a value that is a name": {
			`{"variables":[{"name":"A","value":"north"}]}`, `{"files":[{"file_name":"{{A}}.json"}]}`, []string{},
		},
		"an unknown name": {
			`{"variables":[{"name":"A","value":"x"}]}`, `{"files":[{"file_name":"{{a}}.json"}]}`,
			[]string{"error variables.unknown " + files + "/file_name"},
		},
		"a name without a value": {
			`{"variables":[{"name":"A"}]}`, `{"files":[{"file_name":"{{A}}.json"}]}`,
			[]string{"error variables.value.missing " + files + "/file_name"},
		},
		"a value that leads out of the folder": {
			`{"variables":[{"name":"A","value":"../x"}]}`, `{"files":[{"file_name":"{{A}}.json"}]}`,
			[]string{"error validation.file_name.outside " + files + "/file_name"},
		},
		"a value of one group that leads out": {
			`{"variables":[{"name":"A"}],"groups":[{"name":"g","values":{"A":"x"}},{"name":"h","values":{"A":"/etc"}}]}`,
			`{"files":[{"file_name":"{{A}}/hosts"}]}`,
			[]string{"error validation.file_name.absolute " + files + "/file_name"},
		},
		"a pattern, a path and a query": {
			`{"variables":[{"name":"A","value":"x"}]}`,
			`{"files":[{"file_name":"a.json","json_checks":[{"path":"$['{{A}}']","pattern":"{{A}}"},{"path":"$.a","pattern":"{{B}}"}]}],"db":[{"sql":"SELECT '{{A}}'"}]}`,
			[]string{
				"notice variables.literal " + files + "/json_checks/0/path", "notice variables.literal " + files + "/json_checks/0/pattern",
				"notice variables.literal /steps/0/validation_schema/db/0/sql",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, ds := workflow.Compile(&workflow.Source{
				Plan:      []byte(`{"steps":[{"id":"a","type":"regular","validation_schema":` + c.schema + `}]}`),
				Variables: []byte(c.variables),
			}, nil)
			assert.ElementsMatch(t, c.want, severityCodePointer(ds))
		})
	}
}

func TestTheVariablesOfASchemaInTheConfigurationAreToldThere(t *testing.T) {
	t.Parallel()
	_, ds := workflow.Compile(&workflow.Source{
		Plan:       []byte(`{"steps":[{"id":"a","type":"regular"}]}`),
		StepConfig: []byte(`{"steps":[{"id":"a","validation_schema":{"files":[{"file_name":"{{X}}.json"}]}}]}`),
	}, nil)
	require.Equal(t, []string{"error variables.unknown /steps/0/validation_schema/files/0/file_name"}, severityCodePointer(ds))
	assert.Equal(t, workspace.StepConfigFile, ds[0].File)
}

func severityCodePointer(ds workspace.Diagnostics) []string {
	found := []string{}
	for _, d := range ds {
		found = append(found, fmt.Sprintf("%s %s %s", d.Severity, d.Code, d.Pointer))
	}
	return found
}
