//go:build unix && !solaris && !illumos && !aix

package feedback

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// canPoll says that readable works here.
const canPoll = true

// readable waits until a read of the file would not block, at most for a while. Errors
// count as readable: the read tells.
func readable(file *os.File, wait time.Duration) bool {
	ready := true
	withFD(file, func(fd int) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		n, err := unix.Poll(fds, int(wait.Milliseconds()))
		ready = n > 0 || err != nil && err != unix.EINTR
	})
	return ready
}

// hideTyping turns the echo of a terminal off until restore is called. What is no
// terminal stays as it is.
func hideTyping(file *os.File) (restore func()) {
	var before *unix.Termios
	withFD(file, func(fd int) {
		state, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return
		}
		hidden := *state
		hidden.Lflag &^= unix.ECHO
		hidden.Lflag |= unix.ICANON | unix.ISIG
		if unix.IoctlSetTermios(fd, setTermios, &hidden) == nil {
			before = state
		}
	})
	return func() {
		if before != nil {
			withFD(file, func(fd int) { _ = unix.IoctlSetTermios(fd, setTermios, before) })
		}
	}
}

// withFD calls do with the file's descriptor, which is left in the mode that it has.
func withFD(file *os.File, do func(fd int)) {
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { do(int(fd)) })
}
