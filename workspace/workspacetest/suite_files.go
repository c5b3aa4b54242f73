package workspacetest

import (
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

// badNames are refused everywhere.
var badNames = []string{
	"", "/", "/etc/passwd", "..", "../out", "a/..", "a/../b", "a//b", "a/", "./a", "a/.", "a/./b",
	"a\x00b", "\xff", strings.Repeat("x", 256), "a/" + strings.Repeat("x", 256) + "/b",
	".treadle-tmp-", ".treadle-tmp-x", "a/.treadle-tmp-x/b",
}

// oddNames are unusual and allowed.
var oddNames = []string{
	"...", "..a", "a..", ".hidden", " ", "a b", "-rf", "~", "$HOME", "ä/ö/名前", "a\u0301", "new\u2028line",
	strings.Repeat("x", 255), strings.Repeat("d/", 60) + "deep", ".treadle", "x.treadle-tmp-y",
}

var nameTests = []storageTest{
	{"refuses names that are not valid in package fs", func(s *subject) {
		s.write("there")
		for _, name := range badNames {
			for kind, err := range s.all(s.ctx, name) {
				assert.ErrorIs(s.t, err, fs.ErrInvalid, "%s %q", kind, name)
			}
		}
		s.lists(".", "there")
	}},
	{"refuses the root where it makes no sense", func(s *subject) {
		s.write("there")
		for kind, err := range s.changing(s.ctx, ".") {
			assert.ErrorIs(s.t, err, fs.ErrInvalid, kind)
		}
		s.lists(".", "there")
	}},
	{"takes any other name", func(s *subject) {
		for _, name := range oddNames {
			s.write(name)
			s.holds(name, name)
			require.NoError(s.t, s.st.Remove(s.ctx, name))
		}
		s.lists(".")
	}},
	{"keeps names apart that look alike", func(s *subject) {
		s.write("a", "b/a", "ab", "b/ab")
		require.NoError(s.t, s.st.Remove(s.ctx, "a"))
		s.lists(".", "ab", "b/")
		s.lists("b", "a", "ab")
	}},
}

var readTests = []storageTest{
	{"gives the caller a slice of its own", func(s *subject) {
		data := []byte("content")
		require.NoError(s.t, s.st.WriteFile(s.ctx, "file", data, workspace.Lazy))
		data[0] = 'X'
		s.holds("file", "content")
		read, err := s.st.ReadFile(s.ctx, "file")
		require.NoError(s.t, err)
		read[0] = 'Y'
		_ = append(read, "more"...)
		s.holds("file", "content")
	}},
	{"says that a name does not exist", func(s *subject) {
		s.write("file")
		for _, name := range []string{"no", "no/no", "file/below", "file/below/it"} {
			_, err := s.st.ReadFile(s.ctx, name)
			assert.ErrorIs(s.t, err, fs.ErrNotExist, name)
			_, err = s.st.ReadDir(s.ctx, name)
			assert.ErrorIs(s.t, err, fs.ErrNotExist, name)
			_, err = s.st.Stat(s.ctx, name)
			assert.ErrorIs(s.t, err, fs.ErrNotExist, name)
		}
	}},
	{"reads no folder as a file and no file as a folder", func(s *subject) {
		s.write("folder/file")
		_, err := s.st.ReadFile(s.ctx, "folder")
		requirePlain(s.t, err)
		_, err = s.st.ReadFile(s.ctx, ".")
		requirePlain(s.t, err)
		_, err = s.st.ReadDir(s.ctx, "folder/file")
		requirePlain(s.t, err)
	}},
	{"lists a folder sorted by name", func(s *subject) {
		s.lists(".")
		s.write("b", "a-c", "a/x/y", "a.b", "c/z", "B", "a0")
		s.lists(".", "B", "a/", "a-c", "a.b", "a0", "b", "c/")
		s.lists("a", "x/")
		s.lists("a/x", "y")
	}},
	{"describes entries in a listing as Stat does", func(s *subject) {
		s.write("folder/file", "folder/sub/x")
		entries, err := s.st.ReadDir(s.ctx, "folder")
		require.NoError(s.t, err)
		for _, entry := range entries {
			listed, err := entry.Info()
			require.NoError(s.t, err)
			info, err := s.st.Stat(s.ctx, "folder/"+entry.Name())
			require.NoError(s.t, err)
			assert.Equal(s.t, info.Name(), listed.Name())
			assert.Equal(s.t, info.Mode(), listed.Mode())
			assert.Equal(s.t, info.Mode().Type(), entry.Type())
			if !info.IsDir() {
				assert.Equal(s.t, info.Size(), listed.Size())
			}
		}
	}},
	{"describes files and folders", func(s *subject) {
		before := time.Now().Add(-time.Minute)
		s.write("folder/file")
		info, err := s.st.Stat(s.ctx, "folder/file")
		require.NoError(s.t, err)
		assert.Equal(s.t, "file", info.Name())
		assert.Equal(s.t, int64(len("folder/file")), info.Size())
		assert.True(s.t, info.Mode().IsRegular())
		assert.True(s.t, info.ModTime().After(before), "modified now")
		for name, base := range map[string]string{"folder": "folder", ".": "."} {
			info, err := s.st.Stat(s.ctx, name)
			require.NoError(s.t, err)
			assert.Equal(s.t, base, info.Name())
			assert.True(s.t, info.IsDir())
		}
	}},
}

var writeTests = []storageTest{
	{"replaces the whole content", func(s *subject) {
		for _, sync := range []workspace.Sync{workspace.Lazy, workspace.Durable} {
			for _, content := range []string{"long content", "short", "", strings.Repeat("large ", 100_000)} {
				require.NoError(s.t, s.st.WriteFile(s.ctx, "a/b/file", []byte(content), sync))
				s.holds("a/b/file", content)
			}
		}
		s.lists("a/b", "file")
	}},
	{"writes an empty file that exists", func(s *subject) {
		require.NoError(s.t, s.st.WriteFile(s.ctx, "empty", nil, workspace.Durable))
		s.holds("empty", "")
		s.lists(".", "empty")
	}},
	{"replaces no folder, and nothing above a name that is a file", func(s *subject) {
		s.write("folder/file", "file")
		requirePlain(s.t, s.st.WriteFile(s.ctx, "folder", []byte("x"), workspace.Lazy))
		requirePlain(s.t, s.st.WriteFile(s.ctx, "file/below", []byte("x"), workspace.Lazy))
		requirePlain(s.t, s.st.WriteFile(s.ctx, "file/below/it", []byte("x"), workspace.Durable))
		s.holds("file", "file")
		s.lists(".", "file", "folder/")
		s.lists("folder", "file")
	}},
}

var appendTests = []storageTest{
	{"creates a missing file at offset 0 and goes on from its end", func(s *subject) {
		s.append("logs/run", 0, "one")
		s.append("logs/run", 3, "")
		s.append("logs/run", 3, "two")
		s.holds("logs/run", "onetwo")
	}},
	{"conflicts, changing nothing, when the file ends elsewhere", func(s *subject) {
		s.append("log", 0, "12345")
		for _, offset := range []int64{0, 4, 6, 1 << 40} {
			for _, data := range []string{"", "x"} {
				err := s.st.AppendAt(s.ctx, "log", offset, []byte(data))
				require.ErrorIs(s.t, err, workspace.ErrConflict, "offset %d", offset)
			}
		}
		s.holds("log", "12345")
		s.append("log", 5, "6")
		s.holds("log", "123456")
	}},
	{"conflicts with a missing file, and says that it is missing", func(s *subject) {
		s.write("file")
		for _, name := range []string{"no", "no/no", "file/below"} {
			err := s.st.AppendAt(s.ctx, name, 5, []byte("x"))
			require.ErrorIs(s.t, err, workspace.ErrConflict, name)
			require.ErrorIs(s.t, err, fs.ErrNotExist, name)
		}
		s.lists(".", "file")
	}},
	{"creates an empty file with empty data", func(s *subject) {
		s.append("folder/empty", 0, "")
		s.holds("folder/empty", "")
	}},
	{"refuses a negative offset", func(s *subject) {
		s.append("log", 0, "x")
		require.ErrorIs(s.t, s.st.AppendAt(s.ctx, "log", -1, nil), fs.ErrInvalid)
		require.ErrorIs(s.t, s.st.AppendAt(s.ctx, "new", -1, nil), fs.ErrInvalid)
		s.lists(".", "log")
	}},
	{"appends to no folder and below no file", func(s *subject) {
		s.write("folder/file")
		requirePlain(s.t, s.st.AppendAt(s.ctx, "folder", 0, []byte("x")))
		requirePlain(s.t, s.st.AppendAt(s.ctx, "folder/file/below", 0, []byte("x")))
		s.lists("folder", "file")
	}},
	{"follows the name through every other change", func(s *subject) {
		s.append("a/log", 0, "first")
		require.NoError(s.t, s.st.WriteFile(s.ctx, "a/log", []byte("new"), workspace.Lazy))
		s.append("a/log", 3, "er")
		s.holds("a/log", "newer")

		require.NoError(s.t, s.st.Rename(s.ctx, "a", "b"))
		require.ErrorIs(s.t, s.st.AppendAt(s.ctx, "a/log", 5, []byte("x")), fs.ErrNotExist)
		s.append("a/log", 0, "second")
		s.append("b/log", 5, "!")
		s.holds("a/log", "second")
		s.holds("b/log", "newer!")

		require.NoError(s.t, s.st.Truncate(s.ctx, "a/log", 3))
		s.append("a/log", 3, "ond")
		s.holds("a/log", "second")

		require.NoError(s.t, s.st.Remove(s.ctx, "a"))
		require.ErrorIs(s.t, s.st.AppendAt(s.ctx, "a/log", 6, []byte("x")), workspace.ErrConflict)
		s.append("a/log", 0, "third")
		s.holds("a/log", "third")
	}},
	{"appends to many files in turn", func(s *subject) {
		for round := range int64(3) {
			for i := range 100 {
				s.append("many/"+strings.Repeat("i", i+1), round, "x")
			}
		}
		s.holds("many/i", "xxx")
		s.holds("many/"+strings.Repeat("i", 100), "xxx")
	}},
	{"keeps large content whole over many appends", func(s *subject) {
		var want strings.Builder
		for i := range 200 {
			data := strings.Repeat(string(rune('a'+i%26)), 1+i*37%5000)
			s.append("large", int64(want.Len()), data)
			want.WriteString(data)
		}
		s.holds("large", want.String())
	}},
}

var truncateTests = []storageTest{
	{"cuts a file", func(s *subject) {
		s.append("a/log", 0, "123")
		s.append("a/log", 3, "456")
		for _, size := range []int64{6, 4, 3, 1, 0, 0} {
			require.NoError(s.t, s.st.Truncate(s.ctx, "a/log", size))
			s.holds("a/log", "123456"[:size])
		}
		s.append("a/log", 0, "new")
		s.holds("a/log", "new")
	}},
	{"refuses a size past the end or below zero", func(s *subject) {
		s.write("file")
		require.ErrorIs(s.t, s.st.Truncate(s.ctx, "file", 5), fs.ErrInvalid)
		require.ErrorIs(s.t, s.st.Truncate(s.ctx, "file", -1), fs.ErrInvalid)
		s.holds("file", "file")
	}},
	{"truncates only files that exist", func(s *subject) {
		s.write("folder/file")
		require.ErrorIs(s.t, s.st.Truncate(s.ctx, "no", 0), fs.ErrNotExist)
		require.ErrorIs(s.t, s.st.Truncate(s.ctx, "folder/file/below", 0), fs.ErrNotExist)
		requirePlain(s.t, s.st.Truncate(s.ctx, "folder", 0))
		s.lists(".", "folder/")
	}},
}

var renameTests = []storageTest{
	{"moves a file and makes the folders that it needs", func(s *subject) {
		s.write("a/file")
		require.NoError(s.t, s.st.Rename(s.ctx, "a/file", "b/c/file2"))
		s.holds("b/c/file2", "a/file")
		s.missing("a/file", "a")
	}},
	{"moves a folder with all that is in it", func(s *subject) {
		s.write("work/x/1/a", "work/x/1/b/c", "work/y")
		require.NoError(s.t, s.st.Rename(s.ctx, "work/x/1", "execution/x"))
		s.holds("execution/x/a", "work/x/1/a")
		s.holds("execution/x/b/c", "work/x/1/b/c")
		s.missing("work/x/1", "work/x")
		s.lists(".", "execution/", "work/")
	}},
	{"refuses an existing target of any kind", func(s *subject) {
		s.write("file", "file2", "folder/a", "folder2/b")
		for _, from := range []string{"file", "folder", "folder/a"} {
			for _, to := range []string{"file2", "folder2", "folder2/b", "file", "folder"} {
				if from == "folder" && to == "folder/a" {
					continue
				}
				require.ErrorIs(s.t, s.st.Rename(s.ctx, from, to), fs.ErrExist, "%s to %s", from, to)
			}
		}
		s.lists(".", "file", "file2", "folder/", "folder2/")
		s.holds("file2", "file2")
	}},
	{"says that the source does not exist, and makes no folder", func(s *subject) {
		s.write("file")
		require.ErrorIs(s.t, s.st.Rename(s.ctx, "no", "new/name"), fs.ErrNotExist)
		require.ErrorIs(s.t, s.st.Rename(s.ctx, "no", "file"), fs.ErrNotExist)
		require.ErrorIs(s.t, s.st.Rename(s.ctx, "no", "no"), fs.ErrNotExist)
		require.ErrorIs(s.t, s.st.Rename(s.ctx, "file/below", "new"), fs.ErrNotExist)
		s.lists(".", "file")
	}},
	{"moves no folder into itself and nothing below a file", func(s *subject) {
		s.write("folder/a", "file")
		require.ErrorIs(s.t, s.st.Rename(s.ctx, "folder", "folder/in/it"), fs.ErrInvalid)
		requirePlain(s.t, s.st.Rename(s.ctx, "folder", "file/below"))
		s.lists(".", "file", "folder/")
		s.lists("folder", "a")
	}},
	{"moves a file up into the place of nothing beside its folder", func(s *subject) {
		s.write("a/b/c")
		require.NoError(s.t, s.st.Rename(s.ctx, "a/b/c", "a/c"))
		s.lists("a", "c")
	}},
}

var removeTests = []storageTest{
	{"deletes a file, and the folders that held nothing else", func(s *subject) {
		s.write("a/b/c/file", "a/other")
		require.NoError(s.t, s.st.Remove(s.ctx, "a/b/c/file"))
		s.missing("a/b/c/file", "a/b/c", "a/b")
		s.lists("a", "other")
	}},
	{"deletes a folder with all that is in it", func(s *subject) {
		s.write("a/b/1", "a/b/c/2", "a/b/c/d/3", "a/bc")
		require.NoError(s.t, s.st.Remove(s.ctx, "a/b"))
		s.lists("a", "bc")
		s.write("a/b")
		s.holds("a/b", "a/b")
	}},
	{"does not mind a name that does not exist", func(s *subject) {
		s.write("file")
		for _, name := range []string{"no", "no/no", "file/below"} {
			require.NoError(s.t, s.st.Remove(s.ctx, name), name)
		}
		s.holds("file", "file")
	}},
}

func requireFile(t *testing.T, path, content string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, string(data))
}
