package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/workspace"
)

// outcome is what a caller can act upon: the result and the kind of the error.
func outcome(result any, err error) string {
	kinds := []struct {
		name string
		err  error
	}{
		{"conflict", workspace.ErrConflict},
		{"held", workspace.ErrHeld},
		{"invalid", fs.ErrInvalid},
		{"exists", fs.ErrExist},
		{"missing", fs.ErrNotExist},
	}
	if err == nil {
		return fmt.Sprint(result)
	}
	text := "error"
	for _, kind := range kinds {
		if errors.Is(err, kind.err) {
			text += " " + kind.name
		}
	}
	return text
}

// tree is all files with their contents, and all folders.
func tree(st workspace.Storage) (map[string]string, error) {
	found := map[string]string{}
	err := fs.WalkDir(workspace.FS(context.Background(), st), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			found[name] = "folder"
			return err
		}
		data, err := st.ReadFile(context.Background(), name)
		found[name] = "file " + string(data)
		return err
	})
	return found, err
}

func TestMemAndDirAgreeOnAnySequenceOfOperations(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		folder, err := os.MkdirTemp(base, "") //nolint:usetesting // one for each of many sequences, gone with it
		require.NoError(rt, err)
		defer os.RemoveAll(folder)
		dir, err := workspace.NewDir(folder)
		require.NoError(rt, err)
		defer dir.Close()
		sides := &pair{mem: workspace.NewMem(), dir: dir}
		rt.Repeat(sides.actions())
	})
}

// pair does everything on both sides.
type pair struct {
	mem, dir workspace.Storage
}

func (p *pair) same(t *rapid.T, do func(st workspace.Storage) string) {
	t.Helper()
	onMem, onDir := do(p.mem), do(p.dir)
	if onMem != onDir {
		t.Fatalf("memory: %s\ndisk:   %s", onMem, onDir)
	}
}

func (p *pair) actions() map[string]func(*rapid.T) {
	names := rapid.SampledFrom([]string{"a", "b", "a/b", "a/c", "b/a", "a/b/c", "b/a/c", "c/d/e", "", ".", "..", "a/", "b/.treadle-tmp-x"})
	content := rapid.SliceOfN(rapid.Byte(), 0, 40)
	position := rapid.Int64Range(-1, 60)
	ctx := context.Background()
	return map[string]func(*rapid.T){
		"": func(t *rapid.T) {
			p.same(t, func(st workspace.Storage) string { return outcome(tree(st)) })
		},
		"write": func(t *rapid.T) {
			name, data := names.Draw(t, "name"), content.Draw(t, "data")
			p.same(t, func(st workspace.Storage) string { return outcome(nil, st.WriteFile(ctx, name, data, workspace.Lazy)) })
		},
		"append at the end": func(t *rapid.T) {
			name, data := names.Draw(t, "name"), content.Draw(t, "data")
			p.same(t, func(st workspace.Storage) string {
				var end int64
				if info, err := st.Stat(ctx, name); err == nil && !info.IsDir() {
					end = info.Size()
				}
				return outcome(nil, st.AppendAt(ctx, name, end, data))
			})
		},
		"append anywhere": func(t *rapid.T) {
			name, data, offset := names.Draw(t, "name"), content.Draw(t, "data"), position.Draw(t, "offset")
			p.same(t, func(st workspace.Storage) string { return outcome(nil, st.AppendAt(ctx, name, offset, data)) })
		},
		"truncate": func(t *rapid.T) {
			name, size := names.Draw(t, "name"), position.Draw(t, "size")
			p.same(t, func(st workspace.Storage) string { return outcome(nil, st.Truncate(ctx, name, size)) })
		},
		"rename": func(t *rapid.T) {
			from, to := names.Draw(t, "from"), names.Draw(t, "to")
			p.same(t, func(st workspace.Storage) string { return outcome(nil, st.Rename(ctx, from, to)) })
		},
		"remove": func(t *rapid.T) {
			name := names.Draw(t, "name")
			p.same(t, func(st workspace.Storage) string { return outcome(nil, st.Remove(ctx, name)) })
		},
		"read": func(t *rapid.T) {
			name := names.Draw(t, "name")
			p.same(t, func(st workspace.Storage) string { return outcome(st.ReadFile(ctx, name)) })
		},
		"describe": func(t *rapid.T) {
			name := names.Draw(t, "name")
			p.same(t, func(st workspace.Storage) string { return described(ctx, st, name) })
		},
	}
}

func described(ctx context.Context, st workspace.Storage, name string) string {
	info, err := st.Stat(ctx, name)
	if err != nil {
		return outcome(nil, err)
	}
	entries, err := st.ReadDir(ctx, name)
	size := info.Size()
	if info.IsDir() {
		size = 0 // of a folder it means nothing
	}
	return fmt.Sprint(info.Name(), info.IsDir(), size, outcome(entries, err))
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{
		"a", "a/b", ".", "..", "../x", "/x", "a/../../x", "a\\..\\x", "C:/x", "a\x00", "\xff", "CON", "a//b", "a/", "",
		".treadle-tmp-x", "...", "a/.../b", "link", "link/x", "é", "a b",
	} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		outer := t.TempDir()
		folder := filepath.Join(outer, "in", "storage")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		dir := openDir(t, folder)
		if len(name) > 1000 {
			name = name[:1000] // deeper than the path of a test's folder allows
		}
		mem := workspace.NewMem()
		ctx := t.Context()
		for _, do := range []func(st workspace.Storage) string{
			func(st workspace.Storage) string {
				return outcome(nil, st.WriteFile(ctx, name, []byte("x"), workspace.Lazy))
			},
			func(st workspace.Storage) string { return outcome(nil, st.AppendAt(ctx, name, 1, []byte("y"))) },
			func(st workspace.Storage) string { return outcome(st.ReadFile(ctx, name)) },
			func(st workspace.Storage) string { return described(ctx, st, name) },
			func(st workspace.Storage) string { return outcome(nil, st.Rename(ctx, name, "renamed to this/name")) },
			func(st workspace.Storage) string { return outcome(nil, st.Rename(ctx, "renamed to this/name", name)) },
			func(st workspace.Storage) string { return outcome(tree(st)) },
			func(st workspace.Storage) string { return outcome(nil, st.Remove(ctx, name)) },
			func(st workspace.Storage) string { return outcome(nil, st.AppendAt(ctx, name, 0, []byte("z"))) },
			func(st workspace.Storage) string { return outcome(nil, st.Truncate(ctx, name, 0)) },
			func(st workspace.Storage) string { return outcome(tree(st)) },
		} {
			require.Equal(t, do(mem), do(dir), "%q", name)
		}
		for _, above := range []string{outer, filepath.Join(outer, "in")} {
			entries, err := os.ReadDir(above)
			require.NoError(t, err)
			require.Len(t, entries, 1, "%q left the storage", name)
		}
	})
}
