//go:build unix

package workspace_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

func TestNoLinkLeadsOutOfADir(t *testing.T) {
	t.Parallel()
	outside, inside := t.TempDir(), t.TempDir()
	secret := filepath.Join(outside, "secret")
	require.NoError(t, os.WriteFile(secret, []byte("secret"), 0o600))
	require.NoError(t, os.Symlink(outside, filepath.Join(inside, "absolute")))
	relative, err := filepath.Rel(inside, outside)
	require.NoError(t, err)
	require.NoError(t, os.Symlink(relative, filepath.Join(inside, "relative")))
	st, ctx := openDir(t, inside), t.Context()
	for _, link := range []string{"absolute", "relative"} {
		name := link + "/secret"
		_, err := st.ReadFile(ctx, name)
		assert.Error(t, err)
		_, err = st.Stat(ctx, name)
		assert.Error(t, err)
		_, err = st.ReadDir(ctx, link)
		assert.Error(t, err)
		_, err = st.TryLock(ctx, name, "me")
		assert.Error(t, err)
		assert.Error(t, st.WriteFile(ctx, name, nil, workspace.Durable))
		assert.Error(t, st.WriteFile(ctx, link+"/new/file", nil, workspace.Durable))
		assert.Error(t, st.AppendAt(ctx, name, 6, []byte("x")))
		assert.Error(t, st.AppendAt(ctx, link+"/new", 0, []byte("x")))
		assert.Error(t, st.Truncate(ctx, name, 0))
		assert.Error(t, st.Rename(ctx, name, "stolen"))
		assert.Error(t, st.Remove(ctx, name))
		assert.Error(t, st.MkdirAll(ctx, link+"/folder"))
		require.NoError(t, st.WriteFile(ctx, "own", nil, workspace.Lazy))
		assert.Error(t, st.Rename(ctx, "own", link+"/own"))
		require.NoError(t, st.Remove(ctx, link), "the link itself can go")
	}
	data, err := os.ReadFile(secret)
	require.NoError(t, err)
	assert.Equal(t, "secret", string(data))
	entries, err := os.ReadDir(outside)
	require.NoError(t, err)
	assert.Len(t, entries, 1)
}

func TestALinkPutInTheWayLaterDoesNotLeadAppendsOut(t *testing.T) {
	t.Parallel()
	outside, inside := t.TempDir(), t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "log"), []byte("x"), 0o600))
	st := openDir(t, inside)
	require.NoError(t, st.AppendAt(t.Context(), "a/log", 0, []byte("x")))
	require.NoError(t, os.Rename(filepath.Join(inside, "a"), filepath.Join(inside, "b")))
	require.NoError(t, os.Symlink(outside, filepath.Join(inside, "a")))
	require.Error(t, st.AppendAt(t.Context(), "a/log", 1, []byte("y")))
	data, err := os.ReadFile(filepath.Join(outside, "log"))
	require.NoError(t, err)
	assert.Equal(t, "x", string(data))
}

func TestAppendsFollowTheNameWhenAnotherProcessReplacesMovesOrRemovesTheFile(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	st, ctx := openDir(t, path), t.Context()
	log := filepath.Join(path, "a", "log")
	require.NoError(t, st.AppendAt(ctx, "a/log", 0, []byte("one")))

	require.NoError(t, os.WriteFile(filepath.Join(path, "other"), []byte("other"), 0o600))
	require.NoError(t, os.Rename(filepath.Join(path, "other"), log))
	require.ErrorIs(t, st.AppendAt(ctx, "a/log", 3, []byte("x")), workspace.ErrConflict)
	require.NoError(t, st.AppendAt(ctx, "a/log", 5, []byte("!")))

	require.NoError(t, os.Rename(filepath.Join(path, "a"), filepath.Join(path, "b")))
	require.ErrorIs(t, st.AppendAt(ctx, "a/log", 6, []byte("x")), fs.ErrNotExist)
	require.NoError(t, st.AppendAt(ctx, "a/log", 0, []byte("two")))

	require.NoError(t, os.Remove(log))
	require.ErrorIs(t, st.AppendAt(ctx, "a/log", 3, []byte("x")), fs.ErrNotExist)
	require.NoError(t, st.AppendAt(ctx, "a/log", 0, []byte("three")))
	for name, want := range map[string]string{"a/log": "three", "b/log": "other!"} {
		data, err := st.ReadFile(ctx, name)
		require.NoError(t, err)
		assert.Equal(t, want, string(data))
	}
}

func TestAnAppendGivesUpWaitingForALockedFileWithItsContext(t *testing.T) {
	t.Parallel()
	st := openDir(t, t.TempDir())
	lock, err := st.TryLock(t.Context(), "file", "")
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	require.ErrorIs(t, st.AppendAt(ctx, "file", 0, []byte("x")), context.DeadlineExceeded)
	require.NoError(t, lock.Unlock())
	require.NoError(t, st.AppendAt(t.Context(), "file", 0, []byte("x")))
}

func TestWhatACrashedWriterLeftIsInvisibleAndRemovedOnceItIsOld(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	st, ctx := openDir(t, path), t.Context()
	fresh, stale := filepath.Join(path, ".treadle-tmp-fresh"), filepath.Join(path, ".treadle-tmp-stale")
	require.NoError(t, os.WriteFile(fresh, nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(stale, "sub"), 0o700))
	old := time.Now().Add(-2 * time.Hour)
	require.NoError(t, os.Chtimes(stale, old, old))
	entries, err := st.ReadDir(ctx, ".")
	require.NoError(t, err)
	assert.Empty(t, entries)
	assert.FileExists(t, fresh)
	assert.NoDirExists(t, stale)
}

func TestNothingTemporaryStaysBehindAWriteThatFails(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	st := openDir(t, path)
	require.NoError(t, os.Mkdir(filepath.Join(path, "folder"), 0o700))
	require.Error(t, st.WriteFile(t.Context(), "folder", []byte("x"), workspace.Lazy))
	require.NoError(t, st.WriteFile(t.Context(), "file", []byte("x"), workspace.Durable))
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	assert.Len(t, entries, 2)
}

func TestANamedPipeBlocksNobody(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	st, ctx := openDir(t, path), t.Context()
	require.NoError(t, syscall.Mkfifo(filepath.Join(path, "pipe"), 0o600))
	_, err := st.ReadFile(ctx, "pipe")
	require.Error(t, err)
	_, err = st.ReadDir(ctx, "pipe")
	require.Error(t, err)
	_, err = st.TryLock(ctx, "pipe", "me")
	require.Error(t, err)
	require.Error(t, st.AppendAt(ctx, "pipe", 0, []byte("x")))
	require.Error(t, st.Truncate(ctx, "pipe", 0))
	require.NoError(t, st.Remove(ctx, "pipe"))
}

func TestWriteFileKeepsThePermissionsOfTheFileThatItReplaces(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	st := openDir(t, path)
	script := filepath.Join(path, "main.py")
	require.NoError(t, os.WriteFile(script, nil, 0o600))
	require.NoError(t, os.Chmod(script, 0o777))
	require.NoError(t, st.WriteFile(t.Context(), "main.py", []byte("new"), workspace.Lazy))
	info, err := os.Stat(script)
	require.NoError(t, err)
	assert.Equal(t, fs.FileMode(0o777), info.Mode().Perm())
}

func TestErrorsNameThePathInTheStorageAndNotOnTheDisk(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	st, ctx := openDir(t, path), t.Context()
	require.NoError(t, st.WriteFile(ctx, "folder/file", nil, workspace.Lazy))
	_, readErr := st.ReadFile(ctx, "folder")
	_, missingErr := st.ReadFile(ctx, "folder/no")
	for _, err := range []error{
		readErr, missingErr,
		st.AppendAt(ctx, "folder", 0, nil),
		st.WriteFile(ctx, "folder", nil, workspace.Lazy),
		st.WriteFile(ctx, "folder/file/below", nil, workspace.Lazy),
		st.Rename(ctx, "folder/no", "b"),
		st.Rename(ctx, "folder", "folder/file"),
	} {
		require.Error(t, err)
		assert.Contains(t, err.Error(), "folder")
		assert.NotContains(t, err.Error(), path)
	}
}

func TestOpenFilesStayFewHoweverManyAreAppendedTo(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	st := openDir(t, path)
	for i := range 300 {
		require.NoError(t, st.AppendAt(t.Context(), fmt.Sprintf("logs/%d", i), 0, []byte("x")))
	}
	assert.LessOrEqual(t, openBelow(t, path), 40)
	require.NoError(t, st.Remove(t.Context(), "logs"))
	assert.LessOrEqual(t, openBelow(t, path), 3)
}

// openBelow counts the descriptors of this process that lead below a folder.
func openBelow(t *testing.T, folder string) int {
	t.Helper()
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("this operating system has no /proc")
	}
	count := 0
	for _, link := range links {
		target, err := os.Readlink("/proc/self/fd/" + link.Name())
		if err == nil && strings.HasPrefix(target, folder) {
			count++
		}
	}
	return count
}

func TestClosingADirReleasesItsLocks(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	first, err := workspace.NewDir(path)
	require.NoError(t, err)
	_, err = first.TryLock(t.Context(), "lock", "first")
	require.NoError(t, err)
	second := openDir(t, path)
	_, err = second.TryLock(t.Context(), "lock", "second")
	require.ErrorIs(t, err, workspace.ErrHeld)
	require.NoError(t, first.Close())
	_, err = second.TryLock(t.Context(), "lock", "second")
	require.NoError(t, err)
}
