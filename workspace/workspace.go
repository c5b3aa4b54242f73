package workspace

import (
	"context"
	"io"
)

// Workspace is one workflow's files. It is safe for concurrent use.
type Workspace struct {
	st Storage
}

// New returns the workspace over a storage. Close does not close the storage
// unless it is an [io.Closer].
func New(st Storage) *Workspace { return &Workspace{st: st} }

// OpenDir returns the workspace in a folder of the local disk, which must exist.
func OpenDir(path string) (*Workspace, error) {
	dir, err := NewDir(path)
	if err != nil {
		return nil, err
	}
	return New(dir), nil
}

// Storage returns the storage of the workspace.
func (w *Workspace) Storage() Storage { return w.st }

// LocalPath returns the absolute path of a name on the local disk, and false when
// the storage has none.
func (w *Workspace) LocalPath(name string) (string, bool) {
	local, ok := w.st.(LocalStorage)
	if !ok {
		return "", false
	}
	return local.LocalPath(name)
}

// MkdirAll makes a folder for something outside the storage to write to. On a
// storage without local paths it does nothing: there a folder is whatever has
// files in it.
func (w *Workspace) MkdirAll(ctx context.Context, name string) error {
	local, ok := w.st.(LocalStorage)
	if !ok {
		return nil
	}
	return local.MkdirAll(ctx, name)
}

// Close releases what the workspace holds open.
func (w *Workspace) Close() error {
	if closer, ok := w.st.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}
