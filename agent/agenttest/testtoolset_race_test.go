//go:build race

package agenttest_test

import (
	"testing"
)

func TestARaceOfAToolsetIsFoundOut(t *testing.T) {
	t.Parallel()
	requireFound(t, "counts without a lock", foundBy{"calls can be made side by side", "race detected"})
}
