package workflow_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

// TestARegularStepSyncsAsOftenAsItMust counts the durable writes of a run on the
// disk: one per model reply, one per tool call, one more where the tool is unsafe,
// one per step, one more where a large payload is new, and two to start and one to
// end the run.
func TestARegularStepSyncsAsOftenAsItMust(t *testing.T) {
	t.Parallel()
	const startOfRun, endOfRun, reply, tool, unsafeTool, step, largePayload = 2, 1, 1, 1, 2, 1, 1
	note := func(effect agent.Effect) *agenttest.Toolset {
		return &agenttest.Toolset{ID: "notes", Tools: []agent.Tool{&agenttest.Tool{
			Name: "note", Effect: effect, Do: returns("noted"),
		}}}
	}
	large := strings.Repeat("x", 40<<10)
	for _, tc := range []struct {
		name   string
		tools  *agenttest.Toolset
		script []agenttest.Turn
		want   int
	}{
		{"a reply alone", note(agent.ReadOnly), []agenttest.Turn{agenttest.Reply("Done.")}, reply + step},
		{
			"a tool that may be repeated", note(agent.Idempotent),
			[]agenttest.Turn{agenttest.Call("note", nil), agenttest.Reply("Done.")},
			2*reply + tool + step,
		},
		{
			"a tool that may not", note(agent.Unsafe),
			[]agenttest.Turn{agenttest.Call("note", nil), agenttest.Reply("Done.")},
			2*reply + unsafeTool + step,
		},
		{
			"a large reply", note(agent.ReadOnly),
			[]agenttest.Turn{agenttest.Reply(large)},
			reply + largePayload + step,
		},
		{
			"a large reply that comes twice", note(agent.ReadOnly),
			[]agenttest.Turn{agenttest.Call("note", map[string]string{"text": "short"}), agenttest.Reply("Done.")},
			2*reply + tool + step,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			dir, err := workspace.NewDir(t.TempDir())
			require.NoError(t, err)
			defer func() { assert.NoError(t, dir.Close()) }()
			plan := `{"steps":[{"id":"only","type":"regular","description":"Note it."}]}`
			require.NoError(t, dir.WriteFile(t.Context(), workspace.PlanFile, []byte(plan), workspace.Lazy))
			counting := workspacetest.NewCounting(dir)
			ctl, err := workflow.NewController(workflow.Config{
				Models: agent.Single(agenttest.New(t, tc.script...)), Toolsets: []agent.Toolset{tc.tools},
			})
			require.NoError(t, err)
			_, err = ctl.Run(t.Context(), workspace.New(counting.Storage()), nil)
			require.NoError(t, err)
			assert.Equal(t, startOfRun+tc.want+endOfRun, counting.Syncs())
		})
	}
}
