package workflow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

func TestCompileNamesEveryFaultWithItsPlace(t *testing.T) {
	t.Parallel()
	step := func(fields string) string {
		return `{"steps":[{"id":"a","type":"regular","context_output":"a.json"},{"id":"b","type":"regular"` + fields + `}]}`
	}
	for _, tc := range []struct {
		name string
		src  workflow.Source
		code string
		at   string // file#pointer
	}{
		{"no plan", workflow.Source{}, "plan.missing", "planning/plan.json#"},
		{"an empty plan", plan(""), "plan.json.syntax", "planning/plan.json#"},
		{"a plan cut short", plan(`{"steps":[{"id":"a"`), "plan.json.syntax", "planning/plan.json#"},
		{"a plan that is a list", plan(`[]`), "plan.json.type", "planning/plan.json#"},
		{"steps that are no list", plan(`{"steps":{}}`), "plan.json.type", "planning/plan.json#/steps"},
		{"no steps", plan(`{"steps":[]}`), "plan.steps.empty", "planning/plan.json#/steps"},
		{"a step that is no object", plan(`{"steps":[7]}`), "plan.json.type", "planning/plan.json#/steps/0"},
		{"no type", plan(`{"steps":[{"id":"a"}]}`), "plan.step.type.missing", "planning/plan.json#/steps/0/type"},
		{"an unknown type", plan(`{"steps":[{"id":"a","type":"crew"}]}`), "plan.step.type.unknown", "planning/plan.json#/steps/0/type"},
		{"no id", plan(`{"steps":[{"type":"regular"}]}`), "plan.step.id.missing", "planning/plan.json#/steps/0/id"},
		{"an id with a slash", plan(`{"steps":[{"id":"a/b","type":"regular"}]}`), "plan.step.id.invalid", "planning/plan.json#/steps/0/id"},
		{"an id with a parent folder", plan(`{"steps":[{"id":"..","type":"regular"}]}`), "plan.step.id.invalid", "planning/plan.json#/steps/0/id"},
		{"an id of 101 characters", plan(`{"steps":[{"id":"` + strings.Repeat("a", 101) + `","type":"regular"}]}`), "plan.step.id.invalid", "planning/plan.json#/steps/0/id"},
		{"the id end", plan(`{"steps":[{"id":"end","type":"regular"}]}`), "plan.step.id.reserved", "planning/plan.json#/steps/0/id"},
		{"an id twice", plan(`{"steps":[{"id":"a","type":"regular"},{"id":"a","type":"regular"}]}`), "plan.step.id.duplicate", "planning/plan.json#/steps/1/id"},
		{"an orphan's id twice", plan(`{"steps":[{"id":"a","type":"regular"}],"orphan_steps":[{"id":"a","type":"regular"}]}`), "plan.step.id.duplicate", "planning/plan.json#/steps/0/id"},
		{"a title that is a number", plan(step(`,"title":1`)), "plan.json.type", "planning/plan.json#/steps/1/title"},
		{"an unknown next step", plan(step(`,"next_step_id":"c"`)), "plan.next.unknown", "planning/plan.json#/steps/1/next_step_id"},
		{"a way back", plan(step(`,"next_step_id":"a"`)), "plan.next.endless", "planning/plan.json#/steps/1/next_step_id"},
		{"a way to itself", plan(step(`,"next_step_id":"b"`)), "plan.next.endless", "planning/plan.json#/steps/1/next_step_id"},
		{"a step that is passed over", plan(`{"steps":[{"id":"a","type":"regular","next_step_id":"end"},{"id":"b","type":"regular"}]}`), "plan.step.unreachable", "planning/plan.json#/steps/1"},
		{"an input nobody makes", plan(step(`,"context_dependencies":["x.json"]`)), "plan.dependency.unknown", "planning/plan.json#/steps/1/context_dependencies/0"},
		{"its own output as input", plan(step(`,"context_output":"b.json","context_dependencies":["b.json"]`)), "plan.dependency.own", "planning/plan.json#/steps/1/context_dependencies/0"},
		{"an input outside the workspace", plan(step(`,"context_dependencies":["../secret"]`)), "plan.dependency.invalid", "planning/plan.json#/steps/1/context_dependencies/0"},
		{"an absolute input", plan(step(`,"context_dependencies":["/etc/passwd"]`)), "plan.dependency.invalid", "planning/plan.json#/steps/1/context_dependencies/0"},
		{"an output outside the folder", plan(step(`,"context_output":"../a/a.json"`)), "plan.output.invalid", "planning/plan.json#/steps/1/context_output"},
		{"an unknown variable", plan(step(`,"description":"Use {{NOPE}}."`)), "variables.unknown", "planning/plan.json#/steps/1/description"},
		{"a bad pattern", plan(step(`,"validation_schema":{"files":[{"file_name":"b.json","json_checks":[{"path":"$.x","pattern":"("}]}]}`)), "validation.pattern.invalid", "planning/plan.json#/steps/1/validation_schema/files/0/json_checks/0/pattern"},
		{"an unknown key is told and kept", plan(step(`,"colour":"red"`)), "plan.step.key.unknown", "planning/plan.json#/steps/1/colour"},
		{"an objective in the plan is told", plan(`{"objective":"x","steps":[{"id":"a","type":"regular"}]}`), "plan.legacy_key", "planning/plan.json#/objective"},
		{"settings that are no JSON", workflow.Source{Plan: []byte(step("")), Settings: []byte("{")}, "settings.json.syntax", "workflow.json#"},
		{"variables of the wrong form", workflow.Source{Plan: []byte(step("")), Variables: []byte(`{"variables":{}}`)}, "variables.json.type", "variables/variables.json#/variables"},
		{"a variable's name", workflow.Source{Plan: []byte(step("")), Variables: []byte(`{"variables":[{"name":"a b"}]}`)}, "variables.name.invalid", "variables/variables.json#/variables/0/name"},
		{"a variable twice", workflow.Source{Plan: []byte(step("")), Variables: []byte(`{"variables":[{"name":"A"},{"name":"A"}]}`)}, "variables.name.duplicate", "variables/variables.json#/variables/1/name"},
		{"a variable without a value", workflow.Source{Plan: []byte(step(`,"description":"{{A}}"`)), Variables: []byte(`{"variables":[{"name":"A"}]}`)}, "variables.value.missing", "planning/plan.json#/steps/1/description"},
		{"configuration of no step", workflow.Source{Plan: []byte(step("")), StepConfig: []byte(`{"steps":[{"id":"zz"}]}`)}, "stepconfig.step.unknown", "planning/step_config.json#/steps/0/id"},
		{"a schema in the configuration", workflow.Source{Plan: []byte(step("")), StepConfig: []byte(`{"steps":[{"id":"b","validation_schema":{"files":[{"file_name":"/abs"}]}}]}`)}, "validation.file_name.absolute", "planning/step_config.json#/steps/0/validation_schema/files/0/file_name"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			program, ds := workflow.Compile(&tc.src, nil)
			var found []string
			for _, d := range ds {
				found = append(found, d.Code+" "+d.File+"#"+d.Pointer)
			}
			assert.Contains(t, found, tc.code+" "+tc.at)
			assert.Equal(t, ds.HasErrors(), program == nil)
		})
	}
}

func plan(text string) workflow.Source { return workflow.Source{Plan: []byte(text)} }

func TestCompileFindsAllFaultsAtOnce(t *testing.T) {
	t.Parallel()
	_, ds := workflow.Compile(&workflow.Source{
		Plan:      []byte(`{"steps":[{"id":"a","type":"crew"},{"id":"b/","type":"regular"},{"id":"c","type":"regular","next_step_id":"x","description":"{{Y}}"}]}`),
		Variables: []byte(`{"variables":[{"name":"1"}]}`),
	}, nil)
	assert.GreaterOrEqual(t, len(ds), 5, "%v", ds)
}

func TestASyntaxErrorSaysLineAndColumn(t *testing.T) {
	t.Parallel()
	_, ds := workflow.Compile(&workflow.Source{Plan: []byte("{\n  \"steps\": [\n    oops\n  ]\n}")}, nil)
	require.Len(t, ds, 1)
	assert.Contains(t, ds[0].Message, "line 3, column 5")
}

func TestTheRevisionIsThePlansContentAndNotItsWhiteSpace(t *testing.T) {
	t.Parallel()
	revision := func(text string) string {
		program, ds := workflow.Compile(&workflow.Source{Plan: []byte(text)}, nil)
		require.NoError(t, ds.Err())
		return program.Revision()
	}
	one := revision(`{"steps":[{"id":"a","type":"regular"}]}`)
	assert.Equal(t, one, revision("{\"steps\": [\n{\"id\": \"a\",\t\"type\": \"regular\"}]}\n"))
	assert.NotEqual(t, one, revision(`{"steps":[{"id":"b","type":"regular"}]}`))
}

func TestContextOutputIsReadAsTextOrList(t *testing.T) {
	t.Parallel()
	program, ds := workflow.Compile(&workflow.Source{Plan: []byte(`{"steps":[
		{"id":"a","type":"regular","context_output":"a.json, b.json"},
		{"id":"b","type":"regular","context_output":["c.json","d.json"],"context_dependencies":["b.json","a/other.txt","inputs/"]}]}`)}, nil)
	require.NoError(t, ds.Err())
	assert.Equal(t, workflow.Outputs{"a.json", "b.json"}, program.Step("a").Base().ContextOutput)
	assert.Equal(t, workflow.Outputs{"c.json", "d.json"}, program.Step("b").Base().ContextOutput)
	text, err := program.Step("b").Base().ContextOutput.MarshalJSON()
	require.NoError(t, err)
	assert.Equal(t, `"c.json, d.json"`, string(text))
}

func FuzzCompile(f *testing.F) {
	add := func(plan, config, settings, variables, soul, evaluation string) {
		f.Add([]byte(plan), []byte(config), []byte(settings), []byte(variables), []byte(soul), []byte(evaluation))
	}
	add(`{"steps":[{"id":"a","type":"regular"}]}`, `{"steps":[{"id":"a"}]}`, `{}`, `{"variables":[]}`, "", `{"steps":[{"id":"x"}]}`)
	add(string(chain(3, "regular")), `[]`, `{"capabilities":{"selected_servers":["x"]}}`, `{"variables":[{"name":"A","value":"b"}]}`, "## Objective\n", `{}`)
	add(`{"steps":[{"id":"a","type":"regular","context_output":"x, y","next_step_id":"b","validation_schema":{"files":[{"file_name":"x"}]}},{"id":"b","type":"regular","context_dependencies":["x","a/z"],"next_step_id":"a"}],
		"orphan_steps":[{"id":"o","type":"regular","shared_with":{"orchestrator_ids":["t"]}},{"id":"t","type":"todo_task","predefined_routes":[{"orphan_step_ref":"o"},{"sub_agent_step":{"id":"n"}}]}]}`,
		`{"steps":[{"id":"b","validation_schema":"none"}]}`, `{}`, `{"groups":[{"name":"g","values":{}}]}`, "", `[]`)
	codes := map[string]bool{}
	for _, list := range [][]workspace.Diagnostic{workflow.Codes(), stepconfig.Codes(), validation.Codes()} {
		for _, d := range list {
			codes[d.Code] = true
		}
	}
	f.Fuzz(func(t *testing.T, plan, config, settings, variables, soul, evaluation []byte) {
		src := &workflow.Source{Plan: plan, StepConfig: config, Settings: settings, Variables: variables, Soul: soul, Evaluation: evaluation}
		program, ds := workflow.Compile(src, nil)
		if (program == nil) != ds.HasErrors() {
			t.Fatalf("program %v with diagnostics %v", program, ds)
		}
		for _, d := range ds {
			if !codes[d.Code] || d.File == "" || d.Message == "" || d.Hint == "" || d.Line == 0 && strings.HasSuffix(d.File, ".json") {
				t.Fatalf("incomplete diagnostic %+v", d)
			}
		}
		if program != nil && len(program.StepIDs()) == 0 {
			t.Fatal("a program without steps")
		}
	})
}

func FuzzEvaluationPlan(f *testing.F) {
	for _, seed := range []string{`{"steps":[{"id":"a"},{"id":"A"},{}]}`, `{"steps":[7,null]}`, `{"steps":{"id":1}}`, `[`, ``} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, evaluation []byte) {
		src := plan(`{"steps":[{"id":"a","type":"regular"}]}`)
		src.Evaluation = evaluation
		program, ds := workflow.Compile(&src, nil)
		if (program == nil) != ds.HasErrors() {
			t.Fatalf("program %v with diagnostics %v", program, ds)
		}
	})
}

func TestAWayBackToAStepThatHasNotRunEnds(t *testing.T) {
	t.Parallel()
	var order []string
	note := &workflow.StepType{Name: "note", Execute: func(sc *workflow.StepContext) (*workflow.Outcome, error) {
		order = append(order, sc.Step().Base().ID)
		return nil, nil
	}}
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{note}}, `{"steps":[
		{"id":"a","type":"note","next_step_id":"c"},
		{"id":"b","type":"note","context_dependencies":["c.json"],"next_step_id":"end"},
		{"id":"c","type":"note","context_output":"c.json","next_step_id":"b"}]}`)
	program, ds, err := b.ctl.Compile(t.Context(), b.ws, nil)
	require.NoError(t, err)
	require.Empty(t, ds, "c runs before b, whatever their order in the file")
	assert.Equal(t, []string{"a", "b", "c"}, program.StepIDs())
	_, err = b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "c", "b"}, order)
}
