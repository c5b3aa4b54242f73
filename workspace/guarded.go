package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// ErrGuardLink is in the [*fs.PathError] of a name that a symbolic link leads
// elsewhere. It matches [ErrGuard] too.
var ErrGuardLink = fmt.Errorf("%w: a symbolic link leads elsewhere; name what it leads to", ErrGuard)

// ErrTooLarge is in the [*fs.PathError] of a file that is larger than the caller
// wants to read.
var ErrTooLarge = errors.New("larger than allowed")

// GuardedFiles are the files of a workspace as far as a [Guard] allows them, for
// code that acts for a model. Names are those of the storage; "." and ".." in
// them are resolved first, as text. A name that may not be touched gives a
// [*GuardError].
//
// It holds against a command that plants symbolic links, or swaps a folder for
// one, at any moment:
//
//   - The way from the root of the workspace to the guard's own name passes no link.
//   - Reading follows links below that name, and never out of it: what leads out is
//     refused, even where another name of the guard would allow it.
//   - Writing and removing follow no link at all, and what is read only stays so also
//     under another spelling of its name.
//
// Hard links need no care. WriteFile replaces a file and never writes into it, and
// a hard link is only made by what can write to its folder: a sandboxed command
// cannot make one from a name of the guard into another, since each is a mount of
// its own there.
//
// On a storage without local paths names are all there is, so the check of the name
// suffices. Safe for concurrent use; it holds nothing open.
type GuardedFiles struct {
	guard *Guard
	ws    *Workspace
	local bool
}

// Open returns the files of a workspace as the guard allows them. A nil guard
// allows nothing.
func (g *Guard) Open(ws *Workspace) *GuardedFiles {
	if g == nil {
		g = &Guard{}
	}
	_, local := ws.LocalPath(".")
	return &GuardedFiles{guard: g, ws: ws, local: local}
}

// Guard returns what is allowed. It must not be changed.
func (f *GuardedFiles) Guard() *Guard { return f.guard }

// ReadFile returns the whole content of a file of at most limit bytes; a larger one
// gives an error that matches [ErrTooLarge]. A limit of 0 or less is none.
func (f *GuardedFiles) ReadFile(ctx context.Context, name string, limit int64) ([]byte, error) {
	name, err := f.check(ctx, "read", name, ReadAccess)
	if err != nil {
		return nil, err
	}
	if f.local {
		return f.readLocal(name, limit)
	}
	if limit > 0 {
		info, err := f.ws.st.Stat(ctx, name)
		if err != nil {
			return nil, err
		}
		if info.Size() > limit {
			return nil, tooLarge(name, info.Size(), limit)
		}
	}
	return f.ws.st.ReadFile(ctx, name)
}

// ReadDir returns the entries of a folder sorted by name. The entries describe links
// themselves, not what they lead to.
func (f *GuardedFiles) ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	name, err := f.check(ctx, "readdir", name, ReadAccess)
	if err != nil {
		return nil, err
	}
	if f.local {
		return f.readDirLocal(name)
	}
	return f.ws.st.ReadDir(ctx, name)
}

// Stat describes a file or a folder.
func (f *GuardedFiles) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	name, err := f.check(ctx, "stat", name, ReadAccess)
	if err != nil {
		return nil, err
	}
	if f.local {
		return f.statLocal(name)
	}
	return f.ws.st.Stat(ctx, name)
}

// WriteFile replaces the content of a file, as [Storage].WriteFile does, and makes
// the folders above it. A name that is a symbolic link is refused.
func (f *GuardedFiles) WriteFile(ctx context.Context, name string, data []byte, sync Sync) error {
	name, err := f.check(ctx, "write", name, WriteAccess)
	if err != nil {
		return err
	}
	if f.local {
		return f.writeLocal(name, data, sync)
	}
	return f.ws.st.WriteFile(ctx, name, data, sync)
}

// MkdirAll makes a folder for something outside the storage to write to, and those
// above it, through no link. As [Workspace.MkdirAll] it does nothing on a storage
// without local paths.
func (f *GuardedFiles) MkdirAll(ctx context.Context, name string) error {
	name, err := f.check(ctx, "mkdir", name, WriteAccess)
	if err != nil || !f.local {
		return err
	}
	return f.mkdirLocal(name)
}

// Remove deletes a file, or the link of that name; not a folder, and nothing that
// is a name of the guard itself. A name that does not exist is no error. On a local
// disk folders that it leaves empty stay: a command may have made them.
func (f *GuardedFiles) Remove(ctx context.Context, name string) error {
	name, err := f.check(ctx, "remove", name, WriteAccess)
	if err != nil {
		return err
	}
	if f.local {
		return f.removeLocal(name)
	}
	if info, err := f.ws.st.Stat(ctx, name); err == nil && info.IsDir() {
		return pathError("remove", name, errIsFolder)
	}
	return f.ws.st.Remove(ctx, name)
}

// check is what every operation starts with. It returns the name cleaned.
func (f *GuardedFiles) check(ctx context.Context, op, name string, wanted Access) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if err := f.guard.check(name, wanted); err != nil {
		return "", err
	}
	clean, _ := cleanName(name) // what is no name is covered by nothing
	if f.local {
		return clean, checkLocal(ctx, op, clean)
	}
	return clean, nil
}

// readOnlyBelow are the names that are read only inside a writable one.
func (g *Guard) readOnlyBelow(covering string) []string {
	var names []string
	for _, entry := range g.Read {
		name, ok := cleanName(entry)
		if ok && isWithin(name, covering) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

func tooLarge(name string, size, limit int64) error {
	return pathError("read", name, fmt.Errorf("%w: it has %d bytes, at most %d are read", ErrTooLarge, size, limit))
}
