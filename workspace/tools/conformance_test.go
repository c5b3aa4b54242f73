package tools_test

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/tools"
)

// configured makes the toolset anew each time.
func configured(config tools.Config) func(t *testing.T) agent.Toolset {
	return func(t *testing.T) agent.Toolset {
		t.Helper()
		toolset, err := tools.New(config)
		require.NoError(t, err)
		return toolset
	}
}

// visit is the scope of a step's visit, in whose work folder lies an image.
func visit(t *testing.T, ws *workspace.Workspace) agent.Scope {
	t.Helper()
	var square bytes.Buffer
	require.NoError(t, png.Encode(&square, image.NewGray(image.Rect(0, 0, 7, 5))))
	dir := workspace.RunLayout("iteration-1").Work("look/visit/1")
	require.NoError(t, ws.Storage().WriteFile(t.Context(), dir+"/square.png", square.Bytes(), workspace.Lazy))
	return agent.Scope{
		Workspace: ws, RunID: "run-1", RunFolder: "iteration-1", Step: "look", WorkDir: dir,
		Guard: &workspace.Guard{Write: []string{dir}},
	}
}

func TestTheFileToolsKeepThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	agenttest.TestToolset(t, agenttest.ToolsetTest{
		New:     configured(tools.Config{WithoutShell: true}),
		Scope:   func(t *testing.T) agent.Scope { return visit(t, workspace.New(workspace.NewMem())) },
		Success: agenttest.ToolCase{Tool: tools.ImageTool, Arguments: `{"file_path":"square.png"}`, Want: "7 x 5 pixels"},
		Failure: agenttest.ToolCase{Tool: tools.PatchTool, Arguments: `{"file_path":"square.png","patch":"not a patch"}`},
		Names:   []string{tools.PatchTool, tools.ImageTool},

		FailureIsError: true,
	})
}

func TestTheShellKeepsThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	onDisk := func(t *testing.T) agent.Scope {
		ws, err := workspace.OpenDir(t.TempDir())
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, ws.Close()) })
		return visit(t, ws)
	}
	session, err := configured(tools.Config{})(t).Open(t.Context(), onDisk(t))
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("there is no sandbox here: %v", err)
	}
	require.NoError(t, err)
	require.NoError(t, session.Close())
	agenttest.TestToolset(t, agenttest.ToolsetTest{
		New:     configured(tools.Config{}),
		Scope:   onDisk,
		Success: agenttest.ToolCase{Tool: tools.ShellTool, Arguments: `{"command":"echo hello"}`, Want: "hello"},
		Failure: agenttest.ToolCase{Tool: tools.ShellTool, Arguments: `{"command":" "}`, Want: "empty"},
		Slow:    agenttest.ToolCase{Tool: tools.ShellTool, Arguments: `{"command":"sleep 600"}`},
		Names:   []string{tools.ShellTool, tools.PatchTool, tools.ImageTool},
	})
}
