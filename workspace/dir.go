package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Dir is a [Storage] in a folder of the local disk. No symbolic link and no ".."
// leads out of the folder: every access goes through an [os.Root]. Symbolic links
// that stay inside are followed, except by Rename, Remove and WriteFile, which
// move, remove or replace the link. Safe for concurrent use, also by other
// processes; get one from [NewDir] and Close it.
//
// New files have the mode 0644 and new folders 0755, less the umask; WriteFile
// keeps the permissions of the file that it replaces. A folder that Remove or
// Rename leaves empty is removed, unless MkdirAll made it.
//
// AppendAt, Truncate and WriteFile with [Durable] sync the file and the folders
// above it. Rename, Remove and lazy writes survive the death of the process; after
// a power failure they may not have happened, and on file systems that do not
// order data before a rename (ext4 and APFS do) a lazily written file may be empty.
//
// On Windows folders cannot be synced, which NTFS makes up for with its own
// journal, and Rename there and on file systems without an exclusive rename checks
// for the target first, so that two processes that rename to one name at the same
// moment may both succeed. On file systems that ignore case, names that differ
// only in case are one file.
type Dir struct {
	path    string
	root    *os.Root
	folder  *os.File // the root as a plain descriptor, see refersTo
	appends appendFiles
	locks   heldLocks
	kept    keptFolders
}

var (
	_ LocalStorage = (*Dir)(nil)
	_ io.Closer    = (*Dir)(nil)
)

const (
	fileMode   = 0o644
	folderMode = 0o755
)

// staleAfter is the age at which a temporary name was left by a crash: writing a
// file takes moments, and a writer that slept this long gets an error, no damage.
const staleAfter = time.Hour

// maxRaces bounds how often an operation starts again because a folder vanished
// under it. Each time another operation has made progress.
const maxRaces = 1000

// NewDir opens the storage in an existing folder.
func NewDir(path string) (*Dir, error) {
	// Resolved once, so that LocalPath and the open root stay the same folder when
	// a link on the way is changed.
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if absolute, err = filepath.EvalSymlinks(absolute); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(absolute)
	if err != nil {
		return nil, err
	}
	folder, err := root.Open(".")
	if err != nil {
		return nil, errors.Join(err, root.Close())
	}
	return &Dir{path: absolute, root: root, folder: folder}, nil
}

// Close releases the open files, and the locks that are still held. Operations
// afterwards fail with an error that matches [fs.ErrClosed].
func (d *Dir) Close() error {
	d.appends.close()
	return errors.Join(d.locks.release(), d.folder.Close(), d.root.Close())
}

// LocalPath implements [LocalStorage]. The path has no symbolic link above the
// root of the storage; below it there may be some.
func (d *Dir) LocalPath(name string) (string, bool) {
	if checkName("path", name) != nil {
		return "", false
	}
	local, err := filepath.Localize(name)
	if err != nil {
		return "", false
	}
	return filepath.Join(d.path, local), true
}

// MkdirAll implements [LocalStorage].
func (d *Dir) MkdirAll(ctx context.Context, name string) error {
	if err := checkLocal(ctx, "mkdir", name); err != nil {
		return err
	}
	d.kept.add(name)
	if err := d.mkdirs(name); err != nil {
		d.kept.forget(name)
		return dirError("mkdir", name, err)
	}
	return nil
}

// ReadFile implements [Storage].
func (d *Dir) ReadFile(ctx context.Context, name string) ([]byte, error) {
	if err := checkLocal(ctx, "read", name); err != nil {
		return nil, err
	}
	f, err := d.openRegular(name, os.O_RDONLY)
	if err != nil {
		return nil, readError("read", name, err)
	}
	defer f.Close()
	data, err := readAll(f)
	if err != nil {
		return nil, readError("read", name, err)
	}
	return data, nil
}

// ReadDir implements [Storage]. It also removes what crashed writers have left in
// the folder.
func (d *Dir) ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	if err := checkLocal(ctx, "readdir", name); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, readError("readdir", name, err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && !info.IsDir() {
		return nil, pathError("readdir", name, errNotFolder)
	}
	all, err := f.ReadDir(-1)
	if err != nil {
		return nil, readError("readdir", name, err)
	}
	entries := make([]fs.DirEntry, 0, len(all))
	for _, entry := range all {
		full := path.Join(name, entry.Name())
		if strings.HasPrefix(entry.Name(), tempPrefix) {
			d.removeStale(full)
			continue
		}
		entries = append(entries, dirEntry{DirEntry: entry, root: d.root, name: full})
	}
	sortEntries(entries)
	return entries, nil
}

// dirEntry looks its file up through the root, where the entry of package os goes
// by the path.
type dirEntry struct {
	fs.DirEntry
	root *os.Root
	name string
}

func (e dirEntry) Info() (fs.FileInfo, error) { return e.root.Lstat(e.name) }

// Stat implements [Storage].
func (d *Dir) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	if err := checkLocal(ctx, "stat", name); err != nil {
		return nil, err
	}
	info, err := d.root.Stat(name)
	if err != nil {
		return nil, readError("stat", name, err)
	}
	return info, nil
}

// Rename implements [Storage].
func (d *Dir) Rename(ctx context.Context, from, to string) error {
	if err := checkRename(ctx, from, to); err != nil {
		return err
	}
	if err := errors.Join(checkLocal(ctx, "rename", from), checkLocal(ctx, "rename", to)); err != nil {
		return err
	}
	d.appends.forget(from)
	err := d.renameRetrying(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return dirError("rename", to, fs.ErrExist)
	case err != nil:
		d.prune(to)
		return readError("rename", from, err)
	}
	d.kept.forget(from)
	d.prune(from)
	return nil
}

func (d *Dir) renameRetrying(from, to string) error {
	return retryVanished(func() error {
		if _, err := d.root.Lstat(from); err != nil {
			return final{err}
		}
		if _, err := d.root.Lstat(to); err == nil {
			return fs.ErrExist
		}
		if err := d.mkdirs(parent(to)); err != nil {
			return err
		}
		return renameExclusive(d.root, from, to)
	})
}

// Remove implements [Storage]. A folder disappears at once; what was in it is
// deleted before Remove returns, or after a crash by a later ReadDir.
func (d *Dir) Remove(ctx context.Context, name string) error {
	if err := checkFileCall(ctx, "remove", name); err != nil {
		return err
	}
	if err := checkLocal(ctx, "remove", name); err != nil {
		return err
	}
	d.appends.forget(name)
	err := d.remove(name)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return dirError("remove", name, err)
	}
	d.kept.forget(name)
	d.prune(name)
	return nil
}

func (d *Dir) remove(name string) error {
	info, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return d.root.Remove(name)
	}
	doomed := path.Join(parent(name), tempName())
	if err := d.root.Rename(name, doomed); err != nil {
		return err
	}
	return d.root.RemoveAll(doomed)
}

// removeStale removes a temporary file or folder whose owner must be dead. That
// it cannot is of no interest to whoever reads the folder.
func (d *Dir) removeStale(name string) {
	info, err := d.root.Lstat(name)
	if err == nil && time.Since(info.ModTime()) > staleAfter {
		_ = d.root.RemoveAll(name)
	}
}

// prune removes the folders above a name that are empty.
func (d *Dir) prune(name string) {
	for folder := parent(name); folder != "."; folder = parent(folder) {
		if d.kept.has(folder) || removeEmptyFolder(d.root, folder) != nil {
			return
		}
	}
}

// mkdirs makes a folder and those above it. Most exist, so it looks first. What
// os.Root.MkdirAll finds in its way may be a file, or a folder that others made and
// removed again; another look tells.
func (d *Dir) mkdirs(name string) error {
	for range maxRaces {
		info, err := d.root.Stat(name)
		switch {
		case err == nil && info.IsDir():
			return nil
		case err == nil, errors.Is(err, syscall.ENOTDIR):
			return errNotFolder
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		err = d.root.MkdirAll(name, folderMode)
		if err != nil && !errors.Is(err, fs.ErrExist) && !isMissing(err) {
			return err
		}
	}
	return errNotFolder // such as a link that leads nowhere
}

// openRegular opens a file that must be a regular one; a named pipe would block.
func (d *Dir) openRegular(name string, flag int) (*os.File, error) {
	f, err := d.root.OpenFile(name, flag|openNonblock, fileMode)
	if err != nil {
		return nil, err
	}
	if err := requireRegular(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func requireRegular(f *os.File) error {
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return errIsFolder
	case !info.Mode().IsRegular():
		return fmt.Errorf("not a regular file but %v", info.Mode().Type())
	}
	return nil
}

func readAll(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// One byte more than the size, so that the end is seen without growing.
	data := make([]byte, 0, info.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		if err == io.EOF {
			return data, nil
		}
		if err != nil {
			return nil, err
		}
		if len(data) == cap(data) {
			data = append(data, 0)[:len(data)]
		}
	}
}

// keptFolders are those that MkdirAll made and prune must leave: something outside
// may work in them.
type keptFolders struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func (k *keptFolders) add(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names == nil {
		k.names = map[string]struct{}{}
	}
	k.names[name] = struct{}{}
}

func (k *keptFolders) has(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.names[name]
	return ok
}

// forget drops a name and all below it.
func (k *keptFolders) forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for kept := range k.names {
		if isAtOrBelow(kept, name) {
			delete(k.names, kept)
		}
	}
}

func isAtOrBelow(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder) && name[len(folder)] == '/'
}

func tempName() string { return tempPrefix + rand.Text() }

// checkLocal is checkCall for a storage on disk: the operating system must be
// able to express the name.
func checkLocal(ctx context.Context, op, name string) error {
	if err := checkCall(ctx, op, name); err != nil {
		return err
	}
	if _, err := filepath.Localize(name); err != nil {
		return pathError(op, name, fmt.Errorf("%w: this operating system cannot express it", fs.ErrInvalid))
	}
	return nil
}

// final marks an error that retryVanished returns at once.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// retryVanished repeats what failed because a folder disappeared between two
// steps: others remove folders that they leave empty.
func retryVanished(try func() error) error {
	var err error
	for range maxRaces {
		err = try()
		var stop final
		if errors.As(err, &stop) || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}

// dirError names the operation and the name in the storage instead of the path
// on the disk.
func dirError(op, name string, err error) error {
	return pathError(op, name, bareError(err))
}

// readError is dirError for operations on what must exist: a name below a file
// does not.
func readError(op, name string, err error) error {
	if isMissing(err) {
		return pathError(op, name, fs.ErrNotExist)
	}
	return dirError(op, name, err)
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// bareError takes the errors of package os out of their wrapping with paths.
func bareError(err error) error {
	switch wrapped := err.(type) {
	case *fs.PathError:
		return wrapped.Err
	case *os.LinkError:
		return wrapped.Err
	case final:
		return bareError(wrapped.error)
	case interface{ Unwrap() []error }:
		var bare []error
		for _, one := range wrapped.Unwrap() {
			bare = append(bare, bareError(one))
		}
		if len(bare) == 1 {
			return bare[0]
		}
		return errors.Join(bare...)
	}
	return err
}
