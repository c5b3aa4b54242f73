package mcp

import (
	"errors"
	"os/exec"

	"golang.org/x/sys/unix"
)

// awaitExit returns when the process has ended, and leaves it to be reaped.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}
