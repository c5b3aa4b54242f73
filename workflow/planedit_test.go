package workflow_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

const invoicePlan = `{
  "x-owner": "finance",
  "steps": [
    {"id": "fetch",  "type": "regular", "description": "Fetch them.", "context_output": "invoices.json", "x-weight": 1.50},
    {
      "id": "match", "type": "regular",
      "description": "Match them.",
      "context_dependencies": ["invoices.json", "fetch/raw.csv"],
      "context_output": "matches.json"
    },
    {"id": "report", "type": "regular", "context_dependencies": ["matches.json"]}
  ],
  "orphan_steps": [ {"id":"check","type":"regular","shared_with":{"orchestrator_ids":["match"]}} ]
}
`

var noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)

// tidy is an edit by somebody, made at noon.
func tidy() workflow.PlanEdit {
	return workflow.PlanEdit{Tool: "update_regular_step", Reason: "tidy up", Now: func() time.Time { return noon }}
}

// planBench is a workspace with a plan to edit.
func planBench(t testing.TB, plan string, files ...string) *bench {
	t.Helper()
	b := &bench{ws: workspace.New(workspace.NewMem())}
	if plan != "" {
		b.write(t, workspace.PlanFile, plan)
	}
	for i := 0; i+1 < len(files); i += 2 {
		b.write(t, files[i], files[i+1])
	}
	return b
}

func (b *bench) edit(t testing.TB, edit func(*workflow.PlanEditor) error) (*workflow.EditedPlan, error) {
	t.Helper()
	return workflow.EditPlan(t.Context(), b.ws, tidy(), edit)
}

// edited makes an edit that must go well, and returns what it did.
func (b *bench) edited(t testing.TB, edit func(*workflow.PlanEditor) error) *workflow.EditedPlan {
	t.Helper()
	done, err := b.edit(t, edit)
	require.NoError(t, err)
	require.NoError(t, done.LogError)
	return done
}

func set(id, pointer, value string) func(*workflow.PlanEditor) error {
	return func(e *workflow.PlanEditor) error { return e.Set(id, pointer, json.RawMessage(value)) }
}

func TestAnEditOfThePlanLeavesEverythingElseByteForByte(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan)
	b.edited(t, set("match", "/description", `"Match invoices to orders."`))
	want := `{
  "x-owner": "finance",
  "steps": [
    {"id": "fetch",  "type": "regular", "description": "Fetch them.", "context_output": "invoices.json", "x-weight": 1.50},
    {
      "id": "match",
      "type": "regular",
      "description": "Match invoices to orders.",
      "context_dependencies": [
        "invoices.json",
        "fetch/raw.csv"
      ],
      "context_output": "matches.json"
    },
    {"id": "report", "type": "regular", "context_dependencies": ["matches.json"]}
  ],
  "orphan_steps": [ {"id":"check","type":"regular","shared_with":{"orchestrator_ids":["match"]}} ]
}
`
	assert.Equal(t, want, b.read(t, workspace.PlanFile))
}

func TestAnEditSaysWhatWasThereAndWhatIs(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan)
	done := b.edited(t, func(e *workflow.PlanEditor) error {
		return errors.Join(
			e.Set("fetch", "/x-weight", json.RawMessage("2.0")),
			e.Set("match", "/context_dependencies/1", json.RawMessage(`"fetch/raw.json"`)),
			e.Set("match", "/x-new/deep", json.RawMessage(`null`)),
			e.Unset("match", "/description"),
		)
	})
	assert.Equal(t, []workflow.PlanChange{
		{Step: "fetch", Field: "x-weight", Old: json.RawMessage("1.50"), New: json.RawMessage("2.0")},
		{Step: "match", Field: "description", Old: json.RawMessage(`"Match them."`)},
		{Step: "match", Field: "context_dependencies", Old: json.RawMessage(`["invoices.json","fetch/raw.csv"]`), New: json.RawMessage(`["invoices.json","fetch/raw.json"]`)},
		{Step: "match", Field: "x-new", New: json.RawMessage(`{"deep":null}`)},
	}, done.Entry.Changes)
	assert.Equal(t, []string{"fetch", "match"}, done.Entry.StepIDs)
	assert.Equal(t, workflow.PlanRevision([]byte(invoicePlan)), done.Entry.RevisionBefore)
	assert.Equal(t, done.Revision, done.Entry.RevisionAfter)
}

func TestStepsAreAddedWhereTheyBelong(t *testing.T) {
	t.Parallel()
	for name, place := range map[string]struct {
		at   workflow.Place
		want []string
	}{
		"at the end":        {workflow.Place{}, []string{"fetch", "match", "report", "new"}},
		"first":             {workflow.Place{First: true}, []string{"new", "fetch", "match", "report"}},
		"behind another":    {workflow.Place{After: "fetch"}, []string{"fetch", "new", "match", "report"}},
		"in front of one":   {workflow.Place{Before: "report"}, []string{"fetch", "match", "new", "report"}},
		"behind the last":   {workflow.Place{After: "report"}, []string{"fetch", "match", "report", "new"}},
		"before the first":  {workflow.Place{Before: "fetch"}, []string{"new", "fetch", "match", "report"}},
		"behind the second": {workflow.Place{After: "match"}, []string{"fetch", "match", "new", "report"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := planBench(t, invoicePlan)
			done := b.edited(t, func(e *workflow.PlanEditor) error {
				return e.AddStep(json.RawMessage(`{"id":"new","type":"regular"}`), place.at)
			})
			var plan struct{ Steps []struct{ ID string } }
			require.NoError(t, json.Unmarshal([]byte(b.read(t, workspace.PlanFile)), &plan))
			var ids []string
			for _, step := range plan.Steps {
				ids = append(ids, step.ID)
			}
			assert.Equal(t, place.want, ids)
			assert.Equal(t, []json.RawMessage{json.RawMessage(`{"id":"new","type":"regular"}`)}, done.Entry.AddedSteps)
		})
	}
}

func TestAPlanThatDoesNotExistIsMade(t *testing.T) {
	t.Parallel()
	b := planBench(t, "")
	b.edited(t, func(e *workflow.PlanEditor) error {
		return e.AddStep(json.RawMessage(`{"id":"a","type":"regular"}`), workflow.Place{})
	})
	assert.Equal(t, "{\n  \"steps\": [\n    {\n      \"id\": \"a\",\n      \"type\": \"regular\"\n    }\n  ]\n}\n", b.read(t, workspace.PlanFile))
}

func TestAnOrphanIsAddedPromotedAndDemoted(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular"}]}`)
	b.edited(t, func(e *workflow.PlanEditor) error { return e.AddOrphan(json.RawMessage(`{"id":"o","type":"regular"}`)) })
	b.edited(t, func(e *workflow.PlanEditor) error { return e.PromoteStep("o", workflow.Place{First: true}) })
	done := b.edited(t, func(e *workflow.PlanEditor) error { return e.DemoteStep("a") })
	assert.Equal(t, []workflow.PlanChange{
		{Field: "steps", Old: json.RawMessage(`["o","a"]`), New: json.RawMessage(`["o"]`)},
		{Field: "orphan_steps", Old: json.RawMessage(`[]`), New: json.RawMessage(`["a"]`)},
	}, done.Entry.Changes)
	program, found := workflow.Compile(&workflow.Source{Plan: []byte(b.read(t, workspace.PlanFile))}, nil)
	require.NoError(t, found.Err())
	assert.Equal(t, []string{"o"}, program.StepIDs())
}

func TestRenamingAStepTakesAllThatRefersToItAlong(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan, workspace.StepConfigFile, `{
  "steps": [
    {"id": "fetch", "agent_configs": {"execution_max_turns": 7, "description_reviewed": true}},
    {"id": "match", "agent_configs": {"description_reviewed": true, "prerequisite_rules": [{"depends_on_step": "fetch"}]}}
  ]
}
`)
	b.edited(t, set("report", "/next_step_id", `"end"`))
	done := b.edited(t, func(e *workflow.PlanEditor) error {
		return errors.Join(e.RenameStep("fetch", "download"), e.RenameStep("match", "pair"))
	})
	plan := b.read(t, workspace.PlanFile)
	assert.Contains(t, plan, `"download/raw.csv"`)
	assert.Contains(t, plan, `"orchestrator_ids": [
          "pair"`)
	assert.NotContains(t, plan, `"fetch`)
	config := b.read(t, workspace.StepConfigFile)
	assert.Contains(t, config, `"depends_on_step": "download"`)
	assert.NotContains(t, config, `"fetch"`)
	assert.NotContains(t, config, "false", "the steps do what they did, so their reviews stand")
	assert.Contains(t, done.Entry.Changes, workflow.PlanChange{Step: "download", Field: "id", Old: json.RawMessage(`"fetch"`), New: json.RawMessage(`"download"`)})
	assert.Contains(t, done.Entry.Changes, workflow.PlanChange{Step: "download", Field: "id", Old: json.RawMessage(`"fetch"`), New: json.RawMessage(`"download"`), File: workspace.StepConfigFile})
}

func TestTwoStepsCanSwapTheirIDs(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular","title":"first"},{"id":"b","type":"regular","context_dependencies":["a/x"]}]}`,
		workspace.StepConfigFile, `{"steps":[{"id":"a","title":"of the first"},{"id":"b","title":"of the second"}]}`)
	b.edited(t, func(e *workflow.PlanEditor) error {
		return errors.Join(e.RenameStep("a", "t"), e.RenameStep("b", "a"), e.RenameStep("t", "b"))
	})
	assert.JSONEq(t, `{"steps":[{"id":"b","type":"regular","title":"first"},{"id":"a","type":"regular","context_dependencies":["b/x"]}]}`, b.read(t, workspace.PlanFile))
	assert.JSONEq(t, `{"steps":[{"id":"b","title":"of the first"},{"id":"a","title":"of the second"}]}`, b.read(t, workspace.StepConfigFile))
}

func TestAnIDThatWasFreedDoesNotInheritFromTheFormerStep(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular","title":"old"},{"id":"b","type":"regular"}]}`,
		workspace.StepConfigFile, `{"steps":[{"id":"a","title":"of a"}]}`)
	done := b.edited(t, func(e *workflow.PlanEditor) error {
		return errors.Join(e.RemoveSteps("a"), e.RenameStep("b", "a"))
	})
	assert.JSONEq(t, `{"steps":[{"id":"a","type":"regular"}]}`, b.read(t, workspace.PlanFile))
	assert.JSONEq(t, `{"steps":[]}`, b.read(t, workspace.StepConfigFile))
	assert.Len(t, done.Entry.DeletedSteps, 1)
}

func TestRemovingAStepTakesItsConfigurationAlong(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan, workspace.StepConfigFile, `{"steps":[{"id":"report","title":"r"},{"id":"fetch"}]}`)
	done := b.edited(t, func(e *workflow.PlanEditor) error { return e.RemoveSteps("report") })
	assert.NotContains(t, b.read(t, workspace.PlanFile), "report")
	assert.NotContains(t, b.read(t, workspace.StepConfigFile), "report")
	assert.Equal(t, []json.RawMessage{json.RawMessage(`{"id":"report","type":"regular","context_dependencies":["matches.json"]}`)}, done.Entry.DeletedSteps)
	assert.Contains(t, done.Entry.Changes, workflow.PlanChange{Step: "report", Old: json.RawMessage(`{"id":"report","title":"r"}`), File: workspace.StepConfigFile})
}

func TestEditingAStepTakesBackItsReviewAndTheLockOfItsLearnings(t *testing.T) {
	t.Parallel()
	const config = `{"steps":[{"id":"fetch","agent_configs":{"description_reviewed":true,"lock_learnings":true,"lock_learnings_reason":"they are good","execution_max_turns":7}},{"id":"match","agent_configs":{"description_reviewed":true}}]}`
	b := planBench(t, invoicePlan, workspace.StepConfigFile, config)
	b.edited(t, set("fetch", "/title", `"Download"`))
	assert.Equal(t, config, b.read(t, workspace.StepConfigFile), "a title is for readers")
	done := b.edited(t, set("fetch", "/description", `"Download them all."`))
	assert.JSONEq(t, `{"steps":[{"id":"fetch","agent_configs":{"description_reviewed":false,"lock_learnings":false,"execution_max_turns":7}},{"id":"match","agent_configs":{"description_reviewed":true}}]}`,
		b.read(t, workspace.StepConfigFile))
	assert.Contains(t, done.Entry.Changes, workflow.PlanChange{
		Step: "fetch", Field: "agent_configs/lock_learnings_reason", Old: json.RawMessage(`"they are good"`), File: workspace.StepConfigFile,
	})
}

func TestRefusedEditsLeaveTheFilesUntouched(t *testing.T) {
	t.Parallel()
	step := json.RawMessage(`{"id":"fetch","type":"regular"}`)
	for name, refused := range map[string]struct {
		edit   func(*workflow.PlanEditor) error
		reason error
	}{
		"an id that is taken": {func(e *workflow.PlanEditor) error { return e.AddStep(step, workflow.Place{}) }, workflow.ErrStepExists},
		"no id":               {func(e *workflow.PlanEditor) error { return e.AddOrphan(json.RawMessage(`{"type":"regular"}`)) }, workflow.ErrStepID},
		"no object":           {func(e *workflow.PlanEditor) error { return e.AddOrphan(json.RawMessage(`[]`)) }, workflow.ErrNotObject},
		"no JSON":             {set("fetch", "/title", `{`), workflow.ErrNotJSON},
		"a step that is not there": {
			set("nobody", "/title", `"t"`), workflow.ErrStepNotFound,
		},
		"a place that is not there": {
			func(e *workflow.PlanEditor) error { return e.MoveStep("fetch", workflow.Place{After: "nobody"}) }, workflow.ErrStepNotFound,
		},
		"the id as a field": {set("fetch", "/id", `"x"`), workflow.ErrStepIDFixed},
		"a folder as an id": {func(e *workflow.PlanEditor) error { return e.RenameStep("fetch", "a/b") }, workflow.ErrStepID},
		"a step that others need": {
			func(e *workflow.PlanEditor) error { return e.RemoveSteps("fetch") }, workflow.ErrStepReferenced,
		},
		"no plan": {func(e *workflow.PlanEditor) error { return e.ReplacePlan(json.RawMessage(`[`)) }, workflow.ErrNotJSON},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := planBench(t, invoicePlan)
			_, err := b.edit(t, func(e *workflow.PlanEditor) error {
				return errors.Join(e.Set("match", "/title", json.RawMessage(`"made before"`)), refused.edit(e))
			})
			require.ErrorIs(t, err, refused.reason)
			var which *workflow.PlanEditError
			require.ErrorAs(t, err, &which)
			assert.Equal(t, map[string]string{"planning/plan.json": invoicePlan, workspace.PlanningLock: ""}, filesBelow(t, b.ws.Storage(), "planning"))
		})
	}
}

func TestAnEditThatBreaksThePlanIsRefusedWithWhatItBreaks(t *testing.T) {
	t.Parallel()
	for code, edit := range map[string]func(*workflow.PlanEditor) error{
		"plan.next.unknown":       set("fetch", "/next_step_id", `"nobody"`),
		"plan.dependency.unknown": set("fetch", "/context_dependencies", `["nothing.json"]`),
		"plan.step.type.unknown":  set("fetch", "/type", `"nothing"`),
		"plan.dependency.order":   func(e *workflow.PlanEditor) error { return e.MoveStep("fetch", workflow.Place{}) },
		"plan.steps.empty":        func(e *workflow.PlanEditor) error { return e.RemoveSteps("fetch", "match", "report", "check") },
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			b := planBench(t, invoicePlan)
			_, err := b.edit(t, edit)
			var found workspace.Diagnostics
			require.ErrorAs(t, err, &found)
			codes := map[string]bool{}
			for _, d := range found {
				codes[d.Code] = true
			}
			assert.Contains(t, codes, code)
			assert.Equal(t, invoicePlan, b.read(t, workspace.PlanFile))
		})
	}
}

func TestErrorsThatThePlanHasDoNotStandInTheWayOfOtherEdits(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular"},{"id":"b","type":"regular","context_dependencies":["nothing.json"]},{"id":"c","type":"crew"}]}`)
	b.edited(t, set("a", "/title", `"A"`))
	b.edited(t, func(e *workflow.PlanEditor) error { return e.MoveStep("b", workflow.Place{First: true}) })
	b.edited(t, func(e *workflow.PlanEditor) error { return e.RenameStep("b", "d") })
	b.edited(t, func(e *workflow.PlanEditor) error { return e.RemoveSteps("a") })
	assert.JSONEq(t, `{"steps":[{"id":"d","type":"regular","context_dependencies":["nothing.json"]},{"id":"c","type":"crew"}]}`, b.read(t, workspace.PlanFile))
}

func TestAPlanThatCannotBeReadCanOnlyBeReplaced(t *testing.T) {
	t.Parallel()
	for _, plan := range []string{"{", "[]", `{"steps":{}}`, `{"steps":[1]}`, ""} {
		b := planBench(t, "-")
		b.write(t, workspace.PlanFile, plan)
		_, err := b.edit(t, set("a", "/title", `"A"`))
		require.ErrorIs(t, err, workflow.ErrPlanUnreadable, plan)
		b.edited(t, func(e *workflow.PlanEditor) error {
			return e.ReplacePlan(json.RawMessage(`{"steps":[{"id":"a","type":"regular","x":1.0}]}`))
		})
		assert.Equal(t, "{\n  \"steps\": [\n    {\n      \"id\": \"a\",\n      \"type\": \"regular\",\n      \"x\": 1.0\n    }\n  ]\n}\n", b.read(t, workspace.PlanFile))
	}
}

func TestReplacingThePlanTellsKeptStepsFromNewOnes(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular","title":"A"},{"id":"b","type":"regular"}]}`)
	done := b.edited(t, func(e *workflow.PlanEditor) error {
		return e.ReplacePlan(json.RawMessage(`{"steps":[{"id":"c","type":"regular"},{"id":"a","type":"regular","title":"AA"}]}`))
	})
	assert.Equal(t, []workflow.PlanChange{
		{Step: "a", Field: "title", Old: json.RawMessage(`"A"`), New: json.RawMessage(`"AA"`)},
		{Field: "steps", Old: json.RawMessage(`["a","b"]`), New: json.RawMessage(`["c","a"]`)},
	}, done.Entry.Changes)
	assert.Len(t, done.Entry.AddedSteps, 1)
	assert.Len(t, done.Entry.DeletedSteps, 1)
}

func TestAnEditNeedsAReason(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan)
	for _, why := range []workflow.PlanEdit{{Tool: "t"}, {Reason: "r"}, {Tool: " ", Reason: "r"}} {
		_, err := workflow.EditPlan(t.Context(), b.ws, why, set("fetch", "/title", `"t"`))
		require.ErrorIs(t, err, workflow.ErrNoReason)
	}
}

func TestAnEditOfAnotherPlanThanTheOneSeenIsAConflict(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan)
	why := tidy()
	why.Revision = workflow.PlanRevision([]byte(invoicePlan))
	first, err := workflow.EditPlan(t.Context(), b.ws, why, set("fetch", "/title", `"one"`))
	require.NoError(t, err)
	_, err = workflow.EditPlan(t.Context(), b.ws, why, set("fetch", "/title", `"two"`))
	require.ErrorIs(t, err, workflow.ErrPlanConflict)
	var conflict *workflow.PlanConflictError
	require.ErrorAs(t, err, &conflict)
	assert.Equal(t, first.Revision, conflict.Found)
	why.Revision = conflict.Found
	_, err = workflow.EditPlan(t.Context(), b.ws, why, set("fetch", "/title", `"two"`))
	require.NoError(t, err)
}

func TestAnEditThatChangesNothingWritesNothing(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan)
	done := b.edited(t, func(e *workflow.PlanEditor) error {
		return errors.Join(
			e.Set("fetch", "/description", json.RawMessage(`"\u0046etch them."`)),
			e.MoveStep("fetch", workflow.Place{Before: "match"}),
			e.RenameStep("fetch", "x"), e.RenameStep("x", "fetch"),
			e.Unset("fetch", "/nothing"),
		)
	})
	assert.Nil(t, done.Entry)
	assert.Equal(t, map[string]string{"planning/plan.json": invoicePlan, workspace.PlanningLock: ""}, filesBelow(t, b.ws.Storage(), "planning"))
}

func TestAStepInARouteOfAnotherIsEditedInItsPlace(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"boss","type":"todo_task","predefined_routes":[{"route_id":"r","sub_agent_step":{"id":"worker","description":"work"}},{"orphan_step_ref":"tool"}]}],
		"orphan_steps":[{"id":"tool","type":"regular"}]}`,
		workspace.StepConfigFile, `{"steps":[{"id":"worker","agent_configs":{"description_reviewed":true}}]}`)
	b.edited(t, set("worker", "/description", `"work harder"`))
	assert.Contains(t, b.read(t, workspace.StepConfigFile), `"description_reviewed": false`)
	b.edited(t, func(e *workflow.PlanEditor) error {
		return errors.Join(e.RenameStep("worker", "hand"), e.RenameStep("tool", "hammer"))
	})
	assert.JSONEq(t, `{"steps":[{"id":"boss","type":"todo_task","predefined_routes":[{"route_id":"r","sub_agent_step":{"id":"hand","description":"work harder"}},{"orphan_step_ref":"hammer"}]}],
		"orphan_steps":[{"id":"hammer","type":"regular"}]}`, b.read(t, workspace.PlanFile))
	assert.Contains(t, b.read(t, workspace.StepConfigFile), `"hand"`)
	_, err := b.edit(t, set("boss", "/predefined_routes/0/sub_agent_step/id", `"x"`))
	require.ErrorIs(t, err, workflow.ErrStepIDFixed)
	_, err = b.edit(t, func(e *workflow.PlanEditor) error { return e.RemoveSteps("hand") })
	require.ErrorIs(t, err, workflow.ErrStepNested)
	_, err = b.edit(t, func(e *workflow.PlanEditor) error { return e.RemoveSteps("hammer") })
	require.ErrorIs(t, err, workflow.ErrStepReferenced)
}

func TestAnEditNamesWhatHangsOnTheStep(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan,
		"learnings/fetch/main.py", "print()", "learnings/_global/SKILL.md", "how",
		"db/db.sqlite", "rows", "db/reports/index.html", "<html>", "knowledgebase/notes/x.md", "known",
		workspace.EvaluationPlanFile, `{"steps":[{"id":"judge","applies_to_routes":[{"routing_step_id":"fetch"}]}]}`)
	done := b.edited(t, func(e *workflow.PlanEditor) error {
		return errors.Join(e.SetValidationSchema("fetch", json.RawMessage(`{"files":[{"file_name":"invoices.json","must_exist":true}]}`)),
			e.Set("fetch", "/description", json.RawMessage(`"Fetch all."`)))
	})
	var got []string
	for _, d := range done.Dependents {
		got = append(got, string(d.Kind)+" "+d.Path+d.Pointer)
	}
	assert.Equal(t, []string{
		"validation planning/plan.json/steps/0/validation_schema",
		"learnings learnings/fetch", "script learnings/fetch/main.py",
		"downstream planning/plan.json/steps/1/context_dependencies/1",
		"learnings learnings/_global/SKILL.md", "db db", "report db/reports/index.html", "knowledgebase knowledgebase",
		"evaluation evaluation/evaluation_plan.json",
	}, got)
	renamed := b.edited(t, func(e *workflow.PlanEditor) error { return e.RenameStep("fetch", "load") })
	assert.Equal(t, "learnings/fetch", renamed.Dependents[1].Path, "what was learned does not move")
}

func BenchmarkEditPlan(b *testing.B) {
	steps := make([]json.RawMessage, 500)
	for i := range steps {
		steps[i] = fmt.Appendf(nil, `{"id":"s%d","type":"regular","description":"Do the work of step %d.","context_output":"o%d.json"}`, i, i, i)
	}
	plan, err := json.Marshal(map[string]any{"steps": steps})
	require.NoError(b, err)
	bench := planBench(b, string(plan))
	n := 0
	for b.Loop() {
		n++
		_, err := bench.edit(b, set("s250", "/title", fmt.Sprintf(`"title %d"`, n)))
		require.NoError(b, err)
		require.NoError(b, bench.ws.Storage().Remove(b.Context(), workspace.ChangelogDir))
	}
}
