package agenttest

import (
	"bytes"
	"context"
	"crypto/rand"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// leakLabel marks the goroutines of a test. A goroutine inherits the labels of the
// one that starts it, so what other tests start meanwhile is told apart.
const leakLabel = "treadle_toolset_test"

// leakGrace is how long a goroutine may take to be gone after it has said that it
// ends, on a machine that is busy.
const leakGrace = 2 * time.Second

// leaves checks that fn leaves no goroutine that it started.
func (s *toolsetSuite) leaves(t *testing.T, what string, fn func()) {
	t.Helper()
	id := rand.Text()
	pprof.Do(t.Context(), pprof.Labels(leakLabel, id), func(context.Context) { fn() })
	limit := time.Now().Add(leakGrace)
	left := labeled(t, id)
	for len(left) > 0 && time.Now().Before(limit) {
		timer := time.NewTimer(5 * time.Millisecond)
		<-timer.C
		left = labeled(t, id)
	}
	if len(left) > 0 {
		t.Errorf("%s left goroutines:\n%s", what, strings.Join(left, "\n\n"))
	}
}

// labeled returns the stacks of the goroutines with a label.
func labeled(t *testing.T, id string) []string {
	t.Helper()
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Fatalf("the goroutines cannot be read: %v", err)
	}
	var stacks []string
	for stack := range strings.SplitSeq(profile.String(), "\n\n") {
		if strings.Contains(stack, id) {
			stacks = append(stacks, stack)
		}
	}
	return stacks
}
