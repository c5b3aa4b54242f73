package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// editEnv holds the JSON of an author: with it, the test binary is a process that edits
// the files of a workflow beside others.
const editEnv = "TREADLE_TEST_EDITOR"

// author is a process that edits every file a number of times.
type author struct {
	Dir   string `json:"dir"`
	Name  string `json:"name"`
	Edits int    `json:"edits"`
}

func runAuthor(data string) int {
	var a author
	err := json.Unmarshal([]byte(data), &a)
	for i := 0; i < a.Edits && err == nil; i++ {
		err = a.edit(context.Background(), fmt.Sprintf("%s_%d", a.Name, i))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// edit adds something of the name to every file.
func (a *author) edit(ctx context.Context, name string) error {
	ws, err := workspace.OpenDir(a.Dir)
	if err != nil {
		return err
	}
	defer ws.Close()
	if _, err := workflow.EditVariables(ctx, ws, func(f *workflow.VariablesFile) error {
		f.Variables = append(f.Variables, workflow.Variable{Name: name})
		return nil
	}); err != nil {
		return err
	}
	if _, err := workflow.EditSettings(ctx, ws, func(s *workflow.Settings) error {
		s.Capabilities.SelectedSecrets = append(s.Capabilities.SelectedSecrets, name)
		return nil
	}); err != nil {
		return err
	}
	if _, err := workflow.EditPlan(ctx, ws, workflow.PlanEdit{Tool: "add_step", Reason: name}, func(e *workflow.PlanEditor) error {
		return e.AddStep(json.RawMessage(`{"id":"`+name+`","type":"regular"}`), workflow.Place{})
	}); err != nil {
		return err
	}
	_, err = stepconfig.Update(ctx, ws.Storage(), workspace.StepConfigFile, func(e *stepconfig.Editor) error {
		return e.Add(&stepconfig.StepConfig{ID: name})
	})
	return err
}

func TestProcessesThatEditOneWorkflowLoseNoEditOfEachOther(t *testing.T) {
	t.Parallel()
	const processes, edits = 3, 6
	dir := t.TempDir()
	exe, err := os.Executable()
	require.NoError(t, err)
	var all sync.WaitGroup
	for p := range processes {
		all.Go(func() {
			data, err := json.Marshal(author{Dir: dir, Name: fmt.Sprintf("p%d", p), Edits: edits})
			assert.NoError(t, err)
			cmd := exec.CommandContext(t.Context(), exe)
			cmd.Env = append(os.Environ(), editEnv+"="+string(data))
			output, err := cmd.CombinedOutput()
			assert.NoError(t, err, string(output))
		})
	}
	all.Wait()
	var want []string
	for p := range processes {
		for i := range edits {
			want = append(want, fmt.Sprintf("p%d_%d", p, i))
		}
	}
	ws, err := workspace.OpenDir(dir)
	require.NoError(t, err)
	defer ws.Close()
	variables, ds, err := workflow.ReadVariables(t.Context(), ws)
	require.NoError(t, err)
	require.Empty(t, ds)
	var names []string
	for _, v := range variables.Variables {
		names = append(names, v.Name)
	}
	assert.ElementsMatch(t, want, names)
	settings, ds, err := workflow.ReadSettings(t.Context(), ws)
	require.NoError(t, err)
	require.Empty(t, ds)
	assert.ElementsMatch(t, want, settings.Capabilities.SelectedSecrets)
	src, err := workflow.LoadSource(t.Context(), ws, "")
	require.NoError(t, err)
	program, ds := workflow.Compile(src, nil)
	require.NoError(t, ds.Err())
	assert.ElementsMatch(t, want, program.StepIDs())
	file, ds := stepconfig.Parse(workspace.StepConfigFile, src.StepConfig)
	require.Empty(t, ds)
	for _, name := range want {
		assert.NotNil(t, file.Step(name), name)
	}
	entries, err := filepath.Glob(filepath.Join(dir, "planning/changelog/*.json"))
	require.NoError(t, err)
	assert.NotEmpty(t, entries)
}

func TestAnEditKeepsTheLineEndsAndTheModeOfAFileAndRefusesALink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		file := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o640))
	}
	write(workspace.PlanFile, "{\r\n  \"steps\": [\r\n    {\"id\":\"a\",\"type\":\"regular\"}\r\n  ]\r\n}\r\n")
	write(workspace.VariablesFile, "{\r\n  \"variables\": []\r\n}\r\n")
	write("shared.json", `{"id":"shared"}`)
	require.NoError(t, os.Symlink("shared.json", filepath.Join(dir, workspace.SettingsFile)))
	a := &author{Dir: dir}
	require.ErrorContains(t, a.edit(t.Context(), "b"), "workflow.json is a symbolic link")
	require.NoError(t, os.Remove(filepath.Join(dir, workspace.SettingsFile)))
	require.NoError(t, a.edit(t.Context(), "c"))
	for _, name := range []string{workspace.PlanFile, workspace.VariablesFile} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Contains(t, string(text), `"c"`)
		assert.Equal(t, strings.Count(string(text), "\n"), strings.Count(string(text), "\r\n"), "%q", text)
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, os.FileMode(0o640), info.Mode().Perm(), name)
	}
	shared, err := os.ReadFile(filepath.Join(dir, "shared.json"))
	require.NoError(t, err)
	assert.JSONEq(t, `{"id":"shared"}`, string(shared))
	require.NoError(t, os.Rename(filepath.Join(dir, workspace.PlanFile), filepath.Join(dir, "plan.json")))
	require.NoError(t, os.Symlink("../plan.json", filepath.Join(dir, workspace.PlanFile)))
	require.ErrorContains(t, a.edit(t.Context(), "d"), "planning/plan.json is a symbolic link")
}
