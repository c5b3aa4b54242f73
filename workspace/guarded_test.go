package workspace_test

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

const workDir = "runs/iteration-1/work/fetch/visit/1"

// guarded is a workspace on disk whose step may write its work folder and db, and read
// docs, db/fixed and one file.
type guarded struct {
	dir   string
	ws    *workspace.Workspace
	files *workspace.GuardedFiles
}

func setupGuarded(t *testing.T) *guarded {
	t.Helper()
	g := &guarded{dir: t.TempDir()}
	for name, text := range map[string]string{
		"planning/plan.json":             "the plan",
		"runs/iteration-1/journal.jsonl": "the journal",
		"soul/soul.md":                   "the soul",
		"soul/other.md":                  "not for this step",
		"docs/a.md":                      "a document",
		"db/fixed/ref.json":              "fixed",
		"db/data.json":                   "data",
		workDir + "/own.txt":             "own",
	} {
		path := filepath.Join(g.dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	ws, err := workspace.OpenDir(g.dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, ws.Close()) })
	g.ws = ws
	guard := &workspace.Guard{Write: []string{workDir, "db"}, Read: []string{"docs", "db/fixed", "soul/soul.md"}}
	g.files = guard.Open(ws)
	return g
}

func (g *guarded) path(name string) string { return filepath.Join(g.dir, filepath.FromSlash(name)) }

// link makes a symbolic link in the workspace, as a command in the work folder could.
func (g *guarded) link(t *testing.T, target, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, g.path(name)))
}

func (g *guarded) text(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(g.path(name))
	require.NoError(t, err)
	return string(data)
}

func TestGuardedFilesReadAndWriteWhatTheGuardAllows(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	ctx := t.Context()
	for name, want := range map[string]string{"docs/a.md": "a document", "soul/soul.md": "the soul", "db/fixed/ref.json": "fixed", workDir + "/own.txt": "own", "db/./x/../data.json": "data"} {
		data, err := g.files.ReadFile(ctx, name, 0)
		require.NoError(t, err, name)
		assert.Equal(t, want, string(data))
		info, err := g.files.Stat(ctx, name)
		require.NoError(t, err, name)
		assert.Equal(t, int64(len(want)), info.Size())
	}
	require.NoError(t, g.files.WriteFile(ctx, workDir+"/new/deep/file.txt", []byte("x"), workspace.Durable))
	require.NoError(t, g.files.WriteFile(ctx, "db/data.json", []byte("y"), workspace.Lazy))
	assert.Equal(t, "x", g.text(t, workDir+"/new/deep/file.txt"))
	assert.Equal(t, "y", g.text(t, "db/data.json"))
	entries, err := g.files.ReadDir(ctx, workDir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	assert.Equal(t, "new", entries[0].Name())
	require.NoError(t, g.files.Remove(ctx, "db/data.json"))
	require.NoError(t, g.files.Remove(ctx, "db/data.json"))
	assert.NoFileExists(t, g.path("db/data.json"))
	assert.Error(t, g.files.Remove(ctx, workDir), "a folder")
}

func TestGuardedFilesRefuseEverythingElse(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	ctx := t.Context()
	for _, name := range []string{"planning/plan.json", "runs/iteration-1/journal.jsonl", "soul/other.md", "soul", "db/../planning/plan.json", "../x", "/etc/passwd", "", "."} {
		_, err := g.files.ReadFile(ctx, name, 0)
		assert.ErrorIs(t, err, workspace.ErrGuard, name)
		_, err = g.files.Stat(ctx, name)
		assert.ErrorIs(t, err, workspace.ErrGuard, name)
		_, err = g.files.ReadDir(ctx, name)
		assert.ErrorIs(t, err, workspace.ErrGuard, name)
	}
	for _, name := range []string{"planning/plan.json", "docs/a.md", "docs/new.md", "soul/soul.md", "db/fixed/ref.json", "db/fixed/new.json", "db/fixed"} {
		assert.ErrorIs(t, g.files.WriteFile(ctx, name, []byte("x"), workspace.Lazy), workspace.ErrGuard, name)
		assert.ErrorIs(t, g.files.Remove(ctx, name), workspace.ErrGuard, name)
	}
	var none *workspace.Guard
	_, err := none.Open(g.ws).ReadFile(ctx, "docs/a.md", 0)
	assert.ErrorIs(t, err, workspace.ErrGuard)
}

func TestALinkLeadsNowhereOutOfItsName(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	ctx := t.Context()
	g.link(t, "../../../../../../planning/plan.json", workDir+"/plan")
	g.link(t, g.path("planning/plan.json"), workDir+"/absolute")
	g.link(t, "../../../../../../planning", workDir+"/folder")
	g.link(t, "/etc/passwd", workDir+"/passwd")
	g.link(t, "../../../../../../docs/a.md", workDir+"/allowed-elsewhere")
	g.link(t, "loop", workDir+"/loop")
	for _, name := range []string{"plan", "absolute", "folder/plan.json", "folder", "passwd", "allowed-elsewhere", "loop"} {
		_, err := g.files.ReadFile(ctx, workDir+"/"+name, 0)
		assert.Error(t, err, name)
		_, err = g.files.Stat(ctx, workDir+"/"+name)
		assert.Error(t, err, name)
		assert.Error(t, g.files.WriteFile(ctx, workDir+"/"+name, []byte("x"), workspace.Lazy), name)
	}
	_, err := g.files.ReadFile(ctx, workDir+"/plan", 0)
	require.ErrorIs(t, err, workspace.ErrGuard)
	require.ErrorIs(t, err, workspace.ErrGuardLink)
	_, err = g.files.ReadDir(ctx, workDir+"/folder")
	require.ErrorIs(t, err, workspace.ErrGuardLink)
	assert.ErrorIs(t, g.files.WriteFile(ctx, workDir+"/folder/new.json", []byte("x"), workspace.Lazy), workspace.ErrGuardLink)
	assert.ErrorIs(t, g.files.Remove(ctx, workDir+"/folder/plan.json"), workspace.ErrGuardLink)
	assert.Equal(t, "the plan", g.text(t, "planning/plan.json"))
	assert.NoFileExists(t, g.path("planning/new.json"))
	require.NoError(t, g.files.Remove(ctx, workDir+"/plan"), "the link itself may go")
	assert.Equal(t, "the plan", g.text(t, "planning/plan.json"))
}

func TestFoldersAreMadeThroughNoLink(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	ctx := t.Context()
	require.NoError(t, g.files.MkdirAll(ctx, "db/a/b"))
	require.NoError(t, g.files.MkdirAll(ctx, "db/a/b"))
	assert.DirExists(t, g.path("db/a/b"))
	require.NoError(t, g.ws.Storage().WriteFile(ctx, "db/a/b/c", nil, workspace.Lazy))
	require.NoError(t, g.ws.Storage().Remove(ctx, "db/a/b/c"))
	assert.DirExists(t, g.path("db/a/b"), "it stays when the storage empties it")
	g.link(t, "../planning", "db/door")
	g.link(t, "fixed", "db/inner")
	g.link(t, "../planning/made", "db/dangling")
	for _, name := range []string{"db/door/made", "db/door", "db/inner/made", "db/dangling", "db/fixed/made", "planning/made", "docs/made", "db/data.json", "db/data.json/made"} {
		assert.Error(t, g.files.MkdirAll(ctx, name), name)
	}
	assert.NoDirExists(t, g.path("planning/made"))
	assert.NoDirExists(t, g.path("db/fixed/made"))
}

func TestALinkInsideIsReadAndNotWritten(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	g.link(t, "own.txt", workDir+"/alias")
	data, err := g.files.ReadFile(t.Context(), workDir+"/alias", 0)
	require.NoError(t, err)
	assert.Equal(t, "own", string(data))
	assert.ErrorIs(t, g.files.WriteFile(t.Context(), workDir+"/alias", nil, workspace.Lazy), workspace.ErrGuardLink)
}

func TestWhatIsReadOnlyInsideAWritableNameStaysSoThroughLinks(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	ctx := t.Context()
	g.link(t, "fixed", "db/door")
	g.link(t, "fixed/ref.json", "db/ref")
	for _, name := range []string{"db/door/ref.json", "db/door/new.json", "db/ref"} {
		assert.ErrorIs(t, g.files.WriteFile(ctx, name, []byte("x"), workspace.Lazy), workspace.ErrGuard, name)
	}
	assert.ErrorIs(t, g.files.Remove(ctx, "db/door/ref.json"), workspace.ErrGuard)
	assert.Equal(t, "fixed", g.text(t, "db/fixed/ref.json"))
	data, err := g.files.ReadFile(ctx, "db/ref", 0)
	require.NoError(t, err)
	assert.Equal(t, "fixed", string(data))
}

// TestANameOfTheGuardThatIsALinkIsRefused is about names inside a writable one, which a
// command could make.
func TestANameOfTheGuardThatIsALinkIsRefused(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	ctx := t.Context()
	guard := &workspace.Guard{Write: []string{"db"}, Read: []string{"db/extra", "db/one.json", "alias"}}
	files := guard.Open(g.ws)
	g.link(t, "../planning", "db/extra")
	g.link(t, "../planning/plan.json", "db/one.json")
	g.link(t, "planning", "alias")
	for _, name := range []string{"db/extra/plan.json", "db/one.json", "alias/plan.json"} {
		_, err := files.ReadFile(ctx, name, 0)
		assert.ErrorIs(t, err, workspace.ErrGuardLink, name)
		_, err = files.Stat(ctx, name)
		assert.ErrorIs(t, err, workspace.ErrGuardLink, name)
	}
	_, err := files.ReadDir(ctx, "db/extra")
	assert.ErrorIs(t, err, workspace.ErrGuardLink)
}

func TestNoMoreIsReadThanTheCallerWants(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	require.NoError(t, os.Truncate(g.path(workDir+"/own.txt"), 1<<40))
	_, err := g.files.ReadFile(t.Context(), workDir+"/own.txt", 1000)
	assert.ErrorIs(t, err, workspace.ErrTooLarge)
	assert.ErrorContains(t, err, "1099511627776")
}

func TestWritingReplacesAFileAndLeavesItsOtherNamesAlone(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	require.NoError(t, os.Link(g.path("planning/plan.json"), g.path(workDir+"/hard")))
	require.NoError(t, g.files.WriteFile(t.Context(), workDir+"/hard", []byte("x"), workspace.Lazy))
	assert.Equal(t, "the plan", g.text(t, "planning/plan.json"))
}

// TestSwappingAFolderForALinkNeverLeadsOut runs reads and writes against an attacker who
// swaps a folder and a file for links out of the work folder, over and over.
func TestSwappingAFolderForALinkNeverLeadsOut(t *testing.T) {
	t.Parallel()
	g := setupGuarded(t)
	require.NoError(t, os.Mkdir(g.path("victim"), 0o755))
	require.NoError(t, os.WriteFile(g.path("victim/file"), []byte("secret"), 0o644))
	sub := g.path(workDir + "/sub")
	require.NoError(t, os.Mkdir(sub, 0o755))
	require.NoError(t, os.Symlink(g.path("victim"), g.path(workDir+"/link")))
	ctx, stop := context.WithCancel(t.Context())
	linger := func() { // so that both states are met
		for range rand.IntN(200) {
			_, _ = os.Lstat(sub)
		}
	}
	var attacker sync.WaitGroup
	attacker.Go(func() {
		spare := g.path(workDir + "/spare")
		link := g.path(workDir + "/link")
		for ctx.Err() == nil {
			_ = os.Rename(sub, spare)
			_ = os.Rename(link, sub)
			linger()
			_ = os.Rename(sub, link)
			_ = os.Rename(spare, sub)
			linger()
		}
	})
	outcomes := map[bool]int{}
	for range 400 {
		err := g.files.WriteFile(t.Context(), workDir+"/sub/file", []byte("mine"), workspace.Lazy)
		outcomes[err == nil]++
		data, err := g.files.ReadFile(t.Context(), workDir+"/sub/file", 0)
		if err == nil && string(data) != "mine" {
			t.Errorf("read %q", data)
		}
		_ = g.files.Remove(t.Context(), workDir+"/sub/file")
	}
	stop()
	attacker.Wait()
	assert.Equal(t, "secret", g.text(t, "victim/file"))
	entries, err := os.ReadDir(g.path("victim"))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	t.Logf("writes done and refused: %v", outcomes)
}

func TestGuardedFilesWorkOnAnyStorage(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	ws := workspace.New(workspace.NewMem())
	require.NoError(t, ws.Storage().WriteFile(ctx, "docs/a", []byte("text"), workspace.Lazy))
	require.NoError(t, ws.Storage().WriteFile(ctx, "db/fixed/a", []byte("text"), workspace.Lazy))
	files := (&workspace.Guard{Write: []string{"db"}, Read: []string{"docs", "db/fixed"}}).Open(ws)
	data, err := files.ReadFile(ctx, "docs/a", 4)
	require.NoError(t, err)
	assert.Equal(t, "text", string(data))
	_, err = files.ReadFile(ctx, "docs/a", 3)
	assert.ErrorIs(t, err, workspace.ErrTooLarge)
	_, err = files.ReadFile(ctx, "docs/none", 3)
	assert.ErrorIs(t, err, fs.ErrNotExist)
	assert.ErrorIs(t, files.WriteFile(ctx, "docs/a", nil, workspace.Lazy), workspace.ErrGuard)
	assert.ErrorIs(t, files.WriteFile(ctx, "db/fixed/a", nil, workspace.Lazy), workspace.ErrGuard)
	require.NoError(t, files.MkdirAll(ctx, "db/folder"))
	require.NoError(t, files.WriteFile(ctx, "db/a", []byte("x"), workspace.Lazy))
	entries, err := files.ReadDir(ctx, "db")
	require.NoError(t, err)
	assert.Len(t, entries, 2)
	assert.Error(t, files.Remove(ctx, "db"))
	require.NoError(t, files.Remove(ctx, "db/a"))
	_, err = files.Stat(ctx, "db/a")
	assert.ErrorIs(t, err, fs.ErrNotExist)
	canceled, stop := context.WithCancel(ctx)
	stop()
	_, err = files.ReadFile(canceled, "docs/a", 0)
	assert.ErrorIs(t, err, context.Canceled)
}
