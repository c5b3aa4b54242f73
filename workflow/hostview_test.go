package workflow_test

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// acting gives a workspace in a folder, whose steps have a tool "act" that does one of the
// given things to it.
func acting(t *testing.T, model *agenttest.Model, acts map[string]func(root, workDir string) error, files map[string]string) (*workflow.Controller, *workspace.Workspace) {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for name, text := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	ws, err := workspace.OpenDir(root)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ws.Close()) })
	toolset := &agenttest.Toolset{ID: "acts", For: func(scope agent.Scope) []agent.Tool {
		var tools []agent.Tool
		for name, act := range acts {
			tools = append(tools, &agenttest.Tool{Name: name, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
				return agent.TextResult("done"), act(root, filepath.Join(root, filepath.FromSlash(scope.WorkDir)))
			}})
		}
		return tools
	}}
	ctl, err := workflow.NewController(workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{toolset}, Attempts: 2})
	require.NoError(t, err)
	return ctl, ws
}

// everythingSaid is all that a model was sent.
func everythingSaid(model *agenttest.Model) string {
	text := ""
	for _, request := range model.Requests() {
		for i := range request.Messages {
			text += request.Messages[i].ContentText() + "\n"
		}
	}
	return text
}

func TestALinkThatAStepPlantsInAStoreShowsALaterStepNothing(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"../.mcp.json", "../runs/iteration-1/journal.jsonl", "../planning/plan.json"} {
		t.Run(filepath.Base(target), func(t *testing.T) {
			t.Parallel()
			model := agenttest.New(t, agenttest.Call("plant", struct{}{}), agenttest.Reply("planted"))
			ctl, ws := acting(t, model, map[string]func(root, workDir string) error{
				"plant": func(root, _ string) error {
					return os.Symlink(filepath.FromSlash(target), filepath.Join(root, "db", "notes.json"))
				},
			}, map[string]string{
				".mcp.json": `{"token":"do not show"}`, "db/keep.txt": "kept",
				workspace.PlanFile: `{"steps":[{"id":"plant","type":"regular","description":"Plant."},
					{"id":"read","type":"regular","description":"Read.","context_dependencies":["db/notes.json"]}]}`,
			})
			_, err := ctl.Run(t.Context(), ws, nil)
			require.ErrorContains(t, err, "db/notes.json")
			require.ErrorContains(t, err, "symbolic link")
			assert.NotContains(t, everythingSaid(model), "do not show")
		})
	}
}

func TestACheckReadsNothingThroughALinkOutOfAStore(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t, agenttest.Call("plant", struct{}{}), agenttest.Reply("done"), agenttest.Call("mend", struct{}{}), agenttest.Reply("mended"))
	ctl, ws := acting(t, model, map[string]func(root, workDir string) error{
		"plant": func(root, _ string) error {
			return os.Symlink(filepath.Join("..", ".mcp.json"), filepath.Join(root, "db", "x.json"))
		},
		"mend": func(root, _ string) error {
			name := filepath.Join(root, "db", "x.json")
			if err := os.Remove(name); err != nil {
				return err
			}
			return os.WriteFile(name, []byte(`{"token":1}`), 0o644)
		},
	}, map[string]string{
		".mcp.json": `{"token":"do not show"}`, "db/keep.txt": "kept",
		workspace.PlanFile: `{"steps":[{"id":"a","type":"regular","description":"Do.","validation_schema":{"files":[
			{"file_name":"db/x.json","must_exist":true,"json_checks":[{"path":"$.token","must_exist":true,"value_type":"number"}]}]}}]}`,
	})
	_, err := ctl.Run(t.Context(), ws, nil)
	require.NoError(t, err)
	said := everythingSaid(model)
	assert.NotContains(t, said, "do not show")
	assert.Contains(t, said, "symbolic link")
}

func TestAnOutputThatIsALinkOutOfTheWorkFolderDoesNotPass(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t, agenttest.Call("link", struct{}{}), agenttest.Reply("done"), agenttest.Call("write", struct{}{}), agenttest.Reply("mended"))
	ctl, ws := acting(t, model, map[string]func(root, workDir string) error{
		"link": func(_, workDir string) error {
			return os.Symlink(filepath.FromSlash("../../../../../../.mcp.json"), filepath.Join(workDir, "out.json"))
		},
		"write": func(_, workDir string) error {
			if err := os.Remove(filepath.Join(workDir, "out.json")); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(workDir, "out.json"), []byte("{}"), 0o644)
		},
	}, map[string]string{
		".mcp.json":        `{}`,
		workspace.PlanFile: `{"steps":[{"id":"a","type":"regular","description":"Do.","context_output":"out.json"}]}`,
	})
	_, err := ctl.Run(t.Context(), ws, nil)
	require.NoError(t, err)
	assert.Contains(t, everythingSaid(model), "out.json is a symbolic link that leads elsewhere")
}

func TestFilesThatCannotBeKeptAreTheStepsToMend(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux takes any bytes for a name")
	}
	model := agenttest.New(t, agenttest.Call("spoil", struct{}{}), agenttest.Reply("done"), agenttest.Call("mend", struct{}{}), agenttest.Reply("mended"))
	spoiled := func(workDir string) []string {
		return []string{filepath.Join(workDir, "caf\xe9.txt"), filepath.Join(workDir, "sub", "closed.txt"), filepath.Join(workDir, "shut")}
	}
	ctl, ws := acting(t, model, map[string]func(root, workDir string) error{
		"spoil": func(_, workDir string) error {
			names := spoiled(workDir)
			require.NoError(t, os.MkdirAll(filepath.Join(workDir, "sub"), 0o755))
			require.NoError(t, os.WriteFile(names[0], nil, 0o644))
			require.NoError(t, os.WriteFile(names[1], nil, 0o200))
			return os.Mkdir(names[2], 0)
		},
		"mend": func(_, workDir string) error {
			for _, name := range spoiled(workDir) {
				require.NoError(t, os.Remove(name))
			}
			return nil
		},
	}, map[string]string{workspace.PlanFile: `{"steps":[{"id":"a","type":"regular","description":"Do."}]}`})
	_, err := ctl.Run(t.Context(), ws, nil)
	require.NoError(t, err)
	said := everythingSaid(model)
	assert.Contains(t, said, `caf\xe9.txt" is not valid UTF-8`)
	assert.Contains(t, said, "sub/closed.txt cannot be read")
	assert.Contains(t, said, "shut cannot be read")
	_, err = ws.Storage().Stat(t.Context(), "runs/iteration-1/execution/a/sub")
	assert.NoError(t, err)
	_, err = ws.Storage().Stat(t.Context(), "runs/iteration-1/execution/a/shut")
	assert.ErrorIs(t, err, fs.ErrNotExist)
}
