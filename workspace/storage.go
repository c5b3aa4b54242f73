package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Storage keeps the files of one workflow.
//
// Names are slash-separated and relative, as [fs.ValidPath] has them ("." is the
// root); any other name is refused with an error that matches [fs.ErrInvalid]. So
// are a zero byte, an element of more than 255 bytes or one that begins with
// ".treadle-tmp-", a negative offset or size, and the root where a file or
// something to move, remove or lock is wanted.
// Folders exist as long as something is in them: WriteFile, AppendAt, TryLock and
// Rename create the parents that they need, Remove and Rename take away those that
// they leave empty. A name that does not exist gives an error that matches
// [fs.ErrNotExist]; so does a name below a file where it must exist.
//
// Data that is given to a method is the caller's again when the method returns.
//
// All methods are safe for concurrent use, also by other processes that reach the
// same storage. A method whose context is done before it starts does nothing and
// returns the context's error; once it has started to change something it
// finishes.
type Storage interface {
	// ReadFile returns the whole content. The caller owns the slice.
	ReadFile(ctx context.Context, name string) ([]byte, error)
	// ReadDir returns the entries of a folder sorted by name.
	ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error)
	// Stat describes a file or a folder.
	Stat(ctx context.Context, name string) (fs.FileInfo, error)
	// WriteFile replaces the content of a file. Readers see the old content or
	// the new one, never a mix, also after a crash.
	WriteFile(ctx context.Context, name string, data []byte, sync Sync) error
	// AppendAt appends data to a file that ends at offset, and is durable when it
	// returns. It creates a missing file when offset is 0, and gives
	// [ErrConflict], changing nothing, when the file ends elsewhere: somebody else
	// has written. The conflict of a missing file also matches [fs.ErrNotExist].
	// Empty data is allowed; it checks the offset and makes what is there durable.
	AppendAt(ctx context.Context, name string, offset int64, data []byte) error
	// Truncate cuts a file to size bytes, and is durable when it returns. A size
	// past its end is an error that matches [fs.ErrInvalid].
	Truncate(ctx context.Context, name string, size int64) error
	// Rename moves a file or a folder. A folder moves whole or not at all. An
	// existing target gives an error that matches [fs.ErrExist]; a folder cannot
	// move into itself, which matches [fs.ErrInvalid].
	Rename(ctx context.Context, from, to string) error
	// Remove deletes a file, or a folder with all that is in it. A name that does
	// not exist is no error.
	Remove(ctx context.Context, name string) error
	// TryLock takes the named lock, or says at once who holds it: the error then
	// is a [*HeldError]. The lock is exclusive among all that reach the storage;
	// it ends with Unlock or with the death of its holder's process. The holder
	// is text for people, such as a host name and a process id. The lock is a file
	// of that name, which stays; it holds the holder while it is held.
	TryLock(ctx context.Context, name, holder string) (Lock, error)
}

// Sync says whether a write must survive a power failure. Every write survives
// the death of the process.
type Sync int

const (
	// Lazy leaves the moment of writing to the operating system.
	Lazy Sync = iota
	// Durable has the write on stable storage before the call returns.
	Durable
)

// Lock is a held lock. Unlock releases it; a second Unlock does nothing.
type Lock interface {
	Unlock() error
}

// LocalStorage is the optional side of a [Storage] whose files lie in a folder of
// the local disk, for what must run on files: shells, scripts, stdio servers.
type LocalStorage interface {
	Storage
	// LocalPath returns the absolute path of a name that is valid for the
	// storage, whether or not the file exists.
	LocalPath(name string) (path string, ok bool)
	// MkdirAll makes a folder that something outside the storage will write to.
	MkdirAll(ctx context.Context, name string) error
}

// ErrConflict is what AppendAt returns when the file does not end where the
// caller believes.
var ErrConflict = errors.New("file does not end at the expected offset")

// ErrHeld is what a [*HeldError] matches.
var ErrHeld = errors.New("lock is held")

// HeldError says who holds a lock.
type HeldError struct {
	Name   string // of the lock
	Holder string // as given to TryLock; empty when it could not be read
}

func (e *HeldError) Error() string {
	if e.Holder == "" {
		return fmt.Sprintf("lock %s is held by another process", e.Name)
	}
	return fmt.Sprintf("lock %s is held by %s", e.Name, e.Holder)
}

// Is reports whether target is [ErrHeld].
func (e *HeldError) Is(target error) bool { return target == ErrHeld }
