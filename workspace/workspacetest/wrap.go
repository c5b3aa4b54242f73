package workspacetest

import (
	"context"
	"io"
	"io/fs"

	"github.com/treadle-dev/treadle/workspace"
)

// Kind is a method of [workspace.Storage] or [workspace.LocalStorage], by its name.
type Kind string

// The kinds of operations.
const (
	ReadFile  Kind = "ReadFile"
	ReadDir   Kind = "ReadDir"
	Stat      Kind = "Stat"
	WriteFile Kind = "WriteFile"
	AppendAt  Kind = "AppendAt"
	Truncate  Kind = "Truncate"
	Rename    Kind = "Rename"
	Remove    Kind = "Remove"
	TryLock   Kind = "TryLock"
	MkdirAll  Kind = "MkdirAll"
)

// Changes reports whether the operation changes what is stored: WriteFile,
// AppendAt, Truncate, Rename and Remove. TryLock and MkdirAll do not count.
func (k Kind) Changes() bool {
	switch k {
	case WriteFile, AppendAt, Truncate, Rename, Remove:
		return true
	}
	return false
}

// Operation is one call of a storage.
type Operation struct {
	Kind   Kind
	Name   string
	To     string         // of Rename
	Offset int64          // of AppendAt; of Truncate the size
	Data   []byte         // of WriteFile and AppendAt; not to be changed or kept
	Sync   workspace.Sync // of WriteFile
}

// Syncs reports whether the operation must be durable when it returns: AppendAt,
// Truncate, and WriteFile with [workspace.Durable].
func (op *Operation) Syncs() bool {
	switch op.Kind {
	case AppendAt, Truncate:
		return true
	case WriteFile:
		return op.Sync == workspace.Durable
	}
	return false
}

// interceptor decides about each operation; do carries it out.
type interceptor interface {
	intercept(ctx context.Context, op *Operation, do func() error) error
	locked(lock workspace.Lock) workspace.Lock
}

// wrap returns a storage that asks the interceptor, and that has local paths if
// the inner one has.
func wrap(inner workspace.Storage, by interceptor) workspace.Storage {
	plain := wrapped{inner: inner, by: by}
	if local, ok := inner.(workspace.LocalStorage); ok {
		return wrappedLocal{wrapped: plain, local: local}
	}
	return plain
}

type wrapped struct {
	inner workspace.Storage
	by    interceptor
}

type wrappedLocal struct {
	wrapped
	local workspace.LocalStorage
}

var (
	_ workspace.Storage      = wrapped{}
	_ workspace.LocalStorage = wrappedLocal{}
	_ io.Closer              = wrapped{}
)

func (w wrapped) ReadFile(ctx context.Context, name string) (data []byte, err error) {
	err = w.by.intercept(ctx, &Operation{Kind: ReadFile, Name: name}, func() error {
		data, err = w.inner.ReadFile(ctx, name)
		return err
	})
	return data, err
}

func (w wrapped) ReadDir(ctx context.Context, name string) (entries []fs.DirEntry, err error) {
	err = w.by.intercept(ctx, &Operation{Kind: ReadDir, Name: name}, func() error {
		entries, err = w.inner.ReadDir(ctx, name)
		return err
	})
	return entries, err
}

func (w wrapped) Stat(ctx context.Context, name string) (info fs.FileInfo, err error) {
	err = w.by.intercept(ctx, &Operation{Kind: Stat, Name: name}, func() error {
		info, err = w.inner.Stat(ctx, name)
		return err
	})
	return info, err
}

func (w wrapped) WriteFile(ctx context.Context, name string, data []byte, sync workspace.Sync) error {
	op := &Operation{Kind: WriteFile, Name: name, Data: data, Sync: sync}
	return w.by.intercept(ctx, op, func() error { return w.inner.WriteFile(ctx, name, data, sync) })
}

func (w wrapped) AppendAt(ctx context.Context, name string, offset int64, data []byte) error {
	op := &Operation{Kind: AppendAt, Name: name, Offset: offset, Data: data}
	return w.by.intercept(ctx, op, func() error { return w.inner.AppendAt(ctx, name, offset, data) })
}

func (w wrapped) Truncate(ctx context.Context, name string, size int64) error {
	op := &Operation{Kind: Truncate, Name: name, Offset: size}
	return w.by.intercept(ctx, op, func() error { return w.inner.Truncate(ctx, name, size) })
}

func (w wrapped) Rename(ctx context.Context, from, to string) error {
	op := &Operation{Kind: Rename, Name: from, To: to}
	return w.by.intercept(ctx, op, func() error { return w.inner.Rename(ctx, from, to) })
}

func (w wrapped) Remove(ctx context.Context, name string) error {
	return w.by.intercept(ctx, &Operation{Kind: Remove, Name: name}, func() error { return w.inner.Remove(ctx, name) })
}

func (w wrapped) TryLock(ctx context.Context, name, holder string) (lock workspace.Lock, err error) {
	err = w.by.intercept(ctx, &Operation{Kind: TryLock, Name: name}, func() error {
		lock, err = w.inner.TryLock(ctx, name, holder)
		if err == nil {
			lock = w.by.locked(lock)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return lock, nil
}

// Close closes the inner storage if it is an [io.Closer]. It is no operation.
func (w wrapped) Close() error {
	if closer, ok := w.inner.(io.Closer); ok {
		return closer.Close()
	}
	return nil
}

func (w wrappedLocal) LocalPath(name string) (string, bool) { return w.local.LocalPath(name) }

func (w wrappedLocal) MkdirAll(ctx context.Context, name string) error {
	return w.by.intercept(ctx, &Operation{Kind: MkdirAll, Name: name}, func() error { return w.local.MkdirAll(ctx, name) })
}
