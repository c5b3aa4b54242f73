//go:build linux && race

package sandbox_test

// raced says that the race detector is in this binary, and so in every attacker: it takes
// a hundred megabytes, and makes every start slow.
const raced = true
