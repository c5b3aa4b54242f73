package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"path"
)

// FS gives a storage as a read-only [fs.FS], for code that reads one: template
// loaders, [fs.WalkDir], http.FileServerFS. It also implements [fs.ReadFileFS],
// [fs.ReadDirFS] and [fs.StatFS]. Every call uses ctx. An open file shows the
// content that it had when it was opened.
func FS(ctx context.Context, st Storage) fs.FS { return storageFS{ctx: ctx, st: st} }

// storageFS carries a context because the methods of package fs take none.
type storageFS struct {
	ctx context.Context
	st  Storage
}

var (
	_ fs.ReadFileFS = storageFS{}
	_ fs.ReadDirFS  = storageFS{}
	_ fs.StatFS     = storageFS{}
)

func (s storageFS) Open(name string) (fs.File, error) {
	info, err := s.st.Stat(s.ctx, name)
	if err != nil {
		return nil, inPath("open", name, err)
	}
	if info.IsDir() {
		entries, err := s.st.ReadDir(s.ctx, name)
		if err != nil {
			return nil, inPath("open", name, err)
		}
		return &openFolder{name: name, info: info, entries: entries}, nil
	}
	data, err := s.st.ReadFile(s.ctx, name)
	if err != nil {
		return nil, inPath("open", name, err)
	}
	// The file may have grown since Stat.
	return &openFile{Reader: *bytes.NewReader(data), info: sizedInfo{FileInfo: info, size: int64(len(data))}}, nil
}

func (s storageFS) ReadFile(name string) ([]byte, error) {
	data, err := s.st.ReadFile(s.ctx, name)
	return data, inPath("read", name, err)
}

func (s storageFS) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := s.st.ReadDir(s.ctx, name)
	return entries, inPath("readdir", name, err)
}

func (s storageFS) Stat(name string) (fs.FileInfo, error) {
	info, err := s.st.Stat(s.ctx, name)
	return info, inPath("stat", name, err)
}

// inPath makes an error a [*fs.PathError], as package fs requires.
func inPath(op, name string, err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*fs.PathError](err); ok {
		return err
	}
	return pathError(op, name, err)
}

// openFile is a file with its content.
type openFile struct {
	bytes.Reader
	info   fs.FileInfo
	closed bool
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *openFile) Read(p []byte) (int, error) {
	if f.closed {
		return 0, pathError("read", f.info.Name(), fs.ErrClosed)
	}
	return f.Reader.Read(p)
}

func (f *openFile) Close() error {
	if f.closed {
		return pathError("close", f.info.Name(), fs.ErrClosed)
	}
	f.closed = true
	return nil
}

// sizedInfo is a FileInfo with the size of what was read.
type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (i sizedInfo) Size() int64 { return i.size }

// openFolder is a folder with its entries.
type openFolder struct {
	name    string
	info    fs.FileInfo
	entries []fs.DirEntry // not yet read
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, pathError("read", path.Clean(f.name), errIsFolder)
}

func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n <= 0 {
		entries := f.entries
		f.entries = nil
		return entries, nil
	}
	if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	entries := f.entries[:n:n]
	f.entries = f.entries[n:]
	return entries, nil
}
