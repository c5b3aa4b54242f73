package feedback_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/workspace"
)

// Branches ask side by side through inboxes of their own, people answer in any order
// through others, some twice, and a branch may be stopped while it waits and go on
// elsewhere.
func TestEachAnswerReachesItsOwnQuestionExactlyOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		st := workspace.NewMem()
		config := feedback.Config{PollInterval: 2 * time.Millisecond}
		processes := make([]*feedback.Inbox, rapid.IntRange(1, 4).Draw(t, "processes"))
		for i := range processes {
			processes[i] = feedback.New(st, config)
		}
		process := rapid.SampledFrom(processes)
		branches := rapid.IntRange(1, 8).Draw(t, "branches")
		type visit struct {
			key     string
			first   *feedback.Inbox
			second  *feedback.Inbox
			stopped bool
		}
		visits := make([]visit, branches)
		for i := range visits {
			visits[i] = visit{
				key:   fmt.Sprintf("branch-%d/visit/1", i),
				first: process.Draw(t, "asks"), second: process.Draw(t, "resumes"), stopped: rapid.Bool().Draw(t, "stopped"),
			}
		}
		order := rapid.Permutation(intsTo(branches)).Draw(t, "order")
		twice := rapid.SliceOfN(rapid.Bool(), branches, branches).Draw(t, "twice")
		answering := make([]*feedback.Inbox, branches)
		for i := range answering {
			answering[i] = process.Draw(t, "answers")
		}

		got := make([]string, branches)
		var wg sync.WaitGroup
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		for i, v := range visits {
			wg.Go(func() {
				if v.stopped {
					leaving := &feedback.Asker{Inbox: v.first, Leave: true}
					_, _ = leaving.Text(ctx, question(v.key)) // leaves, unless it is answered
				}
				asker := &feedback.Asker{Inbox: v.second}
				text, err := asker.Text(ctx, question(v.key))
				if assert.NoError(t, err) {
					got[i] += text
				}
			})
		}
		wg.Go(func() {
			for _, i := range order {
				id := "run-1/" + visits[i].key
				answerWhenAsked(ctx, t, answering[i], id, "to "+visits[i].key)
				if twice[i] {
					_, err := answering[(i+1)%branches].Answer(ctx, id, feedback.Answer{Value: "again"})
					assert.ErrorAs(t, err, new(*feedback.AnsweredError))
				}
			}
		})
		wg.Wait()
		for i, v := range visits {
			require.Equal(t, "to "+v.key, got[i])
		}
		left, err := processes[0].List(ctx, feedback.Filter{})
		require.NoError(t, err)
		require.Empty(t, left)
	})
}

func answerWhenAsked(ctx context.Context, t *rapid.T, in *feedback.Inbox, id, text string) {
	for ctx.Err() == nil {
		_, err := in.Answer(ctx, id, feedback.Answer{Value: text})
		if err == nil {
			return
		}
		if !errors.Is(err, feedback.ErrNotFound) {
			assert.NoError(t, err)
			return
		}
	}
}

func intsTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}
