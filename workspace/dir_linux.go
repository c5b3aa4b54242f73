package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData syncs the content and the size, not the times.
func syncData(f *os.File) error {
	for {
		if err := unix.Fdatasync(int(f.Fd())); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// renameExclusive renames and refuses an existing target in one step.
func renameExclusive(root *os.Root, from, to string) error {
	err := renameBetween(root, from, to, func(fromFolder int, from string, toFolder int, to string) error {
		return unix.Renameat2(fromFolder, from, toFolder, to, unix.RENAME_NOREPLACE)
	})
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // such as NFS
		return renameByChecking(root, from, to)
	}
	return err
}
