package workspace_test

import (
	"os"

	"golang.org/x/sys/unix"
)

func bareSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }
