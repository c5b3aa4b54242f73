package workflow_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

func TestThread(t *testing.T) {
	ws := workspace.New(workspace.NewMem())
	ctx := t.Context()
	plan := `{"steps":[{"id":"a","type":"regular","description":"write a","context_output":"a.json","validation_schema":{"files":[{"file_name":"a.json","must_exist":true,"json_checks":[{"path":"$.n","value_type":"number"}]}]}},
	{"id":"b","type":"regular","description":"read a","context_dependencies":["a.json"],"context_output":"b.md"}]}`
	require.NoError(t, ws.Storage().WriteFile(ctx, workspace.PlanFile, []byte(plan), workspace.Lazy))
	model := agenttest.New(t,
		agenttest.Call("write_file", map[string]any{"path": "a.json", "content": `{"n":"x"}`}),
		agenttest.Reply("done a"),
		agenttest.Call("write_file", map[string]any{"path": "a.json", "content": `{"n":1}`}),
		agenttest.Reply("mended a"),
		agenttest.Call("write_file", map[string]any{"path": "b.md", "content": `hi`}),
		agenttest.Reply("done b"),
	)
	ctl, err := workflow.NewController(workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}})
	require.NoError(t, err)
	res, err := ctl.Run(ctx, ws, nil)
	require.NoError(t, err)
	t.Logf("%+v", res)
	data, _ := ws.Storage().ReadFile(ctx, "runs/iteration-1/journal.jsonl")
	t.Log(string(data))
	for _, r := range model.Requests() {
		t.Log(r.Messages[len(r.Messages)-1].ContentText())
	}
}
