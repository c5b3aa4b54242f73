package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
)

func (f *GuardedFiles) writeLocal(name string, data []byte, sync Sync) error {
	if dir, ok := f.ws.st.(*Dir); ok {
		dir.appends.forget(name)
	}
	err := f.inWritable(name, true, func(folder *os.Root, base string) error {
		if isLink(folder, base) {
			return ErrGuardLink
		}
		// A link that comes in its place now is replaced, not followed.
		if err := replaceFile(folder, base, data, sync); err != nil || sync == Lazy {
			return err
		}
		return syncFolder(folder, ".")
	})
	if err == nil && sync == Durable {
		err = f.syncAbove(parent(name))
	}
	if err != nil {
		return guardedError("write", name, err)
	}
	return nil
}

func (f *GuardedFiles) mkdirLocal(name string) error {
	dir, isDir := f.ws.st.(*Dir)
	if isDir {
		dir.kept.add(name)
	}
	covering, _ := f.guard.Covering(name)
	folder, err := f.walk(name, true, f.lockedBelow(covering).visit(f.guard, name))
	if err == nil {
		return folder.Close()
	}
	if isDir {
		dir.kept.forget(name)
	}
	return guardedError("mkdir", name, err)
}

func (f *GuardedFiles) removeLocal(name string) error {
	err := f.inWritable(name, false, func(folder *os.Root, base string) error {
		info, err := folder.Lstat(base)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return errIsFolder
		}
		return folder.Remove(base)
	})
	if err == nil || isMissing(err) {
		return nil
	}
	return guardedError("remove", name, err)
}

// inWritable calls do with the folder of a name and its last element, once nothing
// on the way is a link or read only.
func (f *GuardedFiles) inWritable(name string, create bool, do func(folder *os.Root, base string) error) error {
	if name == "." {
		return errIsFolder
	}
	covering, _ := f.guard.Covering(name)
	locked := f.lockedBelow(covering)
	folder, err := f.walk(parent(name), create, locked.visit(f.guard, name))
	if err != nil {
		return err
	}
	defer folder.Close()
	base := path.Base(name)
	if info, err := folder.Lstat(base); err == nil {
		if err := locked.refuse(f.guard, name, info); err != nil {
			return err
		}
	}
	return do(folder, base)
}

// lockedFiles are what lies behind the names that are read only inside a writable
// one. A file system that takes two spellings for one name (upper and lower case, two
// forms of a letter) would let the other spelling pass the check of names.
type lockedFiles []fs.FileInfo

func (f *GuardedFiles) lockedBelow(covering string) lockedFiles {
	var locked lockedFiles
	for _, name := range f.guard.readOnlyBelow(covering) {
		folder, err := f.walk(parent(name), false, nil)
		if err != nil {
			continue // it does not exist
		}
		if info, err := folder.Lstat(path.Base(name)); err == nil {
			locked = append(locked, info)
		}
		folder.Close()
	}
	return locked
}

// visit refuses to go through one of them.
func (l lockedFiles) visit(g *Guard, name string) func(*os.Root) error {
	return func(at *os.Root) error {
		info, err := at.Stat(".")
		if err != nil {
			return err
		}
		return l.refuse(g, name, info)
	}
}

func (l lockedFiles) refuse(g *Guard, name string, info fs.FileInfo) error {
	for _, locked := range l {
		if os.SameFile(locked, info) {
			return &GuardError{Name: name, Write: true, Allowed: g.Write}
		}
	}
	return nil
}

// syncAbove makes the way to a file durable, up to the root: a folder above may have
// been made just now.
func (f *GuardedFiles) syncAbove(folder string) error {
	root, err := f.openRoot()
	if err != nil {
		return err
	}
	defer root.Close()
	for ; ; folder = parent(folder) {
		err := syncFolder(root, folder)
		if err != nil && !isMissing(err) && !errors.Is(err, fs.ErrPermission) && bareError(err).Error() != escapes {
			return err
		}
		if folder == "." {
			return nil
		}
	}
}
