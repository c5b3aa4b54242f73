//go:build !unix

package mcp

import "os/exec"

// Where there are no process groups only the server itself is ended.

func ownGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
