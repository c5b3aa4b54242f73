//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package feedback

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	fRead      = 1 // what TIOCFLUSH takes for input
)

// dropTyped forgets what is typed and not read.
func dropTyped(file *os.File) {
	withFD(file, func(fd int) { _ = unix.IoctlSetPointerInt(fd, unix.TIOCFLUSH, fRead) })
}
