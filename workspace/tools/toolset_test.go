package tools

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/sandbox"
	"github.com/treadle-dev/treadle/workspace"
)

func TestTheToolsetIsSelectedByItsNameOrItsAlias(t *testing.T) {
	t.Parallel()
	set, err := New(Config{})
	require.NoError(t, err)
	assert.Equal(t, "workspace_advanced", set.Name())
	assert.Equal(t, []string{"workspace_tools"}, set.Aliases())
	assert.Equal(t, agent.SharePerStep, set.Sharing())
}

func TestEachToolTellsItsEffectAndItsArguments(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{Media: fakeMedia(nil)}, &runner{})
	effects := map[string]agent.Effect{}
	for name, tool := range s.tools {
		spec := tool.Spec()
		effects[name] = spec.Effect
		var schema struct {
			Type       string                    `json:"type"`
			Properties map[string]map[string]any `json:"properties"`
			Required   []string                  `json:"required"`
		}
		require.NoError(t, json.Unmarshal(spec.InputSchema, &schema), name)
		assert.Equal(t, "object", schema.Type)
		assert.NotEmpty(t, schema.Required, name)
		for _, required := range schema.Required {
			assert.Contains(t, schema.Properties, required, name)
		}
		for argument, property := range schema.Properties {
			assert.NotEmpty(t, property["description"], "%s: %s", name, argument)
		}
	}
	assert.Equal(t, map[string]agent.Effect{
		"execute_shell_command": agent.Unsafe, "diff_patch_workspace_file": agent.Idempotent, "read_image": agent.ReadOnly,
		"generate_text_llm": agent.ReadOnly, "search_web_llm": agent.ReadOnly, "speech_to_text": agent.ReadOnly,
		"image_gen": agent.Unsafe, "image_edit": agent.Unsafe, "generate_video": agent.Unsafe, "text_to_speech": agent.Unsafe, "generate_music": agent.Unsafe,
	}, effects)
}

func TestMediaToolsAreThereOnlyWhereTheHostProvidesThem(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	assert.Len(t, s.tools, 3)
}

func TestAStorageWithoutLocalPathsHasNoShell(t *testing.T) {
	t.Parallel()
	scope := agent.Scope{Workspace: workspace.New(workspace.NewMem()), WorkDir: "work", Guard: &workspace.Guard{Write: []string{"work"}}}
	set, err := New(Config{})
	require.NoError(t, err)
	_, err = set.Open(t.Context(), scope)
	require.ErrorIs(t, err, ErrNoLocalPaths)

	set, err = New(Config{WithoutShell: true})
	require.NoError(t, err)
	session, err := set.Open(t.Context(), scope)
	require.NoError(t, err)
	tools, err := session.Tools(t.Context())
	require.NoError(t, err)
	require.Len(t, tools, 2)
	result, err := tools[0].Call(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{"file_path":"a.txt","patch":"--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+text\n"}`)})
	require.NoError(t, err)
	assert.Equal(t, "Made work/a.txt: 1 line added, 0 removed. It now has 1 line, 5 bytes, hash b9e68e1bea3e5b19.", result.Text())
	require.NoError(t, session.Close())
}

func TestAHostWithoutASandboxHearsOfItAtOpen(t *testing.T) {
	t.Parallel()
	set, err := New(Config{})
	require.NoError(t, err)
	unavailable := true
	set.run = func(context.Context, *sandbox.Command) (*sandbox.Result, error) {
		if unavailable {
			return nil, &sandbox.UnavailableError{Feature: "proc", Cause: errors.New("refused")}
		}
		return &sandbox.Result{}, nil
	}
	dir, err := workspace.OpenDir(t.TempDir())
	require.NoError(t, err)
	defer dir.Close()
	_, err = set.Open(t.Context(), agent.Scope{Workspace: dir})
	require.ErrorIs(t, err, ErrNoSandbox)
	require.ErrorContains(t, err, "proc")
	unavailable = false
	session, err := set.Open(t.Context(), agent.Scope{Workspace: dir})
	require.NoError(t, err, "it is looked at again")
	require.NoError(t, session.Close())
}

func TestAWrongConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	for _, config := range []Config{
		{Shell: "bash"},
		{Limits: Limits{Timeout: -1}},
		{Limits: Limits{Timeout: time.Hour, MaxTimeout: time.Minute}},
		{MaxImageBytes: -1},
	} {
		_, err := New(config)
		assert.Error(t, err)
	}
	for _, env := range []map[string]string{{"A=B": "x"}, {"": "x"}, {"A": "secret\x00"}} {
		set, err := New(Config{Env: func(context.Context, agent.Scope) (map[string]string, error) { return env, nil }})
		require.NoError(t, err)
		set.run = (&runner{}).run
		dir, err := workspace.OpenDir(t.TempDir())
		require.NoError(t, err)
		_, err = set.Open(t.Context(), agent.Scope{Workspace: dir})
		require.Error(t, err)
		assert.NotContains(t, err.Error(), "secret")
		require.NoError(t, dir.Close())
	}
}

func TestCloseEndsCallsWaitsForThemAndRefusesLaterOnes(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	var ended atomic.Bool
	r := &runner{do: func(ctx context.Context, _ *sandbox.Command) (*sandbox.Result, error) {
		close(started)
		<-ctx.Done()
		ended.Store(true)
		return nil, ctx.Err()
	}}
	s := setup(t, Config{}, r)
	session := s.tools[ShellTool].(*tool[shellArguments]).session
	called := make(chan *agent.ToolResult, 1)
	go func() { called <- s.callIn(context.Background(), ShellTool, map[string]any{"command": "true"}) }()
	<-started
	require.NoError(t, session.Close())
	assert.True(t, ended.Load())
	assert.Contains(t, (<-called).Text(), "closed")
	assert.Contains(t, s.fails(ShellTool, map[string]any{"command": "true"}), "closed")
	require.NoError(t, session.Close())
}
