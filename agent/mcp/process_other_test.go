//go:build !unix

package mcp_test

import "os"

// hasEnded reports whether a process has ended: where there are no signals, one that
// has cannot be found.
func hasEnded(pid int) bool {
	process, err := os.FindProcess(pid)
	if err != nil {
		return true
	}
	_ = process.Release()
	return false
}
