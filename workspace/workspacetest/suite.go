package workspacetest

import (
	"context"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

// TestStorage checks an implementation of [workspace.Storage] against all that
// the port promises, short of a power failure. Each call of open gives a new, empty
// storage, and cleans up with t.Cleanup. A [workspace.LocalStorage] is checked as
// one.
func TestStorage(t *testing.T, open func(t *testing.T) workspace.Storage) {
	groups := []struct {
		name  string
		tests []storageTest
	}{
		{"names", nameTests},
		{"reading", readTests},
		{"writing", writeTests},
		{"appending", appendTests},
		{"truncating", truncateTests},
		{"renaming", renameTests},
		{"removing", removeTests},
		{"locking", lockTests},
		{"cancelling", cancelTests},
		{"concurrent use", concurrencyTests},
		{"local files", localTests},
	}
	for _, group := range groups {
		t.Run(group.name, func(t *testing.T) {
			t.Parallel()
			for _, test := range group.tests {
				t.Run(test.name, func(t *testing.T) {
					t.Parallel()
					test.run(&subject{t: t, ctx: t.Context(), st: open(t)})
				})
			}
		})
	}
}

// storageTest is one sentence of the port.
type storageTest struct {
	name string
	run  func(s *subject)
}

// subject is the storage under test with what the tests say again and again.
type subject struct {
	t   *testing.T
	ctx context.Context
	st  workspace.Storage
}

// write makes files with their own names as content.
func (s *subject) write(names ...string) {
	s.t.Helper()
	for _, name := range names {
		require.NoError(s.t, s.st.WriteFile(s.ctx, name, []byte(name), workspace.Lazy))
	}
}

func (s *subject) append(name string, offset int64, data string) {
	s.t.Helper()
	require.NoError(s.t, s.st.AppendAt(s.ctx, name, offset, []byte(data)))
}

func (s *subject) holds(name, content string) {
	s.t.Helper()
	data, err := s.st.ReadFile(s.ctx, name)
	require.NoError(s.t, err)
	require.Equal(s.t, content, string(data), name)
}

func (s *subject) missing(names ...string) {
	s.t.Helper()
	for _, name := range names {
		_, err := s.st.Stat(s.ctx, name)
		require.ErrorIs(s.t, err, fs.ErrNotExist, name)
	}
}

// lists requires the entries of a folder, folders with a slash behind.
func (s *subject) lists(folder string, want ...string) {
	s.t.Helper()
	entries, err := s.st.ReadDir(s.ctx, folder)
	require.NoError(s.t, err)
	got := []string{}
	for _, entry := range entries {
		name := entry.Name()
		if entry.IsDir() {
			name += "/"
		}
		got = append(got, name)
	}
	require.Equal(s.t, append([]string{}, want...), got, folder)
}

// all calls every operation on a name and returns their errors by kind.
func (s *subject) all(ctx context.Context, name string) map[Kind]error {
	errs := s.changing(ctx, name)
	_, errs[ReadFile] = s.st.ReadFile(ctx, name)
	_, errs[ReadDir] = s.st.ReadDir(ctx, name)
	_, errs[Stat] = s.st.Stat(ctx, name)
	return errs
}

// changing calls every operation that cannot be about the root.
func (s *subject) changing(ctx context.Context, name string) map[Kind]error {
	_, lockErr := s.st.TryLock(ctx, name, "somebody")
	return map[Kind]error{
		WriteFile:     s.st.WriteFile(ctx, name, []byte("x"), workspace.Durable),
		AppendAt:      s.st.AppendAt(ctx, name, 0, []byte("x")),
		Truncate:      s.st.Truncate(ctx, name, 0),
		Rename:        s.st.Rename(ctx, name, "free"),
		Rename + "To": s.st.Rename(ctx, "there", name),
		Remove:        s.st.Remove(ctx, name),
		TryLock:       lockErr,
	}
}

var cancelTests = []storageTest{
	{"does nothing when the context is done", func(s *subject) {
		s.write("there", "folder/file")
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		for _, name := range []string{"there", "folder", "new"} {
			for kind, err := range s.all(ctx, name) {
				assert.ErrorIs(s.t, err, context.Canceled, "%s %s", kind, name)
			}
		}
		s.lists(".", "folder/", "there")
		s.holds("there", "there")
	}},
	{"says that the deadline has passed", func(s *subject) {
		ctx, cancel := context.WithTimeout(s.ctx, 0)
		defer cancel()
		for kind, err := range s.all(ctx, "new") {
			assert.ErrorIs(s.t, err, context.DeadlineExceeded, kind)
		}
		s.lists(".")
	}},
}

var localTests = []storageTest{
	{"shows itself as a file system", func(s *subject) {
		s.write("a", "b/c", "b/d/e", "f.json")
		require.NoError(s.t, fstest.TestFS(workspace.FS(s.ctx, s.st), "a", "b/c", "b/d/e", "f.json"))
	}},
	{"has the file of a name at its local path", func(s *subject) {
		local := s.local()
		s.write("a/b")
		path, ok := local.LocalPath("a/b")
		require.True(s.t, ok)
		requireFile(s.t, path, "a/b")
		_, ok = local.LocalPath("not/there")
		assert.True(s.t, ok, "the file need not exist")
		for _, name := range badNames {
			_, ok := local.LocalPath(name)
			assert.False(s.t, ok, "%q", name)
		}
	}},
	{"makes folders that stay although they are empty", func(s *subject) {
		local := s.local()
		require.NoError(s.t, local.MkdirAll(s.ctx, "work/fetch/1"))
		require.NoError(s.t, local.MkdirAll(s.ctx, "work/fetch/1"), "once more")
		s.write("work/fetch/1/file")
		require.NoError(s.t, s.st.Remove(s.ctx, "work/fetch/1/file"))
		info, err := s.st.Stat(s.ctx, "work/fetch/1")
		require.NoError(s.t, err)
		assert.True(s.t, info.IsDir())
		require.NoError(s.t, s.st.Rename(s.ctx, "work/fetch/1", "execution/fetch"))
		s.lists("execution", "fetch/")
		s.missing("work")
	}},
	{"makes no folder in the place of a file or under a bad name", func(s *subject) {
		local := s.local()
		s.write("file")
		require.Error(s.t, local.MkdirAll(s.ctx, "file"))
		require.Error(s.t, local.MkdirAll(s.ctx, "file/below"))
		for _, name := range badNames {
			assert.ErrorIs(s.t, local.MkdirAll(s.ctx, name), fs.ErrInvalid, "%q", name)
		}
		ctx, cancel := context.WithCancel(s.ctx)
		cancel()
		require.ErrorIs(s.t, local.MkdirAll(ctx, "new"), context.Canceled)
		s.lists(".", "file")
	}},
}

// local returns the local side of the storage; without one the test has no subject.
func (s *subject) local() workspace.LocalStorage {
	s.t.Helper()
	local, ok := s.st.(workspace.LocalStorage)
	if !ok {
		s.t.Skip("the storage has no local paths")
	}
	return local
}

// requirePlain requires an error that is none of the kinds that callers act upon.
func requirePlain(t *testing.T, err error) {
	t.Helper()
	require.Error(t, err)
	for _, kind := range []error{fs.ErrNotExist, fs.ErrExist, workspace.ErrConflict, workspace.ErrHeld} {
		require.NotErrorIs(t, err, kind)
	}
}
