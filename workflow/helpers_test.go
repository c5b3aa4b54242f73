package workflow_test

import (
	"context"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// returns is a tool function with a fixed answer.
func returns(text string) func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
	return func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) { return agent.TextResult(text), nil }
}

// bench is a workspace in memory and what runs there.
type bench struct {
	ws  *workspace.Workspace
	ctl *workflow.Controller
}

// setup makes a workspace with a plan and a controller; files are written beside
// the plan.
func setup(t testing.TB, config workflow.Config, plan string, files ...string) *bench {
	t.Helper()
	ctl, err := workflow.NewController(config)
	require.NoError(t, err)
	b := &bench{ws: workspace.New(workspace.NewMem()), ctl: ctl}
	b.write(t, workspace.PlanFile, plan)
	for i := 0; i+1 < len(files); i += 2 {
		b.write(t, files[i], files[i+1])
	}
	return b
}

func (b *bench) write(t testing.TB, name, content string) {
	t.Helper()
	require.NoError(t, b.ws.Storage().WriteFile(t.Context(), name, []byte(content), workspace.Lazy))
}

func (b *bench) read(t testing.TB, name string) string {
	t.Helper()
	data, err := b.ws.Storage().ReadFile(t.Context(), name)
	require.NoError(t, err)
	return string(data)
}

// withModel is a configuration with a scripted model and the file tools.
func withModel(t testing.TB, script ...agenttest.Turn) workflow.Config {
	t.Helper()
	return workflow.Config{
		Models: agent.Single(agenttest.New(t, script...)), Toolsets: []agent.Toolset{agenttest.Files()},
	}
}

// writes is a turn that writes a file into the work folder.
func writes(name, content string) agenttest.Turn {
	return agenttest.Call("write_file", map[string]string{"path": name, "content": content})
}

// filesBelow reads every file below a folder.
func filesBelow(t testing.TB, st workspace.Storage, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	fsys := workspace.FS(t.Context(), st)
	err := fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		files[name] = string(data)
		return err
	})
	require.NoError(t, err)
	return files
}
