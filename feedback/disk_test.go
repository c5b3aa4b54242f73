package feedback_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/workspace"
)

// Each process has the folder open for itself.
func TestOnDiskOneOfManyAnswersAtOnceWinsForEachQuestion(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	process := func() *feedback.Inbox {
		dir, err := workspace.NewDir(folder)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, dir.Close()) })
		return feedback.New(dir, feedback.Config{})
	}
	const questions, people = 6, 4
	asker := process()
	for i := range questions {
		ask(t, asker, question(fmt.Sprint(i)))
	}
	won := make([][]string, people)
	var wg sync.WaitGroup
	for p := range people {
		in := process()
		wg.Go(func() {
			for i := range questions {
				_, err := in.Answer(t.Context(), fmt.Sprintf("run-1/%d", i), feedback.Answer{Value: fmt.Sprint(p), By: fmt.Sprint(p)})
				var answered *feedback.AnsweredError
				switch {
				case err == nil:
					won[p] = append(won[p], fmt.Sprint(i))
				case !errors.As(err, &answered):
					assert.NoError(t, err)
				}
			}
		})
	}
	wg.Wait()
	total := 0
	for p := range people {
		total += len(won[p])
		for _, i := range won[p] {
			assert.Equal(t, fmt.Sprint(p), get(t, asker, "run-1/"+i).Answer.Value)
		}
	}
	assert.Equal(t, questions, total)
	assert.Empty(t, open(t, asker))
}
