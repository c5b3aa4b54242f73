package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

var update = flag.Bool("update", false, "write the findings of testdata/broken and docs/diagnostics.md anew")

// minPlaces is how many different faults the workspaces of testdata/broken have at
// least, counted by code and form of the pointer.
const minPlaces = 100

// Every file of testdata/broken holds workspaces, a folder each, that are wrong in one
// way, and in "want" what is found. Files of the folder "base" belong to each of them,
// but for those that its file "without" names.
func TestEveryBrokenWorkspaceIsExplained(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("testdata/broken/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	places := map[string]bool{}
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		require.NoError(t, err)
		for _, w := range brokenWorkspaces(archive) {
			maps.Copy(places, w.check(t))
		}
		if *update {
			require.NoError(t, os.WriteFile(name, txtar.Format(archive), 0o644))
		}
	}
	t.Logf("%d faults that differ in code or form of the pointer", len(places))
	assert.GreaterOrEqual(t, len(places), minPlaces)
}

// brokenWorkspace is one folder of an archive.
type brokenWorkspace struct {
	name    string
	files   map[string]string
	archive *txtar.Archive
}

func brokenWorkspaces(archive *txtar.Archive) []*brokenWorkspace {
	var all []*brokenWorkspace
	base := map[string]string{}
	for _, f := range archive.Files {
		folder, name, _ := strings.Cut(f.Name, "/")
		switch {
		case folder == "base":
			base[name] = string(f.Data)
			continue
		case len(all) == 0 || all[len(all)-1].name != folder:
			all = append(all, &brokenWorkspace{name: folder, files: maps.Clone(base), archive: archive})
		}
		all[len(all)-1].files[name] = string(f.Data)
	}
	return all
}

// check looks at one workspace, compares the findings and returns their places.
func (w *brokenWorkspace) check(t *testing.T) map[string]bool {
	t.Helper()
	want, without := w.files["want"], strings.Fields(w.files["without"])
	for _, name := range append(without, "want", "without") {
		delete(w.files, name)
	}
	ws := workspace.New(workspace.NewMem())
	for name, text := range w.files {
		require.NoError(t, ws.Storage().WriteFile(t.Context(), name, []byte(text), workspace.Lazy))
	}
	ds := offlineFindings(t, ws)
	var got strings.Builder
	places := map[string]bool{}
	for _, d := range ds {
		assert.NotEmpty(t, d.Hint, "%s: %s says what to do", w.name, d.Code)
		if _, there := w.files[d.File]; strings.HasSuffix(d.File, ".json") {
			assert.Equal(t, there, d.Line > 0, "%s: %s has a line", w.name, d)
		}
		fmt.Fprintf(&got, "%s:%d#%s %s %s\n", d.File, d.Line, d.Pointer, d.Severity, d.Code)
		places[d.Code+" "+d.File+shape(d.Pointer)] = true
	}
	if *update {
		w.put(got.String())
	} else {
		assert.Equal(t, want, got.String(), w.name)
		assert.NotEmpty(t, want, w.name)
	}
	w.refuses(t, ws)
	assert.Equal(t, w.files, contentOf(t, ws.Storage(), "."), "%s: nothing is written", w.name)
	return places
}

// offlineFindings are what treadle validate --offline prints.
func offlineFindings(t *testing.T, ws *workspace.Workspace) workspace.Diagnostics {
	t.Helper()
	nothing := func(string) (string, bool) { return "", false }
	c := newCommand(&cli{stdout: io.Discard, stderr: io.Discard, lookup: nothing}, findVerb("validate"), ".")
	ds, err := c.diagnose(t.Context(), ws, true)
	require.NoError(t, err)
	sortDiagnostics(ds)
	return ds
}

// refuses tries to run a workspace whose plan does not compile.
func (w *brokenWorkspace) refuses(t *testing.T, ws *workspace.Workspace) {
	t.Helper()
	ctl, err := workflow.NewController(workflow.Config{})
	require.NoError(t, err)
	program, _, err := ctl.Compile(t.Context(), ws, nil)
	require.NoError(t, err)
	if program != nil {
		return
	}
	var ds workspace.Diagnostics
	_, err = ctl.Run(t.Context(), ws, nil)
	require.ErrorAs(t, err, &ds, w.name)
	assert.True(t, ds.HasErrors())
}

// put writes what was found into the archive, behind the files of the workspace.
func (w *brokenWorkspace) put(found string) {
	name, at := w.name+"/want", -1
	for i, f := range w.archive.Files {
		switch {
		case f.Name == name:
			w.archive.Files[i].Data = []byte(found)
			return
		case strings.HasPrefix(f.Name, w.name+"/"):
			at = i + 1
		}
	}
	w.archive.Files = slices.Insert(w.archive.Files, at, txtar.File{Name: name, Data: []byte(found)})
}

var digits = regexp.MustCompile(`/\d+(/|$)`)

// shape is a pointer whatever the element of a list.
func shape(pointer string) string { return digits.ReplaceAllString(pointer, "/N$1") }

func contentOf(t *testing.T, st workspace.Storage, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	fsys := workspace.FS(context.Background(), st)
	require.NoError(t, fs.WalkDir(fsys, root, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		files[name] = string(data)
		return err
	}))
	return files
}

// FuzzWorkspace looks at workspaces of any content, as treadle validate --offline does.
func FuzzWorkspace(f *testing.F) {
	fuzzed := []string{
		workspace.PlanFile, workspace.StepConfigFile, workspace.SettingsFile, workspace.VariablesFile, workspace.SoulFile,
		workspace.EvaluationPlanFile, workspace.MCPFile, "learnings/a/.learning_metadata.json",
	}
	names, err := filepath.Glob("testdata/broken/*.txtar")
	require.NoError(f, err)
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		require.NoError(f, err)
		for _, w := range brokenWorkspaces(archive) {
			text := func(i int) []byte { return []byte(w.files[fuzzed[i]]) }
			f.Add(text(0), text(1), text(2), text(3), text(4), text(5), text(6), text(7))
		}
	}
	f.Fuzz(func(t *testing.T, plan, config, settings, variables, soul, evaluation, servers, learned []byte) {
		st := workspace.NewMem()
		for i, text := range [][]byte{plan, config, settings, variables, soul, evaluation, servers, learned} {
			if len(text) > 0 {
				require.NoError(t, st.WriteFile(t.Context(), fuzzed[i], text, workspace.Lazy))
			}
		}
		before := contentOf(t, st, ".")
		for _, d := range offlineFindings(t, workspace.New(st)) {
			if d.Code == "" || d.Message == "" || d.Hint == "" {
				t.Fatalf("incomplete diagnostic %+v", d)
			}
		}
		require.Equal(t, before, contentOf(t, st, "."))
	})
}
