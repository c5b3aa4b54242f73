//go:build !unix

package nodetest

import "os/exec"

func setGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }

func groupLives(*exec.Cmd) bool { return false }
