package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData is a full sync (F_FULLFSYNC), which goes through the disk's cache.
func syncData(f *os.File) error { return f.Sync() }

// renameExclusive renames and refuses an existing target in one step.
func renameExclusive(root *os.Root, from, to string) error {
	err := renameBetween(root, from, to, func(fromFolder int, from string, toFolder int, to string) error {
		return unix.RenameatxNp(fromFolder, from, toFolder, to, unix.RENAME_EXCL)
	})
	if errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.EINVAL) {
		return renameByChecking(root, from, to)
	}
	return err
}
