package tools

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

func TestAPathIsReadAsModelsMeanIt(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	s.write(workDir+"/db/local.json", "")
	s.write("db/both.json", "")
	s.write(workDir+"/db/both.json", "")
	p := paths{scope: &s.scope, files: s.scope.Guard.Open(s.scope.Workspace)}
	for given, want := range map[string]string{
		"a.txt":                   workDir + "/a.txt",
		"planning/plan.json":      "planning/plan.json",
		"./planning/plan.json":    workDir + "/planning/plan.json",
		"planning":                workDir + "/planning",
		"inputs/a.txt":            "inputs/a.txt",
		"./inputs/a.txt":          workDir + "/inputs/a.txt",
		"db/new.json":             "db/new.json",
		"db/local.json":           workDir + "/db/local.json",
		workDir + "/a":            workDir + "/a",
		s.path("db/both.json"):    "db/both.json",
		s.path("planning/x"):      "planning/x",
		s.dir + "/db/../soul//a/": "soul/a",
		s.dir:                     ".",
		"..":                      "runs/iteration-1/work/fetch/visit",
		"../../../../../../db/a":  "db/a",
		"a/../b":                  workDir + "/b",
	} {
		name, err := p.resolve(t.Context(), given)
		require.NoError(t, err, given)
		assert.Equal(t, want, name, given)
	}
	_, err := p.resolve(t.Context(), "db/both.json")
	require.EqualError(t, err, `path "db/both.json": it could be `+s.path(workDir+"/db/both.json")+" or "+s.path("db/both.json")+"; give one of these")
	for _, given := range []string{"", "\x00", "a\nb", "a\x7f", "\xff", "/etc/passwd", s.dir + "-sibling/x", s.dir + "/..", "../../../../../../../x", "/tmp/x"} {
		_, err := p.resolve(t.Context(), given)
		var wrong *PathError
		assert.ErrorAs(t, err, &wrong, "%q", given)
	}
}

func TestNoPathLeadsOutOfTheGuard(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	p := paths{scope: &s.scope, files: s.scope.Guard.Open(s.scope.Workspace)}
	piece := rapid.SampledFrom([]string{"..", ".", "", "/", "db", "runs", "planning", "a", s.dir, "iteration-1", "plan.json"})
	rapid.Check(t, func(t *rapid.T) {
		var given string
		for _, next := range rapid.SliceOfN(piece, 1, 9).Draw(t, "pieces") {
			given += next + "/"
		}
		name, err := p.resolve(s.t.Context(), given)
		if err != nil {
			return
		}
		_, err = p.files.ReadFile(s.t.Context(), name, 0)
		if s.scope.Guard.Access(name) == workspace.NoAccess {
			require.ErrorIs(t, err, workspace.ErrGuard)
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, given := range []string{"a", "../a", "/a", "db/../x", "a\x00", ""} {
		f.Add(given)
	}
	ws := workspace.New(workspace.NewMem())
	guard := &workspace.Guard{Write: []string{"work", "db"}}
	f.Fuzz(func(t *testing.T, given string) {
		p := paths{scope: &agent.Scope{Workspace: ws, WorkDir: "work", Guard: guard}, files: guard.Open(ws)}
		name, err := p.resolve(t.Context(), given)
		if err == nil && guard.Access(name) == workspace.WriteAccess {
			require.True(t, name == "work" || name == "db" || strings.HasPrefix(name, "work/") || strings.HasPrefix(name, "db/"), name)
		}
	})
}
