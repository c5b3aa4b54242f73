package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

const openNonblock = 0 // named pipes are no files there

// The lock lies far behind the content: on Windows a locked range cannot be read
// or written by others, who want to read the holder's text.
const lockOffsetHigh = 1 << 30

func tryLockFile(f *os.File) (bool, error) {
	at := windows.Overlapped{OffsetHigh: lockOffsetHigh}
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return false, nil
	}
	return err == nil, err
}

// unlockFile cannot fail on a handle that is open.
func unlockFile(f *os.File) {
	at := windows.Overlapped{OffsetHigh: lockOffsetHigh}
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}

// refersTo reports whether the name still leads to the open file, and how large
// the file is.
func refersTo(root *os.Root, _ *os.File, name string, f *os.File) (size int64, current bool, err error) {
	opened, err := f.Stat()
	if err != nil {
		return 0, false, err
	}
	named, err := root.Stat(name)
	if isMissing(err) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return opened.Size(), os.SameFile(opened, named), nil
}

func syncData(f *os.File) error { return f.Sync() }

// syncFolder does nothing: Windows cannot sync a folder.
func syncFolder(*os.Root, string) error { return nil }

func removeEmptyFolder(root *os.Root, name string) error {
	info, err := root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return errNotFolder
	}
	return root.Remove(name)
}

func renameExclusive(root *os.Root, from, to string) error {
	if _, err := root.Lstat(to); err == nil {
		return os.ErrExist
	}
	return root.Rename(from, to)
}
