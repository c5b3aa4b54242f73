package main

import (
	"flag"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/examples/quickstart/internal/messy"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

var update = flag.Bool("update", false, "write the invoices of the template anew")

// The template's inputs are a generated folder too, so the oracle knows their
// truth.
func TestTheTemplatesInputsAreThoseOfItsSeed(t *testing.T) {
	t.Parallel()
	want := messy.Generate(templateSeed).Files
	if *update {
		require.NoError(t, replaceInputs(filepath.Join("workspace", "inputs"), messy.Generate(templateSeed)))
	}
	inputs, err := fs.Sub(os.DirFS("workspace"), "inputs")
	require.NoError(t, err)
	assert.Equal(t, want, textsOf(t, inputs), "run go test ./examples/quickstart -update")
}

func textsOf(t *testing.T, files fs.FS) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		out[name] = string(data)
		return err
	}))
	return out
}

func TestPlacingMakesAWorkflowWithTheInvoicesOfTheSeed(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{templateSeed, 99} {
		dir := filepath.Join(t.TempDir(), "new", "place")
		require.NoError(t, place(dir, seed))
		files := textsOf(t, os.DirFS(dir))
		inputs := textsOf(t, os.DirFS(filepath.Join(dir, "inputs")))
		assert.Equal(t, messy.Generate(seed).Files, inputs)
		assert.Subset(t, slices.Collect(maps.Keys(files)), []string{"workflow.json", "planning/plan.json", "planning/step_config.json", "variables/variables.json"})
	}
}

func TestPlacingLeavesAWorkflowAsItIs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "workflow.json"), []byte("{}"), 0o644))
	require.NoError(t, place(dir, 5))
	assert.Equal(t, map[string]string{"workflow.json": "{}"}, textsOf(t, os.DirFS(dir)))
}

func TestPlacingRefusesAFolderOfOtherThings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "thesis.doc"), []byte("x"), 0o644))
	require.ErrorContains(t, place(dir, 5), "-dir")
	assert.Equal(t, map[string]string{"thesis.doc": "x"}, textsOf(t, os.DirFS(dir)))
}

func TestTheTemplateCompilesWithoutAWord(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, place(dir, templateSeed))
	ws, err := workspace.OpenDir(dir)
	require.NoError(t, err)
	defer ws.Close()
	ctl, err := workflow.NewController(workflow.Config{})
	require.NoError(t, err)
	_, diagnostics, err := ctl.Compile(t.Context(), ws, nil)
	require.NoError(t, err)
	assert.Empty(t, diagnostics)
}
