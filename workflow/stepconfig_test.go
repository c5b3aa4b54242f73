package workflow_test

import (
	"context"
	"encoding/json"
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

func TestOptionsOfAModelAreSentAsTheyAre(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t, agenttest.Reply("ok"))
	b := setup(t, workflow.Config{Models: agent.Single(model)}, barePlan, workspace.StepConfigFile,
		`{"steps":[{"id":"one","agent_configs":{"execution_llm":{"model_id":"m","options":{"temperature":1.0,"seed":12345678901234567890}}}}]}`)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	request := model.Requests()[0]
	assert.Equal(t, "m", request.Model)
	assert.Equal(t, map[string]json.RawMessage{"temperature": json.RawMessage("1.0"), "seed": json.RawMessage("12345678901234567890")}, request.Options)
}

func TestToolCallsOfAReplyRunOneByOneWhenTheStepSaysSo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, settings, config string
		serial                 bool
	}{
		{"by default they run together", `{}`, `{}`, false},
		{"the step", `{}`, `{"disable_parallel_tool_execution":true}`, true},
		{"the workflow", `{"execution_defaults":{"disable_parallel_tool_execution":true}}`, `{}`, true},
		{"the step over the workflow", `{"execution_defaults":{"disable_parallel_tool_execution":true}}`, `{"disable_parallel_tool_execution":false}`, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			const calls = 3
			var running, most atomic.Int32
			var together sync.WaitGroup
			together.Add(calls)
			tool := &agenttest.Tool{Name: "look", Effect: agent.ReadOnly, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
				now := running.Add(1)
				defer running.Add(-1)
				if now > most.Load() {
					most.Store(now)
				}
				if together.Done(); !tc.serial {
					together.Wait() // each is held until all have begun
				}
				return agent.TextResult("seen"), nil
			}}
			reply := agenttest.Call("look", nil)
			first := reply.Response.Message.ToolCalls[0]
			for _, id := range []string{"second", "third"} {
				call := first
				call.ID = id
				reply.Response.Message.ToolCalls = append(reply.Response.Message.ToolCalls, call)
			}
			config := workflow.Config{
				Models:   agent.Single(agenttest.New(t, reply, agenttest.Reply("ok"))),
				Toolsets: []agent.Toolset{&agenttest.Toolset{ID: "eyes", Tools: []agent.Tool{tool}}},
			}
			b := setup(t, config, barePlan, workspace.SettingsFile, tc.settings,
				workspace.StepConfigFile, `{"steps":[{"id":"one","agent_configs":`+tc.config+`}]}`)
			_, err := b.ctl.Run(t.Context(), b.ws, nil)
			require.NoError(t, err)
			if tc.serial {
				assert.Equal(t, int32(1), most.Load())
			}
			together.Wait()
		})
	}
}
