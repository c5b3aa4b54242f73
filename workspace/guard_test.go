package workspace_test

import (
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/workspace"
)

func TestTheMostSpecificNameDecides(t *testing.T) {
	t.Parallel()
	guard := &workspace.Guard{
		Write: []string{"runs/iteration-1/work/fetch/visit/1", "db", "docs/open", "both"},
		Read:  []string{"docs", "db/reference", "soul/soul.md", "both"},
	}
	for name, want := range map[string]workspace.Access{
		"db":                             workspace.WriteAccess,
		"db/a/b.json":                    workspace.WriteAccess,
		"db/reference":                   workspace.ReadAccess,
		"db/reference/a":                 workspace.ReadAccess,
		"db/reference2":                  workspace.WriteAccess,
		"docs/a":                         workspace.ReadAccess,
		"docs/open/a":                    workspace.WriteAccess,
		"soul/soul.md":                   workspace.ReadAccess,
		"soul/soul.md.bak":               workspace.NoAccess,
		"soul":                           workspace.NoAccess,
		"both/a":                         workspace.ReadAccess,
		"dbx":                            workspace.NoAccess,
		"runs/iteration-1/work/fetch":    workspace.NoAccess,
		"runs/iteration-1/journal.jsonl": workspace.NoAccess,
		".":                              workspace.NoAccess,
	} {
		assert.Equal(t, want, guard.Access(name), name)
	}
}

func TestNoSpellingOfANamePassesTheGuard(t *testing.T) {
	t.Parallel()
	guard := &workspace.Guard{Write: []string{"db"}, Read: []string{"docs/"}}
	for _, name := range []string{
		"", ".", "..", "../db", "/db", "/db/a", "db/../planning/plan.json", "db/../../db/a", "./db/../soul", "db/a/../../planning",
		"db\x00", "db/a\x00b", `db\..\planning`, "DB/a", " db/a", "db /a", "//db/a", "db/" + strings.Repeat("x", 300), "db/.treadle-tmp-x",
	} {
		assert.Equal(t, workspace.NoAccess, guard.Access(name), "%q", name)
		assert.ErrorIs(t, guard.CheckRead(name), workspace.ErrGuard, "%q", name)
		assert.ErrorIs(t, guard.CheckWrite(name), workspace.ErrGuard, "%q", name)
	}
	for _, name := range []string{"db/a", "./db/a", "db//a", "db/./a/", "planning/../db/a"} {
		assert.NoError(t, guard.CheckWrite(name), "%q", name)
	}
	assert.NoError(t, guard.CheckRead("docs/a"))
	assert.ErrorIs(t, guard.CheckWrite("docs/a"), workspace.ErrGuard)
}

func TestAnEntryThatIsNoNameGrantsNothing(t *testing.T) {
	t.Parallel()
	guard := &workspace.Guard{Write: []string{"", "/", "/etc", "..", "../x", "a/../..", "db\x00"}}
	for _, name := range []string{"a", "etc/passwd", ".", "x", "db"} {
		assert.Equal(t, workspace.NoAccess, guard.Access(name), name)
	}
	var zero workspace.Guard
	assert.Equal(t, workspace.NoAccess, zero.Access("a"))
	whole := &workspace.Guard{Read: []string{"."}, Write: []string{"a"}}
	assert.Equal(t, workspace.ReadAccess, whole.Access("b/c"))
	assert.Equal(t, workspace.WriteAccess, whole.Access("a"))
}

func TestAGuardErrorTellsWhatIsAllowed(t *testing.T) {
	t.Parallel()
	guard := &workspace.Guard{Write: []string{"db"}, Read: []string{"docs"}}
	assert.EqualError(t, guard.CheckRead("planning/plan.json"), "this step may not read planning/plan.json; it may read: db, docs")
	assert.EqualError(t, guard.CheckWrite("docs/a"), "this step may not write docs/a; it may write: db")
	assert.EqualError(t, (&workspace.Guard{}).CheckRead("a"), "this step may not read a, nor anything else")
}

// TestAccessIsThatOfTheDeepestEntryOnTheWayUp compares with the rule told another way: go up from
// the name, element by element, until an entry is met.
func TestAccessIsThatOfTheDeepestEntryOnTheWayUp(t *testing.T) {
	t.Parallel()
	element := rapid.SampledFrom([]string{"a", "b", "ab", ".", "..", ""})
	names := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(element, 1, 5).Draw(t, "elements"), "/")
	})
	entry := names.Filter(func(name string) bool {
		clean := path.Clean(name)
		return name != "" && !path.IsAbs(clean) && clean != ".." && !strings.HasPrefix(clean, "../")
	})
	rapid.Check(t, func(t *rapid.T) {
		guard := &workspace.Guard{Write: rapid.SliceOfN(entry, 0, 4).Draw(t, "write"), Read: rapid.SliceOfN(entry, 0, 4).Draw(t, "read")}
		name := names.Draw(t, "name")
		covering, access := guard.Covering(name)
		wantCovering, want := climb(guard, name)
		require.Equal(t, want, access)
		require.Equal(t, wantCovering, covering)
		require.Equal(t, want >= workspace.ReadAccess, guard.CheckRead(name) == nil)
		require.Equal(t, want >= workspace.WriteAccess, guard.CheckWrite(name) == nil)
	})
}

func climb(guard *workspace.Guard, name string) (string, workspace.Access) {
	if name == "" {
		return "", workspace.NoAccess
	}
	name = path.Clean(name)
	if path.IsAbs(name) || name == ".." || strings.HasPrefix(name, "../") {
		return "", workspace.NoAccess
	}
	for at := name; ; at = path.Dir(at) {
		for _, entry := range guard.Read {
			if path.Clean(entry) == at {
				return at, workspace.ReadAccess
			}
		}
		for _, entry := range guard.Write {
			if path.Clean(entry) == at {
				return at, workspace.WriteAccess
			}
		}
		if at == "." {
			return "", workspace.NoAccess
		}
	}
}
