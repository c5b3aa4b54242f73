package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/crashtest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

const crashConfig = `{"steps":[{"id":"fetch","agent_configs":{"execution_max_turns":7}},{"id":"report","agent_configs":{"execution_max_turns":9}}]}`

// renameAndMore is an edit that touches every file, and that can be made again.
func renameAndMore(e *workflow.PlanEditor) error {
	if e.Step("load") != nil {
		return nil
	}
	return errors.Join(
		e.RenameStep("fetch", "load"), e.Set("load", "/description", json.RawMessage(`"Load them."`)),
		e.RemoveSteps("report"), e.AddOrphan(json.RawMessage(`{"id":"spare","type":"regular"}`)),
	)
}

func prepareCrash(ctx context.Context, st workspace.Storage) error {
	return errors.Join(
		st.WriteFile(ctx, workspace.PlanFile, []byte(invoicePlan), workspace.Durable),
		st.WriteFile(ctx, workspace.StepConfigFile, []byte(crashConfig), workspace.Durable),
	)
}

// checkPair says whether a plan is the old or the new one, with what belongs to it.
func checkPair(ctx context.Context, st workspace.Storage) error {
	src, err := workflow.LoadSource(ctx, workspace.New(st), "")
	if err != nil {
		return err
	}
	program, found := workflow.Compile(src, nil)
	if err := found.Err(); err != nil {
		return err
	}
	wanted := []string{"fetch", "report"}
	if program.Step("fetch") == nil {
		wanted = []string{"load"}
	}
	var config struct{ Steps []struct{ ID string } }
	if err := json.Unmarshal(src.StepConfig, &config); err != nil {
		return err
	}
	has := map[string]bool{}
	for _, step := range config.Steps {
		has[step.ID] = true
	}
	for _, id := range wanted {
		if !has[id] {
			return fmt.Errorf("step %q has lost its configuration: %s", id, src.StepConfig)
		}
	}
	return nil
}

func TestAnEditThatIsStoppedAnywhereLeavesOnePlanAndLosesNothing(t *testing.T) {
	t.Parallel()
	cuts := crashtest.EveryCut(t, crashtest.Work{
		Prepare: prepareCrash,
		Run: func(ctx context.Context, st workspace.Storage) error {
			if err := checkPair(ctx, st); err != nil && !errors.Is(err, workspacetest.ErrStopped) {
				return err
			}
			_, err := workflow.EditPlan(ctx, workspace.New(st), tidy(), renameAndMore)
			return err
		},
		Begin: func() {},
		Check: func(tb testing.TB, st workspace.Storage) {
			tb.Helper()
			b := &bench{ws: workspace.New(st)}
			require.NoError(tb, checkPair(tb.Context(), st))
			assert.Contains(tb, b.read(tb, workspace.PlanFile), "Load them.")
			assert.NotContains(tb, b.read(tb, workspace.StepConfigFile), "fetch")
			assert.NotContains(tb, b.read(tb, workspace.StepConfigFile), "report")
			entries, found := b.log(tb, nil)
			assert.Empty(tb, found)
			require.Len(tb, entries, 1)
			assert.Equal(tb, tidy().Tool, entries[0].Tool)
			assert.Equal(tb, treeOf(tb, b.read(tb, workspace.PlanFile)), replay(tb, invoicePlan, entries))
		},
	}, 2)
	assert.GreaterOrEqual(t, cuts, 10)
}

func TestAStorageThatFailsAnywhereLosesNoChange(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		for _, when := range []workspacetest.When{workspacetest.Before, workspacetest.After} {
			st := workspace.NewMem()
			require.NoError(t, prepareCrash(t.Context(), st))
			faulty := workspacetest.NewFaulty(st, workspacetest.Fault{At: at, When: when})
			done, err := workflow.EditPlan(t.Context(), workspace.New(faulty.Storage()), tidy(), renameAndMore)
			op, struck := faulty.Struck()
			if !struck {
				require.Greater(t, at, 5)
				return
			}
			b := &bench{ws: workspace.New(st)}
			require.NoError(t, checkPair(t.Context(), st), op)
			if err == nil {
				assert.Contains(t, b.read(t, workspace.PlanFile), "Load them.", op)
				require.ErrorIs(t, done.LogError, workspacetest.ErrInjected)
			}
			b.at(t, noon.Add(time.Minute), "next", renameAndMore)
			b.at(t, noon.Add(2*time.Minute), "last", set("load", "/title", `"last"`))
			entries, _ := b.log(t, nil)
			assert.Equal(t, treeOf(t, b.read(t, workspace.PlanFile)), replay(t, invoicePlan, entries), "%v %v", op, when)
			assert.NotContains(t, b.read(t, workspace.StepConfigFile), "report", "%v %v", op, when)
		}
	}
}

func TestEditorsAtOnceLoseNothing(t *testing.T) {
	t.Parallel()
	mem, folder := workspace.NewMem(), t.TempDir()
	for name, open := range map[string]func() (*workspace.Workspace, error){
		"in memory": func() (*workspace.Workspace, error) { return workspace.New(mem), nil },
		"on disk":   func() (*workspace.Workspace, error) { return workspace.OpenDir(folder) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws, err := open()
			require.NoError(t, err)
			b := &bench{ws: ws}
			t.Cleanup(func() { assert.NoError(t, ws.Close()) })
			b.write(t, workspace.PlanFile, `{"steps":[{"id":"start","type":"regular"}]}`)
			var group sync.WaitGroup
			for i := range 4 {
				group.Go(func() {
					own, err := open()
					if !assert.NoError(t, err) {
						return
					}
					defer own.Close()
					for k := range 3 {
						step := fmt.Sprintf(`{"id":"s-%d-%d","type":"regular"}`, i, k)
						why := tidy()
						why.Now = nil
						_, err := workflow.EditPlan(t.Context(), own, why, func(e *workflow.PlanEditor) error {
							return e.AddStep(json.RawMessage(step), workflow.Place{})
						})
						assert.NoError(t, err)
					}
				})
			}
			group.Wait()
			program, found := workflow.Compile(&workflow.Source{Plan: []byte(b.read(t, workspace.PlanFile))}, nil)
			require.NoError(t, found.Err())
			assert.Len(t, program.StepIDs(), 13)
			entries, _ := b.log(t, nil)
			assert.Len(t, entries, 12)
		})
	}
}

func TestOfTwoEditorsWithOneRevisionOneHasAConflict(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan)
	why := tidy()
	why.Revision = workflow.PlanRevision([]byte(invoicePlan))
	results := make([]error, 2)
	var group sync.WaitGroup
	for i := range results {
		group.Go(func() {
			_, results[i] = workflow.EditPlan(t.Context(), b.ws, why, set("fetch", "/title", fmt.Sprintf(`"title %d"`, i)))
		})
	}
	group.Wait()
	winner := 0
	if results[0] != nil {
		winner = 1
	}
	require.NoError(t, results[winner])
	require.ErrorIs(t, results[1-winner], workflow.ErrPlanConflict)
	assert.Contains(t, b.read(t, workspace.PlanFile), fmt.Sprintf("title %d", winner))
}

func TestAnInterruptedEditAndAChangeByHandAreLoggedTogether(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	require.NoError(t, prepareCrash(t.Context(), st))
	// The process dies once it has written the plan.
	for at := 1; ; at++ {
		faulty := workspacetest.NewFaulty(st, workspacetest.Fault{At: at, When: workspacetest.After, Stop: true})
		_, _ = workflow.EditPlan(t.Context(), workspace.New(faulty.Storage()), tidy(), renameAndMore)
		if op, struck := faulty.Struck(); struck && op.Name == workspace.PlanFile {
			break
		}
		require.NoError(t, prepareCrash(t.Context(), st))
		require.NoError(t, st.Remove(t.Context(), workspace.ChangelogDir))
	}
	b := &bench{ws: workspace.New(st)}
	b.write(t, workspace.PlanFile, `{"steps":[{"id":"load","type":"regular","title":"by hand"}]}`)
	done := b.edited(t, set("load", "/title", `"last"`))
	require.NotNil(t, done.Outside)
	assert.Contains(t, done.Outside.Reason, "tidy up")
	entries, _ := b.log(t, nil)
	assert.Equal(t, treeOf(t, b.read(t, workspace.PlanFile)), replay(t, invoicePlan, entries))
}
