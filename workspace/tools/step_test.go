package tools

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/sandbox"
	"github.com/treadle-dev/treadle/workspace"
)

const (
	run     = "iteration-1"
	workDir = "runs/iteration-1/work/fetch/visit/1"
)

// step is a step at work in a workspace on disk.
type step struct {
	t     testing.TB
	dir   string
	scope agent.Scope
	tools map[string]agent.Tool
}

// setup opens the tools for a step that may write its work folder and db, and read
// inputs and db/fixed. With a nil runner commands run in the sandbox.
func setup(t testing.TB, config Config, runner *runner) *step {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	s := &step{t: t, dir: dir, tools: map[string]agent.Tool{}}
	for name, text := range map[string]string{
		"planning/plan.json":                    "the plan",
		"runs/iteration-1/journal.jsonl":        "the journal",
		"runs/iteration-1/work/other/visit/1/x": "another step's",
		"inputs/a.txt":                          "an input",
		"db/fixed/ref.json":                     "fixed",
		workDir + "/own.txt":                    "one\ntwo\nthree\n",
	} {
		s.write(name, text)
	}
	ws, err := workspace.OpenDir(dir)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, ws.Close()) })
	s.scope = agent.Scope{
		Workspace: ws, RunID: "run-1", RunFolder: run, Step: "fetch", WorkDir: workDir,
		Guard: &workspace.Guard{Write: []string{workDir, "db"}, Read: []string{"inputs", "db/fixed", "knowledgebase"}},
	}
	s.open(config, runner)
	return s
}

func (s *step) open(config Config, runner *runner) {
	s.t.Helper()
	set, err := New(config)
	require.NoError(s.t, err)
	if runner != nil {
		set.run = runner.run
	}
	session, err := set.Open(s.t.Context(), s.scope)
	require.NoError(s.t, err)
	s.t.Cleanup(func() { assert.NoError(s.t, session.Close()) })
	tools, err := session.Tools(s.t.Context())
	require.NoError(s.t, err)
	for _, tool := range tools {
		s.tools[tool.Spec().Name] = tool
	}
}

func (s *step) path(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

func (s *step) write(name, text string) {
	s.t.Helper()
	require.NoError(s.t, os.MkdirAll(filepath.Dir(s.path(name)), 0o755))
	require.NoError(s.t, os.WriteFile(s.path(name), []byte(text), 0o644))
}

func (s *step) read(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(s.path(name))
	require.NoError(s.t, err)
	return string(data)
}

// call makes a call as the loop does: an error is a failed result of its text.
func (s *step) call(tool string, arguments map[string]any) *agent.ToolResult {
	s.t.Helper()
	return s.callIn(s.t.Context(), tool, arguments)
}

func (s *step) callIn(ctx context.Context, tool string, arguments map[string]any) *agent.ToolResult {
	result, err := s.try(ctx, tool, arguments)
	if err != nil {
		return agent.ErrorResult(err.Error())
	}
	return result
}

func (s *step) try(ctx context.Context, tool string, arguments map[string]any) (*agent.ToolResult, error) {
	data, err := json.Marshal(arguments)
	require.NoError(s.t, err)
	require.Contains(s.t, s.tools, tool)
	return s.tools[tool].Call(ctx, &agent.ToolCall{ID: "1", Name: tool, Arguments: data, Key: "fetch/visit/1/turn/1/tool/1"})
}

// fails makes a call that must fail, and returns what the model is told.
func (s *step) fails(tool string, arguments map[string]any) string {
	s.t.Helper()
	result := s.call(tool, arguments)
	require.True(s.t, result.IsError, "%s", result.Text())
	return result.Text()
}

// succeeds makes a call that must succeed.
func (s *step) succeeds(tool string, arguments map[string]any) string {
	s.t.Helper()
	result := s.call(tool, arguments)
	require.False(s.t, result.IsError, "%s", result.Text())
	return result.Text()
}

// runner stands for the sandbox where a test is about what it is asked.
type runner struct {
	do func(context.Context, *sandbox.Command) (*sandbox.Result, error) // nil succeeds

	mu   sync.Mutex
	seen []*sandbox.Command
}

func (r *runner) run(ctx context.Context, command *sandbox.Command) (*sandbox.Result, error) {
	r.mu.Lock()
	r.seen = append(r.seen, command)
	r.mu.Unlock()
	if r.do == nil || len(command.Argv) == 3 && command.Argv[2] == "exit 0" {
		return &sandbox.Result{}, nil
	}
	return r.do(ctx, command)
}

func (r *runner) last(t *testing.T) *sandbox.Command {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	require.NotEmpty(t, r.seen)
	return r.seen[len(r.seen)-1]
}
