//go:build linux && !race

package sandbox_test

// raced says that the race detector is in this binary.
const raced = false
