package filesmcp

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

// maxFileBytes bounds what one call reads or writes, so that one file cannot fill
// a model's context many times over.
const maxFileBytes = 4 << 20

// folder is the one place that the server reaches. The root refuses whatever
// would leave it, also through symbolic links.
type folder struct {
	root   *os.Root
	abs    string // absolute path, as given
	real   string // the same with symbolic links resolved
	writes atomic.Int64
}

func openFolder(dir string) (*folder, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	resolved, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return nil, fmt.Errorf("folder to serve: %w", err)
	}
	root, err := os.OpenRoot(resolved)
	if err != nil {
		return nil, fmt.Errorf("folder to serve: %w", err)
	}
	return &folder{root: root, abs: abs, real: resolved}, nil
}

func (f *folder) Close() error { return f.root.Close() }

// local turns a client's path into one relative to the root.
func (f *folder) local(name string) (string, error) {
	if strings.TrimSpace(name) == "" {
		return "", errors.New(`path is empty; "." is the top folder`)
	}
	if !filepath.IsAbs(name) {
		clean := filepath.Clean(filepath.FromSlash(name))
		if !filepath.IsLocal(clean) {
			return "", outside(name)
		}
		return clean, nil
	}
	for _, base := range []string{f.abs, f.real} {
		rel, err := filepath.Rel(base, name)
		if err == nil && filepath.IsLocal(rel) {
			return rel, nil
		}
	}
	return "", outside(name)
}

func outside(name string) error {
	return fmt.Errorf("path %q is outside of the served folder; use a path relative to it, such as inputs/ledger.csv", name)
}

func (f *folder) list(name string) (string, error) {
	local, err := f.local(name)
	if err != nil {
		return "", err
	}
	entries, err := fs.ReadDir(f.root.FS(), filepath.ToSlash(local))
	if err != nil {
		return "", told(name, err)
	}
	if len(entries) == 0 {
		return "(empty)", nil
	}
	lines := make([]string, 0, len(entries))
	for _, e := range entries {
		kind := "[FILE] "
		if e.IsDir() {
			kind = "[DIR] "
		}
		lines = append(lines, kind+e.Name())
	}
	return strings.Join(lines, "\n"), nil
}

func (f *folder) read(name string) (string, error) {
	local, err := f.local(name)
	if err != nil {
		return "", err
	}
	file, err := f.root.Open(local)
	if err != nil {
		return "", told(name, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return "", told(name, err)
	}
	if len(data) > maxFileBytes {
		return "", fmt.Errorf("%s is larger than %d bytes, the most that one call reads", name, maxFileBytes)
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("%s is not UTF-8 text", name)
	}
	return string(data), nil
}

// write replaces a file by rename, so that a reader, or a run that is killed here,
// never sees half of it.
func (f *folder) write(name, content string) (string, error) {
	local, err := f.local(name)
	if err != nil {
		return "", err
	}
	if len(content) > maxFileBytes {
		return "", fmt.Errorf("content for %s is larger than %d bytes, the most that one call writes", name, maxFileBytes)
	}
	if err := f.root.MkdirAll(filepath.Dir(local), 0o755); err != nil {
		return "", told(name, err)
	}
	draft := filepath.Join(filepath.Dir(local), fmt.Sprintf(".draft-%d-%d", os.Getpid(), f.writes.Add(1)))
	if err := f.root.WriteFile(draft, []byte(content), 0o644); err != nil {
		return "", told(name, err)
	}
	if err := f.root.Rename(draft, local); err != nil {
		return "", errors.Join(told(name, err), f.root.Remove(draft))
	}
	return "wrote " + strconv.Itoa(len(content)) + " bytes to " + path.Clean(filepath.ToSlash(local)), nil
}

// told drops the operating system's own path from an error: the client knows the
// path that it sent.
func told(name string, err error) error {
	if pathErr, ok := errors.AsType[*fs.PathError](err); ok {
		err = pathErr.Err
	}
	return fmt.Errorf("%s: %w", name, err)
}
