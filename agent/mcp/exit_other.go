//go:build !linux

package mcp

import "os/exec"

// awaitExit reaps the process: not every system can wait without. The second Wait
// of the caller then only reports what is known.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }
