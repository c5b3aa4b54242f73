package feedback_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/workspace"
)

// onDisk has questions in runs of their own; of each ten, one is closed.
func onDisk(b *testing.B, n int) workspace.Storage {
	b.Helper()
	dir, err := workspace.NewDir(b.TempDir())
	require.NoError(b, err)
	b.Cleanup(func() { _ = dir.Close() })
	in := feedback.New(dir, feedback.Config{})
	for i := range n + n/10 {
		q := question(fmt.Sprintf("step/visit/1/attempt/1/turn/%d/tool/1", i))
		q.RunID, q.Run = fmt.Sprintf("01HXAMPLERUN%d", i), fmt.Sprintf("iteration-%d", i)
		q.Context = "The invoice is over the limit, and the customer has asked twice already."
		e, err := in.Ask(b.Context(), q)
		require.NoError(b, err)
		if i%11 == 0 {
			_, err := in.Answer(b.Context(), e.ID, feedback.Answer{Value: "good"})
			require.NoError(b, err)
		}
	}
	return dir
}

// The target is below 50 ms for 1,000 open questions, in a new process.
func BenchmarkListOf1000OpenQuestionsOnDisk(b *testing.B) {
	st := onDisk(b, 1000)
	b.ResetTimer()
	for b.Loop() {
		list, err := feedback.New(st, feedback.Config{}).List(b.Context(), feedback.Filter{})
		require.NoError(b, err)
		require.Len(b, list, 1000)
	}
}

func BenchmarkAskAndAnswerOnDisk(b *testing.B) {
	st := onDisk(b, 10)
	in := feedback.New(st, feedback.Config{})
	i := 0
	for b.Loop() {
		i++
		q := question(fmt.Sprintf("bench/%d", i))
		e, err := in.Ask(b.Context(), q)
		require.NoError(b, err)
		_, err = in.Answer(b.Context(), e.ID, feedback.Answer{Value: "good"})
		require.NoError(b, err)
	}
}
