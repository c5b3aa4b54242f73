package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workspace"
)

func TestLargeToolOutputGoesToAFileThatTheModelCanSearch(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		offload := &agent.Offload{Storage: workspace.NewMem(), Threshold: 300}
		large := doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
			return agent.TextResult(strings.Repeat("a line\n", 2000) + "the needle\n" + strings.Repeat("a line\n", 2000)), nil
		})
		path := ""
		model := agenttest.New(t,
			agenttest.Call("work", nil),
			agenttest.Turn{
				Response: agenttest.Call(agent.OffloadedTool, map[string]string{"operation": "search", "pattern": "needle", "path": "PATH"}).Response,
				Check:    nil,
			},
			agenttest.Reply("done"),
		)
		model.Script[1].Check = func(req *agent.Request) error {
			text := req.Messages[2].ContentText()
			for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \n\"'`", r) }) {
				if strings.HasPrefix(word, "tool_output/") {
					path = strings.TrimRight(word, ".,:;")
				}
			}
			model.Script[1].Response.Message.ToolCalls[0].Arguments = []byte(`{"operation":"search","pattern":"needle","path":"` + path + `"}`)
			return nil
		}
		conv := asked("go")
		loop := agent.Loop{LLM: model, Tools: []agent.Tool{large, offload.Tool()}, Offload: offload, Journal: restart()}
		_, err := loop.Run(t.Context(), conv)
		require.NoError(t, err)
		results := toolMessages(conv)
		assert.Less(t, len(results[0].ContentText()), 1500)
		assert.Contains(t, results[1].ContentText(), "the needle")

		again := asked("go")
		_, err = (&agent.Loop{LLM: agenttest.New(t), Tools: loop.Tools, Journal: restart()}).Run(t.Context(), again)
		require.NoError(t, err)
		assert.Equal(t, conv.Messages(), again.Messages())
	})
}

type total struct {
	Sum int `json:"sum"`
}

func TestAStructuredAnswerIsCheckedAndRepairedOnce(t *testing.T) {
	t.Parallel()
	structured, err := agent.NewStructured[total]("total", agent.SchemaOpenAIStrict)
	require.NoError(t, err)
	eachJournal(t, func(t *testing.T, restart func() process) {
		model := agenttest.New(t, agenttest.Call("read", nil), agenttest.Reply(`{"sum":"three"}`), agenttest.Reply(`{"sum":3}`))
		conv := asked("go")
		loop := agent.Loop{LLM: model, Tools: []agent.Tool{echo("read")}, Output: structured.Output, Journal: restart()}
		result, err := loop.Run(t.Context(), conv)
		require.NoError(t, err)
		assert.JSONEq(t, `{"sum":3}`, string(result.Output))
		assert.Equal(t, "total", model.Requests()[0].Output.Name)
		assert.Equal(t, agent.RoleUser, conv.Messages()[4].Role, "the validator's words")

		loop.LLM, loop.Journal = agenttest.New(t), restart()
		replayed, err := loop.Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, result, replayed)
	})

	model := agenttest.New(t, agenttest.Reply(`no`), agenttest.Reply(`no again`))
	result, err := (&agent.Loop{LLM: model, Output: structured.Output}).Run(t.Context(), asked("go"))
	var failure *agent.OutputError
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, "no again", result.Final.ContentText())
}
