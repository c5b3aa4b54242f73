//go:build !unix

package workspace_test

// runChild has nothing to run where processes cannot be killed by a signal.
func runChild() bool { return false }
