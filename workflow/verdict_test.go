package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

const judgedPlan = `{"steps":[{"id":"sum","type":"regular","title":"Sum","description":"Sum up.","context_output":"sum.txt"}]}`

// judging is a step configuration with model validation.
func judging(fields string) string {
	return `{"steps":[{"id":"sum","agent_configs":{"disable_validation":false` + fields + `}}]}`
}

// verdict is a turn that passes or refuses.
func verdict(passed bool, issues ...string) agenttest.Turn {
	data, err := json.Marshal(workflow.Verdict{Passed: passed, Reasoning: "Looked at it.", Issues: append([]string{}, issues...)})
	if err != nil {
		panic(err)
	}
	return agenttest.Reply(string(data))
}

func TestAModelJudgesTheOutputsAfterTheChecksAndItsIssuesReachTheAgent(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t,
		writes("sum.txt", "3"), agenttest.Reply("Summed."), verdict(false, "sum.txt: the sum is 4"),
		writes("sum.txt", "4"), agenttest.Reply("Mended."), verdict(true),
	)
	b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}}, judgedPlan,
		workspace.StepConfigFile, judging(`,"llm_validation_mode":"always"`))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Equal(t, "4", b.read(t, "runs/iteration-1/execution/sum/sum.txt"))

	requests := model.Requests()
	require.Len(t, requests, 6)
	golden(t, "verdict-system", requests[2].Messages[0])
	golden(t, "verdict", requests[2].Messages[1])
	assert.NotNil(t, requests[2].Output, "the verdict is typed")
	for _, spec := range requests[2].Tools {
		assert.Equal(t, agent.ReadOnly, spec.Effect, "%s: a judge changes nothing", spec.Name)
	}
	repair := requests[3].Messages[len(requests[3].Messages)-1].ContentText()
	assert.Contains(t, repair, "- sum.txt: the sum is 4")

	var log workflow.ModelValidationLog
	require.NoError(t, json.Unmarshal([]byte(b.read(t, "runs/iteration-1/logs/sum/validation-1.json")), &log))
	assert.Equal(t, "failed", log.Status)
	assert.Equal(t, []string{"sum.txt: the sum is 4"}, log.Verdict.Issues)
	require.NoError(t, json.Unmarshal([]byte(b.read(t, "runs/iteration-1/logs/sum/validation.json")), &log))
	assert.Equal(t, "passed", log.Status)
	assert.Equal(t, 2, log.Attempt)
	assert.Len(t, log.LLMCalls, 1)
	assert.Len(t, log.History, 3)

	// Its calls are counted, now and from the journal.
	standing, err := workflow.RunStatus(t.Context(), b.ws, "iteration-1")
	require.NoError(t, err)
	assert.EqualValues(t, 6, standing.Totals.Calls)
}

func TestAStepIsJudgedOnlyWhereItsConfigurationSaysSo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		judged bool
	}{
		"nothing said":              {`{}`, false},
		"disabled":                  {`{"disable_validation":true,"llm_validation_mode":"always"}`, false},
		"a mode is not enough":      {`{"llm_validation_mode":"always"}`, false},
		"enabled without a mode":    {`{"disable_validation":false}`, false},
		"enabled, to be skipped":    {`{"disable_validation":false,"llm_validation_mode":"skip"}`, false},
		"enabled, always":           {`{"disable_validation":false,"llm_validation_mode":"always"}`, true},
		"enabled, auto, first runs": {`{"disable_validation":false,"llm_validation_mode":"auto"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := []agenttest.Turn{writes("sum.txt", "4"), agenttest.Reply("Summed.")}
			if c.judged {
				script = append(script, verdict(true))
			}
			b := setup(t, withModel(t, script...), judgedPlan, workspace.StepConfigFile, `{"steps":[{"id":"sum","agent_configs":`+c.config+`}]}`)
			_, err := b.ctl.Run(t.Context(), b.ws, nil)
			require.NoError(t, err)
		})
	}
}

func TestAfterThreeSuccessesOnOneDescriptionTheModeAutoTrustsTheChecks(t *testing.T) {
	t.Parallel()
	b := setup(t, workflow.Config{}, judgedPlan, workspace.StepConfigFile, judging(`,"llm_validation_mode":"auto"`))
	judged := func() bool {
		judges := 0
		model := &agenttest.Model{Respond: func(_ context.Context, request *agent.Request) (*agent.Response, error) {
			last := request.Messages[len(request.Messages)-1]
			switch {
			case request.Output != nil:
				judges++
				return said(`{"passed":true,"reasoning":"fine","issues":[]}`), nil
			case last.Role == agent.RoleTool:
				return said("Summed."), nil
			}
			message := agent.Message{Role: agent.RoleAssistant, ToolCalls: []agent.ToolCall{agenttest.ToolCall("write_file", map[string]string{"path": "sum.txt", "content": "4"})}}
			return &agent.Response{Message: message, Finish: agent.FinishToolCalls}, nil
		}}
		ctl, err := workflow.NewController(workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}})
		require.NoError(t, err)
		_, err = ctl.Run(t.Context(), b.ws, nil)
		require.NoError(t, err)
		return judges == 1
	}
	assert.Equal(t, []bool{true, true, true, false, false}, []bool{judged(), judged(), judged(), judged(), judged()})
	b.write(t, workspace.PlanFile, `{"steps":[{"id":"sum","type":"regular","title":"Sum","description":"Sum up all.","context_output":"sum.txt"}]}`)
	assert.True(t, judged(), "another description starts anew")
}

func said(text string) *agent.Response {
	return &agent.Response{Message: agent.Message{Role: agent.RoleAssistant, Content: agent.Text(text)}, Finish: agent.FinishStop}
}

func TestAVerdictThatIsNoneIsAskedForAgainAndAResumeGoesOnFromThere(t *testing.T) {
	t.Parallel()
	none := agenttest.Reply("It looks good to me!")
	model := agenttest.New(t,
		writes("sum.txt", "4"), agenttest.Reply("Summed."),
		none, none, // the loop asks once for a repair
		none, none, // another go, from the start
	)
	config := workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}}
	b := setup(t, config, judgedPlan, workspace.StepConfigFile, judging(`,"llm_validation_mode":"always"`))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "gave no verdict")

	config.Models = agent.Single(agenttest.New(t, verdict(true)))
	b.ctl, err = workflow.NewController(config)
	require.NoError(t, err)
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err, "the work is not done again, only judged")
}

func TestARefusedAttemptUsesUpAnAttempt(t *testing.T) {
	t.Parallel()
	var script []agenttest.Turn
	for n := range 3 {
		script = append(script, writes("sum.txt", fmt.Sprint(n)), agenttest.Reply("Summed."), verdict(false, "wrong"))
	}
	b := setup(t, withModel(t, script...), judgedPlan, workspace.StepConfigFile, judging(`,"llm_validation_mode":"always"`))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorIs(t, err, workflow.ErrValidation)
	require.ErrorContains(t, err, "does not accept")
}

func TestTheJudgeIsTheModelOfValidationLLMWithItsOwnTurns(t *testing.T) {
	t.Parallel()
	worker := agenttest.New(t, writes("sum.txt", "4"), agenttest.Reply("Summed."))
	judge := agenttest.New(t, agenttest.Call("read_file", map[string]string{"path": "sum.txt"}), agenttest.Call("read_file", map[string]string{"path": "sum.txt"}))
	config := workflow.Config{
		Models:   agent.ModelMap{"": worker, "strict": judge},
		Toolsets: []agent.Toolset{agenttest.Files()},
	}
	b := setup(t, config, judgedPlan, workspace.StepConfigFile,
		judging(`,"llm_validation_mode":"always","validation_max_turns":2,"validation_llm":{"provider":"strict","model_id":"judge-1"}`))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	var limit *agent.TurnLimitError
	require.ErrorAs(t, err, &limit)
	assert.Equal(t, 2, limit.Limit)
	assert.Equal(t, "judge-1", judge.Requests()[0].Model)

	b.write(t, workspace.StepConfigFile, judging(`,"llm_validation_mode":"always","validation_llm":{"provider":"nobody","model_id":"x"}`))
	program, ds, err := b.ctl.Compile(t.Context(), b.ws, nil)
	require.NoError(t, err)
	require.NoError(t, ds.Err())
	ds = b.ctl.CheckModels(t.Context(), program)
	require.Len(t, ds, 1)
	assert.Equal(t, "model.missing", ds[0].Code)
	assert.Equal(t, "/steps/0/agent_configs/validation_llm", ds[0].Pointer)
	assert.Equal(t, 1, ds[0].Line)
}
