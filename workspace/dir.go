package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
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

func (e dirEntry) Info() (fs.FileInfo, error) {
	info, err := e.root.Lstat(e.name)
	if err != nil {
		return nil, readError("stat", e.name, err)
	}
	return info, nil
}

func (e dirEntry) String() string { return fs.FormatDirEntry(e) }

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
