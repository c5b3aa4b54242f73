package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

const onePlan = `{"steps":[{"id":"one","type":"regular","description":"Do it.","context_output":"out.txt"}]}`

func resume(run string) *workflow.RunOptions { return &workflow.RunOptions{Run: run} }

func TestRunsGetFreshIterationsAndIDs(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t, writes("out.txt", "1"), agenttest.Reply("ok"), writes("out.txt", "2"), agenttest.Reply("ok")), onePlan)
	first, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	second, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Equal(t, "iteration-1", first.Folder)
	assert.Equal(t, "iteration-2", second.Folder)
	assert.NotEqual(t, first.RunID, second.RunID)
	assert.Equal(t, "1", b.read(t, "runs/iteration-1/execution/one/out.txt"))
	assert.Equal(t, "2", b.read(t, "runs/iteration-2/execution/one/out.txt"))
}

func TestACompletedRunIsNotStartedAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t, writes("out.txt", "1"), agenttest.Reply("ok")), onePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.ErrorIs(t, err, workflow.ErrRunFinished)
}

func TestNamesThatAreNoRunsAreRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, workflow.Config{}, onePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, resume("iteration-7"))
	require.ErrorIs(t, err, workflow.ErrRunNotFound)
	for _, name := range []string{"../x", "iteration-x", "iteration-01", "iteration-1/..", "latest"} {
		_, err := b.ctl.Run(t.Context(), b.ws, resume(name))
		require.ErrorIs(t, err, workflow.ErrRunName, name)
	}
}

func TestAnInvalidPlanRunsNothing(t *testing.T) {
	t.Parallel()
	b := setup(t, workflow.Config{}, `{"steps":[{"id":"x","type":"nope"}]}`)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	var ds workspace.Diagnostics
	require.ErrorAs(t, err, &ds)
	_, err = b.ws.Storage().Stat(t.Context(), workspace.RunsDir)
	require.Error(t, err, "a run was begun")
}

func TestAStepThatNeverPassesFailsTheRunAndAResumeTriesAfresh(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t,
		agenttest.Reply("no file"), agenttest.Reply("still none"), agenttest.Reply("sorry"),
		writes("out.txt", "1"), agenttest.Reply("ok"),
	), onePlan)
	result, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorIs(t, err, workflow.ErrValidation)
	assert.Equal(t, workflow.StatusFailed, result.Status)
	var where *workflow.RunError
	require.ErrorAs(t, err, &where)
	assert.Equal(t, "one", where.Step)

	result, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, workflow.StatusCompleted, result.Status)
	assert.Equal(t, int64(5), result.Totals.Calls, "the calls of both visits count")
}

func TestAFailedModelCallIsTakenUpWhereItFailed(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t,
		writes("out.txt", "1"), agenttest.Turn{Err: &agent.ModelError{StatusCode: 401, Message: "no"}},
		agenttest.Reply("ok"),
	)
	b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}}, onePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	var failed *agent.ModelError
	require.ErrorAs(t, err, &failed)
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Len(t, model.Requests(), 3, "the recorded reply was paid twice")
}

func TestATurnLimitStopsAndALargerOneGoesOn(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t, writes("out.txt", "1"), writes("out.txt", "2"), agenttest.Reply("ok")), onePlan,
		workspace.StepConfigFile, `{"steps":[{"id":"one","agent_configs":{"execution_max_turns":2}}]}`)
	result, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorIs(t, err, agent.ErrTurnLimit)
	assert.Equal(t, workflow.StatusStopped, result.Status)
	b.write(t, workspace.StepConfigFile, `{"steps":[{"id":"one","agent_configs":{"execution_max_turns":3}}]}`)
	result, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, int64(3), result.Totals.Calls)
}

func TestAChangedPlanIsNotResumed(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t, agenttest.Turn{Err: errors.New("down")}), onePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.Error(t, err)
	b.write(t, workspace.PlanFile, strings.Replace(onePlan, "Do it.", "Do something else.", 1))
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.ErrorIs(t, err, workflow.ErrPlanChanged)
}

func TestAPlanThatIsOnlyLaidOutOtherwiseIsResumed(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t, agenttest.Turn{Err: errors.New("down")}, writes("out.txt", "1"), agenttest.Reply("ok")), onePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.Error(t, err)
	var tree map[string]any
	require.NoError(t, json.Unmarshal([]byte(onePlan), &tree))
	text, err := json.MarshalIndent(tree, "", "\t") // in the order of the alphabet, too
	require.NoError(t, err)
	require.NotEqual(t, onePlan, string(text))
	b.write(t, workspace.PlanFile, "\r\n"+string(text)+"\n\n")
	result, err := b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, workflow.StatusCompleted, result.Status)
}

func TestVariablesOfARunOutliveAStop(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t, agenttest.Turn{Err: errors.New("down")},
		agenttest.Turn{Response: writes("out.txt", "1").Response, Check: func(req *agent.Request) error {
			if text := req.Messages[1].ContentText(); !strings.Contains(text, "Greet Ada.") {
				return fmt.Errorf("the prompt is %q", text)
			}
			return nil
		}},
		agenttest.Reply("ok"))
	b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}},
		strings.Replace(onePlan, "Do it.", "Greet {{NAME}}.", 1),
		workspace.VariablesFile, `{"variables":[{"name":"NAME"}]}`)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, `the variable "NAME" has no value`)
	_, err = b.ctl.Run(t.Context(), b.ws, &workflow.RunOptions{Variables: workflow.Variables{"NAEM": "Ada"}})
	require.ErrorContains(t, err, "NAEM")
	_, err = b.ctl.Run(t.Context(), b.ws, &workflow.RunOptions{Variables: workflow.Variables{"NAME": "Ada"}})
	require.ErrorContains(t, err, "down")
	_, err = b.ctl.Run(t.Context(), b.ws, &workflow.RunOptions{Run: "iteration-1", Variables: workflow.Variables{"NAME": "Eve"}})
	require.ErrorContains(t, err, "not when it is resumed")
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
}

func TestCancelStopsTheRunAndItCanBeResumed(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	var calls atomic.Int32
	model := &agenttest.Model{Respond: func(ctx context.Context, _ *agent.Request) (*agent.Response, error) {
		if calls.Add(1) == 1 {
			close(started)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		response := agenttest.Reply("ok").Response
		return &response, nil
	}}
	b := setup(t, workflow.Config{Models: agent.Single(model)}, `{"steps":[{"id":"one","type":"regular"},{"id":"two","type":"regular"}]}`)
	run, err := b.ctl.Start(t.Context(), b.ws, nil)
	require.NoError(t, err)
	<-started
	run.Cancel()
	result, err := run.Wait(t.Context())
	require.ErrorIs(t, err, workflow.ErrCanceled)
	assert.Equal(t, workflow.StatusCanceled, result.Status)
	assert.Equal(t, int32(1), calls.Load(), "a call was made after the cancellation")
	result, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, []string{"one", "two"}, result.Steps)
}

func TestCancellingTheContextOfRunCancelsIt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	model := &agenttest.Model{Respond: func(ctx context.Context, _ *agent.Request) (*agent.Response, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	b := setup(t, workflow.Config{Models: agent.Single(model)}, onePlan)
	result, err := b.ctl.Run(ctx, b.ws, nil)
	require.ErrorIs(t, err, workflow.ErrCanceled)
	assert.Equal(t, workflow.StatusCanceled, result.Status)
}

func TestARunThatIsDrivenIsHeld(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	gate := &workflow.StepType{Name: "gate", Execute: func(sc *workflow.StepContext) (*workflow.Outcome, error) {
		select {
		case <-release:
			return nil, nil
		case <-sc.Context().Done():
			return nil, sc.Context().Err()
		}
	}}
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{gate}}, `{"steps":[{"id":"g","type":"gate"}]}`)
	run, err := b.ctl.Start(t.Context(), b.ws, nil)
	require.NoError(t, err)
	_, err = b.ctl.Run(t.Context(), b.ws, resume(run.Folder()))
	require.ErrorIs(t, err, workflow.ErrRunHeld)
	var held *workspace.HeldError
	require.ErrorAs(t, err, &held)
	assert.Contains(t, held.Holder, "process")
	close(release)
	_, err = run.Wait(t.Context())
	require.NoError(t, err)
}

func TestOneControllerRunsAHundredWorkflowsAtOnce(t *testing.T) {
	t.Parallel()
	model := &agenttest.Model{Respond: func(_ context.Context, req *agent.Request) (*agent.Response, error) {
		response := agenttest.Reply("ok").Response
		if len(req.Messages) == 2 {
			response = writes("out.txt", "1").Response
		}
		return &response, nil
	}}
	b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}}, onePlan)
	var wg sync.WaitGroup
	folders := make([]string, 100)
	for i := range folders {
		wg.Go(func() {
			result, err := b.ctl.Run(t.Context(), b.ws, nil)
			if assert.NoError(t, err) {
				folders[i] = result.Folder
			}
		})
	}
	wg.Wait()
	seen := map[string]bool{}
	for _, folder := range folders {
		assert.False(t, seen[folder], "%s was given twice", folder)
		seen[folder] = true
	}
}

func TestAnEventReaderMayLeaveAtAnyEvent(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t, writes("out.txt", "1"), agenttest.Reply("ok")), onePlan)
	run, err := b.ctl.Start(t.Context(), b.ws, nil)
	require.NoError(t, err)
	_, err = run.Wait(t.Context())
	require.NoError(t, err)
	var kinds []workflow.RunEventKind
	for ev, err := range run.Events(t.Context(), workflow.FromStart) {
		require.NoError(t, err)
		kinds = append(kinds, ev.Kind)
	}
	assert.Equal(t, []workflow.RunEventKind{
		workflow.RunStarted, workflow.StepStarted, workflow.ModelReplied, workflow.ToolCalled,
		workflow.ModelReplied, workflow.StepCompleted, workflow.RunEnded,
	}, kinds)
	for n := 1; n <= len(kinds); n++ {
		seen := 0
		for ev := range run.Events(t.Context(), int64(n-1)) {
			seen++
			assert.Equal(t, int64(n), ev.Seq)
			break
		}
		assert.Equal(t, 1, seen)
	}
}

func TestAFollowingReaderEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t, workflow.Config{StepTypes: []*workflow.StepType{{
		Name: "gate", Execute: func(sc *workflow.StepContext) (*workflow.Outcome, error) {
			<-sc.Context().Done()
			return nil, sc.Context().Err()
		},
	}}}, `{"steps":[{"id":"g","type":"gate"}]}`)
	run, err := b.ctl.Start(t.Context(), b.ws, nil)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for ev, err := range run.Events(ctx, workflow.FromStart) {
		if last = err; ev.Kind == workflow.StepStarted {
			cancel()
		}
	}
	require.ErrorIs(t, last, context.Canceled)
	run.Cancel()
	_, err = run.Wait(t.Context())
	require.ErrorIs(t, err, workflow.ErrCanceled)
}

func TestSecretsAreInNoFileEventOrError(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-value"
	model := agenttest.New(t,
		agenttest.Call("write_file", map[string]string{"path": "out.txt", "content": "x"}),
		agenttest.Call("leak", nil),
		agenttest.Turn{Err: errors.New("the key " + secret + " is wrong")},
	)
	leak := &agenttest.Toolset{ID: "leaky", Tools: []agent.Tool{&agenttest.Tool{Name: "leak", Do: returns("the token is " + secret)}}}
	b := setup(t, workflow.Config{
		Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files(), leak},
		Secrets: map[string]string{"TOKEN": secret},
	}, strings.Replace(onePlan, "Do it.", "Use "+secret+".", 1))
	run, err := b.ctl.Start(t.Context(), b.ws, nil)
	require.NoError(t, err)
	_, err = run.Wait(t.Context())
	require.Error(t, err)
	assert.NotContains(t, err.Error(), secret)
	for ev := range run.Events(t.Context(), workflow.FromStart) {
		assert.NotContains(t, fmt.Sprintf("%+v", ev), secret)
	}
	for name, content := range filesBelow(t, b.ws.Storage(), workspace.RunsDir) {
		assert.NotContains(t, content, secret, name)
	}
	for _, req := range model.Requests() {
		for _, msg := range req.Messages {
			assert.NotContains(t, msg.ContentText(), secret)
		}
	}
}

func TestAMissingInputFailsTheStepAndNamesWhereItWasLookedFor(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t), `{"steps":[{"id":"one","type":"regular","context_dependencies":["inputs/none.csv"]}]}`)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	var missing *workflow.MissingInputError
	require.ErrorAs(t, err, &missing)
	assert.Equal(t, []string{"inputs/none.csv"}, missing.Tried)
}

func TestAServerThatIsNotConfiguredIsRefusedBeforeTheRun(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t), onePlan, workspace.StepConfigFile, `{"steps":[{"id":"one","agent_configs":{"selected_servers":["aws"]}}]}`)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, `no server "aws"; configured are: files`)
}

func TestLostOutputsRunTheStepAgain(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t,
		writes("out.txt", "first"), agenttest.Reply("ok"),
		agenttest.Turn{Err: errors.New("down")},
		writes("out.txt", "again"), agenttest.Reply("ok"), agenttest.Reply("second step"),
	)
	b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}},
		`{"steps":[{"id":"one","type":"regular","context_output":"out.txt"},{"id":"two","type":"regular","context_dependencies":["out.txt"]}]}`)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "down")
	require.NoError(t, b.ws.Storage().Remove(t.Context(), "runs/iteration-1/execution/one"))
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, "again", b.read(t, "runs/iteration-1/execution/one/out.txt"))
}
