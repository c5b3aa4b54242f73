//go:build freebsd || netbsd || openbsd || dragonfly

package workspace

import "os"

func syncData(f *os.File) error { return f.Sync() }

func renameExclusive(root *os.Root, from, to string) error {
	return renameByChecking(root, from, to)
}
