//go:build unix

package nodetest

import (
	"os/exec"
	"syscall"
)

func terminateGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }

func killGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }

// groupLives reports whether a process of the group is left, once its leader has ended.
// A killed one that nobody has waited for yet does not count.
func groupLives(cmd *exec.Cmd) bool {
	return syscall.Kill(-cmd.Process.Pid, 0) == nil && !onlyDead(cmd.Process.Pid)
}
