//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package workspace

import (
	"errors"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// openNonblock keeps an open from waiting for the other end of a named pipe.
const openNonblock = unix.O_NONBLOCK

func tryLockFile(f *os.File) (bool, error) {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

// unlockFile cannot fail on a descriptor that is open.
func unlockFile(f *os.File) { _ = flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// refersTo reports whether the name still leads to the open file, which another
// process may have replaced, moved or removed, and how large the file is.
//
// It asks the kernel with one call instead of the root with one for each element,
// which would cost a tenth of an append. That call may follow a link out of the
// folder; nothing is opened there, and what it finds is not the file.
func refersTo(_ *os.Root, folder *os.File, name string, f *os.File) (size int64, current bool, err error) {
	var opened, named unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &opened); err != nil {
		return 0, false, err
	}
	err = unix.Fstatat(int(folder.Fd()), name, &named, 0)
	if isMissing(err) || errors.Is(err, unix.ELOOP) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return opened.Size, opened.Dev == named.Dev && opened.Ino == named.Ino, nil
}

func syncFolder(root *os.Root, name string) error {
	f, err := root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}

// removeEmptyFolder removes a folder that is empty, and nothing else: os.Root.Remove
// would also take a file that has come in its place.
func removeEmptyFolder(root *os.Root, name string) error {
	folder, err := root.Open(parent(name))
	if err != nil {
		return err
	}
	defer folder.Close()
	return unix.Unlinkat(int(folder.Fd()), path.Base(name), unix.AT_REMOVEDIR)
}

// renameByChecking renames without replacing a file, on file systems that cannot
// do so in one step. A file gets its new name before it loses the old one, which
// fails when the target exists. A folder only ever replaces an empty folder.
func renameByChecking(root *os.Root, from, to string) error {
	info, err := root.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode().IsRegular() {
		if err := root.Link(from, to); err == nil || errors.Is(err, os.ErrExist) {
			if err != nil {
				return err
			}
			return root.Remove(from)
		}
	}
	if _, err := root.Lstat(to); err == nil {
		return os.ErrExist
	}
	return root.Rename(from, to)
}

// renameBetween calls rename with the folders of both names.
func renameBetween(root *os.Root, from, to string, rename func(fromFolder int, from string, toFolder int, to string) error) error {
	source, err := root.Open(parent(from))
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := root.Open(parent(to))
	if err != nil {
		return err
	}
	defer target.Close()
	return rename(int(source.Fd()), path.Base(from), int(target.Fd()), path.Base(to))
}
