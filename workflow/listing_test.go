package workflow_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

const oneStepPlan = `{"steps":[{"id":"only","type":"regular","title":"Only","description":"Say done."}]}`

// noopBench is a workspace with a plan that needs no model.
func noopBench(t testing.TB, st workspace.Storage) *bench {
	t.Helper()
	ctl, err := workflow.NewController(workflow.Config{StepTypes: []*workflow.StepType{noopType()}})
	require.NoError(t, err)
	b := &bench{ws: workspace.New(st), ctl: ctl}
	b.write(t, workspace.PlanFile, string(chain(2, "noop")))
	return b
}

// killedAt runs a plan of one step and returns the files as they are when the
// model is asked for the nth time: what a process leaves that is killed then.
// Meanwhile looks at the live workspace at that moment.
func killedAt(t *testing.T, n int, meanwhile func(*bench)) *bench {
	t.Helper()
	left := workspace.NewMem()
	var b *bench
	asked := 0
	model := agenttest.New(t)
	model.Respond = func(context.Context, *agent.Request) (*agent.Response, error) {
		if asked++; asked == n {
			for name, content := range filesBelow(t, b.ws.Storage(), ".") {
				assert.NoError(t, left.WriteFile(t.Context(), name, []byte(content), workspace.Lazy))
			}
			if meanwhile != nil {
				meanwhile(b)
			}
		}
		turn := agenttest.Reply("done")
		if asked < n {
			turn = writes("aside.txt", "x")
		}
		turn.Response.Usage = agent.Usage{Input: new(int64(10)), Output: new(int64(1))}
		return &turn.Response, nil
	}
	b = setup(t, workflow.Config{Models: agent.Single(model), Model: "m", Toolsets: []agent.Toolset{agenttest.Files()}}, oneStepPlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	return &bench{ws: workspace.New(left), ctl: b.ctl}
}

func TestRunsAreListedInTheOrderOfTheirNumbers(t *testing.T) {
	t.Parallel()
	b := noopBench(t, workspace.NewMem())
	for range 11 {
		_, err := b.ctl.Run(t.Context(), b.ws, nil)
		require.NoError(t, err)
	}
	b.write(t, "runs/iteration-12/run.lock", "")
	b.write(t, "runs/notes/readme.md", "not a run")

	runs, err := workflow.Runs(t.Context(), b.ws)
	require.NoError(t, err)
	require.Len(t, runs, 11)
	for i, run := range runs {
		assert.Equal(t, workspace.IterationDir(i+1), run.RunFolder)
		assert.Equal(t, workflow.StatusCompleted, run.Status)
		assert.Equal(t, 2, run.Steps)
		assert.Equal(t, 2, run.StepsCompleted)
		assert.False(t, run.Resumable())
	}
}

func TestAWorkspaceWithoutRunsListsNone(t *testing.T) {
	t.Parallel()
	runs, err := workflow.Runs(t.Context(), workspace.New(workspace.NewMem()))
	require.NoError(t, err)
	assert.Empty(t, runs)
}

func TestRunsThatHaveEndedAreListedWithoutTheirJournals(t *testing.T) {
	t.Parallel()
	counting := workspacetest.NewCounting(workspace.NewMem())
	b := noopBench(t, counting.Storage())
	for range 5 {
		_, err := b.ctl.Run(t.Context(), b.ws, nil)
		require.NoError(t, err)
	}
	counting.Reset()
	_, err := workflow.Runs(t.Context(), b.ws)
	require.NoError(t, err)
	assert.Equal(t, 5, counting.Count(workspacetest.ReadFile), "the metadata of each run and no more")
	assert.Zero(t, counting.Count(workspacetest.TryLock))
	assert.Zero(t, counting.Changes())
}

func TestTheJournalTellsWhereTheMetadataCannot(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*testing.T, *bench, string){
		"missing": func(t *testing.T, b *bench, file string) {
			require.NoError(t, b.ws.Storage().Remove(t.Context(), file))
		},
		"damaged": func(t *testing.T, b *bench, file string) { b.write(t, file, `{"run_id":`) },
		"empty":   func(t *testing.T, b *bench, file string) { b.write(t, file, ``) },
		"still running": func(t *testing.T, b *bench, file string) {
			b.write(t, file, strings.Replace(b.read(t, file), `"completed"`, `"running"`, 1))
		},
		"older": func(t *testing.T, b *bench, file string) {
			b.write(t, file, strings.Replace(b.read(t, file), `"completed"`, `"failed"`, 1))
			journal := workspace.RunLayout("iteration-1").Journal()
			b.write(t, journal, b.read(t, journal))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := noopBench(t, workspace.NewMem())
			result, err := b.ctl.Run(t.Context(), b.ws, nil)
			require.NoError(t, err)
			before, err := workflow.RunStatus(t.Context(), b.ws, "iteration-1")
			require.NoError(t, err)

			spoil(t, b, workspace.RunLayout("iteration-1").Metadata())
			run, err := workflow.RunStatus(t.Context(), b.ws, "iteration-1")
			require.NoError(t, err)
			assert.Equal(t, workflow.StatusCompleted, run.Status)
			assert.Equal(t, result.RunID, run.RunID)
			assert.Equal(t, 2, run.StepsCompleted)
			assert.Equal(t, "step-2", run.LastCompleted)
			assert.Equal(t, before.Revision, run.Revision)
			assert.NotNil(t, run.CompletedAt)
			assert.Empty(t, run.Problem)
		})
	}
}

func TestARunIsRunningWhileItIsHeldAndInterruptedAfterwards(t *testing.T) {
	t.Parallel()
	killed := killedAt(t, 2, func(live *bench) {
		run, err := workflow.RunStatus(t.Context(), live.ws, "iteration-1")
		if assert.NoError(t, err) {
			assert.Equal(t, workflow.StatusRunning, run.Status)
			assert.NotEmpty(t, run.Holder)
			assert.False(t, run.Resumable())
		}
	})
	for range 2 { // looking changes nothing
		run, err := workflow.RunStatus(t.Context(), killed.ws, "iteration-1")
		require.NoError(t, err)
		assert.Equal(t, workflow.StatusInterrupted, run.Status)
		assert.Empty(t, run.Holder)
		assert.True(t, run.Resumable())
		assert.Equal(t, "only", run.NextStep)
		assert.Equal(t, int64(1), run.Totals.Calls)
		assert.Equal(t, 1, run.Steps)
		assert.Zero(t, run.StepsCompleted)
	}
}

func TestWhereTheLockCannotBeTriedTheRunSaysSo(t *testing.T) {
	t.Parallel()
	killed := killedAt(t, 2, nil)
	runs, err := workflow.Runs(t.Context(), workspace.New(readOnly{killed.ws.Storage()}))
	require.NoError(t, err)
	require.Len(t, runs, 1)
	assert.Equal(t, workflow.StatusRunning, runs[0].Status)
	assert.Contains(t, runs[0].Problem, "run.lock")
}

// readOnly is a storage whose files cannot be changed, nor locked.
type readOnly struct{ workspace.Storage }

func (readOnly) TryLock(_ context.Context, name, _ string) (workspace.Lock, error) {
	return nil, &fs.PathError{Op: "lock", Path: name, Err: fs.ErrPermission}
}

func TestAFailedRunIsToldByItsJournalToo(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t, agenttest.Turn{Err: fmt.Errorf("no such luck")}), oneStepPlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.Error(t, err)
	require.NoError(t, b.ws.Storage().Remove(t.Context(), workspace.RunLayout("iteration-1").Metadata()))
	run, err := workflow.RunStatus(t.Context(), b.ws, "iteration-1")
	require.NoError(t, err)
	assert.Equal(t, workflow.StatusFailed, run.Status)
	assert.Contains(t, run.Error, "no such luck")
	assert.Equal(t, "only", run.NextStep)
	assert.True(t, run.Resumable())
}

func TestADamagedRunIsListedWithItsProblem(t *testing.T) {
	t.Parallel()
	b := noopBench(t, workspace.NewMem())
	for range 2 {
		_, err := b.ctl.Run(t.Context(), b.ws, nil)
		require.NoError(t, err)
	}
	journal := workspace.RunLayout("iteration-1").Journal()
	lines := strings.SplitAfter(b.read(t, journal), "\n")
	lines[len(lines)-2] = "{}\n"
	b.write(t, journal, strings.Join(lines, ""))

	runs, err := workflow.Runs(t.Context(), b.ws)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	assert.Contains(t, runs[0].Problem, journal)
	assert.False(t, runs[0].Resumable(), "a damaged journal cannot be resumed")
	assert.Equal(t, 2, runs[0].StepsCompleted, "what comes before the damage counts")
	assert.Empty(t, runs[1].Problem)
}

func TestARunThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	ws := workspace.New(workspace.NewMem())
	_, err := workflow.RunStatus(t.Context(), ws, "iteration-1")
	require.ErrorIs(t, err, workflow.ErrRunNotFound)
	_, err = workflow.RunStatus(t.Context(), ws, "../elsewhere")
	require.ErrorIs(t, err, workflow.ErrRunName)
	for _, err := range workflow.RecordedEvents(t.Context(), ws, "iteration-1", workflow.FromStart) {
		require.ErrorIs(t, err, workflow.ErrRunNotFound)
	}
}

func TestRunFoldersCompareByNumber(t *testing.T) {
	t.Parallel()
	sorted := []string{"iteration-0", "iteration-2", "iteration-10", "iteration-10/a", "iteration-10/b", "iteration-11", "elsewhere", "iteration-x"}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, workflow.CompareRunFolders)
	assert.Equal(t, sorted, shuffled)
}

func TestRecordedEventsAreThoseOfTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(
		t,
		agenttest.Call("no_such_tool", map[string]string{}), agenttest.Reply("done"),
		writes("out.txt", "x"), agenttest.Reply("mended"),
	), `{"steps":[{"id":"only","type":"regular","title":"Only","description":"x","context_output":"out.txt"}]}`)
	run, err := b.ctl.Start(t.Context(), b.ws, nil)
	require.NoError(t, err)
	tell := func(ev workflow.RunEvent) string {
		return fmt.Sprint(ev.Kind, " ", ev.RunID, " ", ev.Step, " ", ev.Visit, " ", ev.Attempt, " ", ev.Turn, " ", ev.Tool, " ", ev.Model, " ", ev.Status, " ", ev.Error)
	}
	var told, recorded []string
	for ev, err := range run.Events(t.Context(), workflow.FromStart) {
		require.NoError(t, err)
		told = append(told, tell(ev))
	}
	var seqs []int64
	for ev, err := range workflow.RecordedEvents(t.Context(), b.ws, run.Folder(), workflow.FromStart) {
		require.NoError(t, err)
		recorded, seqs = append(recorded, tell(ev)), append(seqs, ev.Seq)
	}
	assert.Equal(t, told, recorded)

	var after []string
	for ev, err := range workflow.RecordedEvents(t.Context(), b.ws, run.Folder(), seqs[2]) {
		require.NoError(t, err)
		after = append(after, tell(ev))
	}
	assert.Equal(t, recorded[3:], after)
	for range workflow.RecordedEvents(t.Context(), b.ws, run.Folder(), workflow.FromStart) {
		break // leaving early is safe
	}
}

func TestCostsCountTheCallsThatOnlyAJournalKnows(t *testing.T) {
	t.Parallel()
	b := killedAt(t, 3, nil)
	counting := workspacetest.NewCounting(b.ws.Storage())
	summary, err := workflow.Costs(t.Context(), workspace.New(counting.Storage()), nil)
	require.NoError(t, err)
	assert.Zero(t, counting.Changes())
	total := summary.Total()
	assert.Equal(t, int64(2), total.Calls)
	assert.Equal(t, int64(22), total.Tokens())
	assert.Nil(t, total.Cost.Total)

	prices := &costs.Prices{Version: "1", Models: []costs.ModelPrice{{Model: "m", Input: new(costs.Dollars(1)), Output: new(costs.Dollars(1))}}}
	summary, err = workflow.Costs(t.Context(), b.ws, &workflow.CostsOptions{Prices: prices, Filter: costs.Filter{RunFolder: "iteration-1"}})
	require.NoError(t, err)
	require.NotNil(t, summary.Total().Cost.Total)
	assert.Equal(t, "0.000022", summary.Total().Cost.Total.String())
	summary, err = workflow.Costs(t.Context(), b.ws, &workflow.CostsOptions{Filter: costs.Filter{RunFolder: "iteration-2"}})
	require.NoError(t, err)
	assert.Zero(t, summary.Total().Calls)
}

func TestCostsNameDamagedFilesAndCountTheRest(t *testing.T) {
	t.Parallel()
	b := killedAt(t, 2, nil)
	b.write(t, workspace.DailyCosts(costs.ScopeExecution, "", "2001-01-01"), "{")
	summary, err := workflow.Costs(t.Context(), b.ws, nil)
	require.ErrorIs(t, err, costs.ErrDamaged)
	assert.Equal(t, int64(1), summary.Total().Calls)
}

func TestCostsOfACompleteLedgerReadNoJournal(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t, agenttest.Reply("done")), oneStepPlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	counting := workspacetest.NewCounting(b.ws.Storage())
	summary, err := workflow.Costs(t.Context(), workspace.New(counting.Storage()), nil)
	require.NoError(t, err)
	assert.Equal(t, int64(1), summary.Total().Calls)
	assert.Zero(t, counting.CountOf(workspacetest.ReadFile, workspace.RunLayout("iteration-1").Journal()))
}

func TestPreflightFindsServersThatFailAndToolsThatAreNotThere(t *testing.T) {
	t.Parallel()
	closed := 0
	good := &agenttest.Toolset{ID: "good", Tools: []agent.Tool{&agenttest.Tool{Name: "weave"}}, OnClose: func() { closed++ }}
	config := workflow.Config{Toolsets: []agent.Toolset{good, failingToolset{}}, Secrets: map[string]string{"TOKEN": "s3cr3t"}}
	plan := `{"steps":[{"id":"a","type":"regular","title":"A","description":"x"},{"id":"b","type":"regular","title":"B","description":"x"}]}`
	b := setup(
		t, config, plan, workspace.StepConfigFile, `{"steps":[{"id":"a","agent_configs":{"selected_tools":["good:weave","good:spin"]}},
		{"id":"b","agent_configs":{"selected_servers":["NO_SERVERS"]}}]}`,
	)
	program, ds, err := b.ctl.Compile(t.Context(), b.ws, nil)
	require.NoError(t, err)
	require.NoError(t, ds.Err())
	assert.Empty(t, b.ctl.CheckSelections(program))
	ds = b.ctl.Preflight(t.Context(), b.ws, program)
	require.Len(t, ds, 2)
	assert.Equal(t, "preflight.tool.unknown", ds[0].Code)
	assert.Contains(t, ds[0].Message, `"spin"`)
	assert.Equal(t, "/steps/0/agent_configs", ds[0].Pointer)
	assert.Equal(t, "preflight.server.failed", ds[1].Code)
	assert.NotContains(t, ds[1].Message, "s3cr3t")
	assert.Equal(t, 1, closed)
}

type failingToolset struct{}

func (failingToolset) Name() string { return "failing" }

func (failingToolset) Open(context.Context, agent.Scope) (agent.ToolSession, error) {
	return nil, fmt.Errorf("token s3cr3t was not accepted: %w", fs.ErrPermission)
}

// BenchmarkRuns lists a workspace on disk with many runs that have ended.
func BenchmarkRuns(b *testing.B) {
	dir, err := workspace.NewDir(b.TempDir())
	require.NoError(b, err)
	bench := noopBench(b, dir)
	defer bench.ws.Close()
	_, err = bench.ctl.Run(b.Context(), bench.ws, nil)
	require.NoError(b, err)
	const runs = 1000
	files := filesBelow(b, dir, "runs/iteration-1")
	for n := 2; n <= runs; n++ {
		for name, content := range files {
			bench.write(b, strings.Replace(name, "iteration-1", workspace.IterationDir(n), 1), content)
		}
	}
	for b.Loop() {
		listed, err := workflow.Runs(b.Context(), bench.ws)
		require.NoError(b, err)
		require.Len(b, listed, runs)
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*runs), "µs/run")
}
