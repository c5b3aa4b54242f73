package workflow_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

const (
	cityPlan   = `{"steps":[{"id":"one","type":"regular","description":"Tell about {{CITY}}."}]}`
	cityGroups = `{"variables":[{"name":"CITY","value":"Rome"}],"groups":[{"name":"North","values":{"CITY":"Oslo"}},{"name":"South"},{"name":"East","enabled":false}]}`
)

// asked collects what the model is asked, by the last line that tells about a city.
type asked struct {
	mu    sync.Mutex
	texts []string
	fail  error
}

func (a *asked) model() *agenttest.Model {
	return &agenttest.Model{Respond: func(_ context.Context, req *agent.Request) (*agent.Response, error) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.texts = append(a.texts, req.Messages[1].ContentText())
		if a.fail != nil {
			return nil, a.fail
		}
		response := agenttest.Reply("ok").Response
		return &response, nil
	}}
}

// grouped is a workspace with groups.
func grouped(t testing.TB) (*bench, *asked) {
	t.Helper()
	a := &asked{}
	b := setup(t, workflow.Config{Models: agent.Single(a.model())}, cityPlan, workspace.VariablesFile, cityGroups)
	return b, a
}

func group(name string) *workflow.RunOptions { return &workflow.RunOptions{Group: name} }

func TestARunOfAGroupHasItsValuesAndItsFolder(t *testing.T) {
	t.Parallel()
	b, a := grouped(t)
	result, err := b.ctl.Run(t.Context(), b.ws, group("North"))
	require.NoError(t, err)
	assert.Equal(t, "iteration-1/north", result.Folder)
	assert.Equal(t, "North", result.Group)
	result, err = b.ctl.Run(t.Context(), b.ws, group("south"))
	require.NoError(t, err)
	assert.Equal(t, "iteration-2/south", result.Folder, "a full run takes a fresh iteration")
	result, err = b.ctl.Run(t.Context(), b.ws, &workflow.RunOptions{Group: "East", Variables: workflow.Variables{"CITY": "Riga"}})
	require.NoError(t, err, "a group that is not enabled is run by its name")
	assert.Equal(t, "iteration-3/east", result.Folder)
	require.Len(t, a.texts, 3)
	for i, city := range []string{"Oslo", "Rome", "Riga"} {
		assert.Contains(t, a.texts[i], "about "+city+".")
	}
}

func TestAWorkflowWithGroupsIsNotRunWithoutOne(t *testing.T) {
	t.Parallel()
	b, _ := grouped(t)
	for name, code := range map[string]string{"": "variables.group.required", "West": "variables.group.unknown"} {
		_, err := b.ctl.Run(t.Context(), b.ws, group(name))
		var ds workspace.Diagnostics
		require.ErrorAs(t, err, &ds)
		require.Len(t, ds, 1)
		assert.Equal(t, code, ds[0].Code)
		assert.Contains(t, ds[0].Hint, "North, South, East")
	}
	_, err := b.ws.Storage().Stat(t.Context(), workspace.RunsDir)
	require.Error(t, err, "nothing was made")
	program, ds, err := b.ctl.Compile(t.Context(), b.ws, nil)
	require.NoError(t, err)
	require.Empty(t, ds, "to look at the files needs no group")
	_, err = b.ctl.Run(t.Context(), b.ws, &workflow.RunOptions{Program: program})
	require.ErrorContains(t, err, "variables.group.required")
}

func TestAResumedRunKeepsItsGroupAndItsValues(t *testing.T) {
	t.Parallel()
	b, a := grouped(t)
	a.fail = fmt.Errorf("down")
	_, err := b.ctl.Run(t.Context(), b.ws, group("North"))
	require.ErrorContains(t, err, "down")
	_, err = b.ctl.Run(t.Context(), b.ws, &workflow.RunOptions{Run: "iteration-1/north", Group: "South"})
	require.ErrorContains(t, err, "not when it is resumed")
	a.fail = nil
	b.write(t, workspace.VariablesFile, `{"variables":[{"name":"CITY"}],"groups":[{"name":"West"}]}`)
	result, err := b.ctl.Run(t.Context(), b.ws, resume("iteration-1/north"))
	require.NoError(t, err, "what the run was started with is recorded")
	assert.Equal(t, "North", result.Group)
	assert.Contains(t, a.texts[len(a.texts)-1], "about Oslo.")
}

func TestAProgramThatIsCompiledOnceIsRunForAnyGroup(t *testing.T) {
	t.Parallel()
	b, a := grouped(t)
	program, _, err := b.ctl.Compile(t.Context(), b.ws, nil)
	require.NoError(t, err)
	for _, name := range []string{"North", "South"} {
		_, err := b.ctl.Run(t.Context(), b.ws, &workflow.RunOptions{Group: name, Program: program})
		require.NoError(t, err)
	}
	assert.Contains(t, a.texts[0], "about Oslo.")
	assert.Contains(t, a.texts[1], "about Rome.")
	program, _, err = b.ctl.Compile(t.Context(), b.ws, group("North"))
	require.NoError(t, err)
	result, err := b.ctl.Run(t.Context(), b.ws, &workflow.RunOptions{Program: program})
	require.NoError(t, err)
	assert.Equal(t, "North", result.Group, "it was compiled for it")
}

func TestValuesThatSpoilAPlanAreRefusedWhenTheRunStarts(t *testing.T) {
	t.Parallel()
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{noopType()}}, `{"steps":[{"id":"a","type":"noop","context_output":"{{A}}.json"}]}`,
		workspace.VariablesFile, `{"variables":[{"name":"A","value":"a"}]}`)
	program, _, err := b.ctl.Compile(t.Context(), b.ws, nil)
	require.NoError(t, err)
	_, err = b.ctl.Run(t.Context(), b.ws, &workflow.RunOptions{Program: program, Variables: workflow.Variables{"A": "../../x"}})
	require.ErrorContains(t, err, "no name of a file")
}

func TestRunsOfGroupsAreListedAndTold(t *testing.T) {
	t.Parallel()
	b, _ := grouped(t)
	for _, name := range []string{"South", "North"} {
		_, err := b.ctl.Run(t.Context(), b.ws, group(name))
		require.NoError(t, err)
	}
	b.write(t, "runs/iteration-2/planning/step_config.json", "{}")
	b.write(t, "runs/iteration-2/west/run.lock", "")
	runs, err := workflow.Runs(t.Context(), b.ws)
	require.NoError(t, err)
	require.Len(t, runs, 2)
	assert.Equal(t, []string{"iteration-1/south", "iteration-2/north"}, []string{runs[0].RunFolder, runs[1].RunFolder})
	assert.Equal(t, "North", runs[1].Group)

	require.NoError(t, b.ws.Storage().Remove(t.Context(), "runs/iteration-2/north/run_metadata.json"))
	standing, err := workflow.RunStatus(t.Context(), b.ws, "iteration-2/north")
	require.NoError(t, err)
	assert.Equal(t, "North", standing.Group, "the journal knows it, too")
	_, err = workflow.RunStatus(t.Context(), b.ws, "iteration-2")
	require.ErrorIs(t, err, workflow.ErrRunNotFound)
	require.ErrorContains(t, err, "iteration-2/north")
	for _, name := range []string{"iteration-2/", "iteration-2/execution", "iteration-2/North", "iteration-2/north/x", "iteration-2/../x"} {
		_, err = workflow.RunStatus(t.Context(), b.ws, name)
		require.ErrorIs(t, err, workflow.ErrRunName, name)
	}
	events := 0
	for _, err := range workflow.RecordedEvents(t.Context(), b.ws, "iteration-1/south", workflow.FromStart) {
		require.NoError(t, err)
		events++
	}
	assert.Greater(t, events, 3)
}

func TestCostsAreThoseOfTheGroup(t *testing.T) {
	t.Parallel()
	b, _ := grouped(t)
	for _, name := range []string{"South", "North"} {
		_, err := b.ctl.Run(t.Context(), b.ws, group(name))
		require.NoError(t, err)
	}
	check := func() {
		summary, err := workflow.Costs(t.Context(), b.ws, nil)
		require.NoError(t, err)
		rows := summary.ByGroup()
		require.Len(t, rows, 2)
		assert.Equal(t, []string{"north", "south"}, []string{rows[0].Key.Group, rows[1].Key.Group})
		summary, err = workflow.Costs(t.Context(), b.ws, &workflow.CostsOptions{Filter: costs.Filter{RunFolder: "iteration-2/north"}})
		require.NoError(t, err)
		assert.EqualValues(t, 1, summary.Total().Calls)
	}
	check()
	require.NoError(t, b.ws.Storage().Remove(t.Context(), workspace.CostsDir))
	check() // from the journals
}

func TestRunsThatStartAtOnceHaveIterationsOfTheirOwn(t *testing.T) {
	t.Parallel()
	b, _ := grouped(t)
	var mu sync.Mutex
	folders := map[string]bool{}
	var all sync.WaitGroup
	for i := range 9 {
		all.Go(func() {
			result, err := b.ctl.Run(context.WithoutCancel(t.Context()), b.ws, group([]string{"North", "South", "East"}[i%3]))
			if !assert.NoError(t, err) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			folders[result.Folder[:len("iteration-1")]] = true
		})
	}
	all.Wait()
	assert.Len(t, folders, 9)
}

func TestTheFolderOfARunThatNeverBeganIsUsedByTheNext(t *testing.T) {
	t.Parallel()
	b, _ := grouped(t)
	b.write(t, "runs/iteration-4/run.lock", "")
	b.write(t, "runs/iteration-4/south/run.lock", "")
	result, err := b.ctl.Run(t.Context(), b.ws, group("North"))
	require.NoError(t, err)
	assert.Equal(t, "iteration-4/north", result.Folder)

	lock, err := b.ws.Storage().TryLock(t.Context(), "runs/iteration-5/south/run.lock", "who starts a run")
	require.NoError(t, err)
	result, err = b.ctl.Run(t.Context(), b.ws, group("North"))
	require.NoError(t, err)
	assert.Equal(t, "iteration-6/north", result.Folder)
	require.NoError(t, lock.Unlock())
}

func TestARunOfAGroupHasItsOwnStepConfiguration(t *testing.T) {
	t.Parallel()
	b, a := grouped(t)
	a.fail = fmt.Errorf("down")
	_, err := b.ctl.Run(t.Context(), b.ws, group("North"))
	require.Error(t, err)
	b.write(t, "runs/iteration-1/north/planning/step_config.json", `{"steps":[{"id":"one","agent_configs":{"execution_max_turns":0}}]}`)
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1/north"))
	require.ErrorContains(t, err, "runs/iteration-1/north/planning/step_config.json")
}

func TestToolsetsAreToldTheGroup(t *testing.T) {
	t.Parallel()
	var scopes []agent.Scope
	tools := &agenttest.Toolset{ID: "any", For: func(scope agent.Scope) []agent.Tool {
		scopes = append(scopes, scope)
		return nil
	}}
	b := setup(t, workflow.Config{Models: agent.Single((&asked{}).model()), Toolsets: []agent.Toolset{tools}}, cityPlan, workspace.VariablesFile, cityGroups)
	_, err := b.ctl.Run(t.Context(), b.ws, group("North"))
	require.NoError(t, err)
	require.NotEmpty(t, scopes)
	assert.Equal(t, "North", scopes[0].Group)
	assert.Equal(t, "iteration-1/north", scopes[0].RunFolder)
}
