//go:build unix

package mcp_test

import (
	"errors"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// hasEnded reports whether a process has ended, be it reaped or not.
func hasEnded(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false // not Linux, or gone just now: the next signal tells
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(state, "Z")
}
