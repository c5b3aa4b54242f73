package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// openRoot opens the root of the workspace on the local disk.
func (f *GuardedFiles) openRoot() (*os.Root, error) {
	if dir, ok := f.ws.st.(*Dir); ok {
		return dir.root.OpenRoot(".")
	}
	local, _ := f.ws.LocalPath(".")
	return os.OpenRoot(local)
}

// step opens a folder directly below another, and no link: what is open must be what
// the name itself stands for, not what it leads to. Looking after opening leaves no
// gap; a name that is changed in between leads to another file than the open one.
func step(from *os.Root, element string) (*os.Root, error) {
	next, err := openBelow(from, element)
	if err == nil {
		err = requireSame(from, element, func() (fs.FileInfo, error) { return next.Stat(".") })
		if err == nil {
			return next, nil
		}
		return nil, errors.Join(err, next.Close())
	}
	if isLink(from, element) {
		return nil, ErrGuardLink
	}
	return nil, err
}

// openBelow opens a folder below another. With "/." the name itself is opened as a
// folder or not at all. Without, opening a pipe of that name would wait for its other
// end, which nothing could end.
func openBelow(from *os.Root, name string) (*os.Root, error) { return from.OpenRoot(name + "/.") }

// requireSame gives [ErrGuardLink] unless a name stands for the open file itself.
func requireSame(folder *os.Root, name string, stat func() (fs.FileInfo, error)) error {
	named, err := folder.Lstat(name)
	if err != nil {
		return err
	}
	opened, err := stat()
	if err != nil {
		return err
	}
	if !os.SameFile(named, opened) {
		return ErrGuardLink
	}
	return nil
}

func isLink(folder *os.Root, name string) bool {
	info, err := folder.Lstat(name)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// walk goes down from the root of the workspace without following a link, and calls
// visit with each folder on the way, the root excepted. With create it makes what is
// missing. The caller closes what it returns.
func (f *GuardedFiles) walk(folder string, create bool, visit func(*os.Root) error) (*os.Root, error) {
	at, err := f.openRoot()
	if err != nil || folder == "." {
		return at, err
	}
	for element := range strings.SplitSeq(folder, "/") {
		next, err := step(at, element)
		if create && errors.Is(err, fs.ErrNotExist) {
			if err = at.Mkdir(element, folderMode); err == nil || errors.Is(err, fs.ErrExist) {
				next, err = step(at, element)
			}
		}
		if err == nil && visit != nil {
			if err = visit(next); err != nil {
				err = errors.Join(err, next.Close())
			}
		}
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// below opens the name of the guard that covers a name, and gives the rest of the
// name below it. Where the guard names the file itself it is the folder of the file;
// exact then says that the rest must not be a link.
func (f *GuardedFiles) below(name string) (folder *os.Root, rest string, exact bool, err error) {
	covering, _ := f.guard.Covering(name)
	if name != covering {
		folder, err = f.walk(covering, false, nil)
		rest = strings.TrimPrefix(name, covering+"/")
		return folder, rest, false, err
	}
	if name == "." {
		folder, err = f.openRoot()
		return folder, name, false, err
	}
	folder, err = f.walk(parent(name), false, nil)
	return folder, path.Base(name), true, err
}

// openToRead opens a file or a folder.
func (f *GuardedFiles) openToRead(op, name string) (*os.File, error) {
	folder, rest, exact, err := f.below(name)
	if err != nil {
		return nil, guardedError(op, name, err)
	}
	defer folder.Close()
	file, err := folder.OpenFile(rest, os.O_RDONLY|openNonblock, 0)
	if err != nil {
		return nil, guardedError(op, name, err)
	}
	if exact {
		if err := requireSame(folder, rest, file.Stat); err != nil {
			file.Close()
			return nil, guardedError(op, name, err)
		}
	}
	return file, nil
}

func (f *GuardedFiles) readLocal(name string, limit int64) ([]byte, error) {
	file, err := f.openToRead("read", name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := requireRegular(file); err != nil {
		return nil, guardedError("read", name, err)
	}
	if limit <= 0 {
		data, err := readAll(file)
		if err != nil {
			return nil, guardedError("read", name, err)
		}
		return data, nil
	}
	// A file may grow while it is read, so its size is looked at for the message only.
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	switch {
	case err != nil:
		return nil, guardedError("read", name, err)
	case int64(len(data)) > limit:
		size := int64(len(data))
		if info, err := file.Stat(); err == nil {
			size = max(size, info.Size())
		}
		return nil, tooLarge(name, size, limit)
	}
	return data, nil
}

func (f *GuardedFiles) readDirLocal(name string) ([]fs.DirEntry, error) {
	file, err := f.openToRead("readdir", name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && !info.IsDir() {
		return nil, pathError("readdir", name, errNotFolder)
	}
	all, err := file.ReadDir(-1)
	if err != nil {
		return nil, guardedError("readdir", name, err)
	}
	entries := make([]fs.DirEntry, 0, len(all))
	for _, entry := range all {
		if strings.HasPrefix(entry.Name(), tempPrefix) {
			continue
		}
		// Described now: later the name may stand for something else.
		info, err := entry.Info()
		if err != nil {
			continue // gone already
		}
		entries = append(entries, fs.FileInfoToDirEntry(info))
	}
	sortEntries(entries)
	return entries, nil
}

func (f *GuardedFiles) statLocal(name string) (fs.FileInfo, error) {
	folder, rest, exact, err := f.below(name)
	if err != nil {
		return nil, guardedError("stat", name, err)
	}
	defer folder.Close()
	look := folder.Stat
	if exact {
		look = folder.Lstat
	}
	info, err := look(rest)
	switch {
	case err != nil:
		return nil, guardedError("stat", name, err)
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, guardedError("stat", name, ErrGuardLink)
	}
	return info, nil
}

// guardedError names the operation and the name in the storage, and calls a link
// that leads out a matter of the guard.
func guardedError(op, name string, err error) error {
	if denied, ok := errors.AsType[*GuardError](err); ok {
		return denied
	}
	bare := bareError(err)
	if bare != nil && bare.Error() == escapes {
		bare = ErrGuardLink
	}
	return readError(op, name, bare)
}
