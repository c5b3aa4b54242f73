package feedback_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/internal/crashtest"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

// A run asks three questions; one is answered, one expires, one is withdrawn. Each
// process does what the ones before have not.
func TestNothingIsLostWhereverAProcessIsStopped(t *testing.T) {
	t.Parallel()
	for _, second := range []int{0, 1, 3, 6} {
		var told map[string]int
		work := crashtest.Work{
			Prepare: func(context.Context, workspace.Storage) error { return nil },
			Begin:   func() { told = map[string]int{} },
			Run: func(ctx context.Context, st workspace.Storage) error {
				clock := newClock()
				in := feedback.New(st, feedback.Config{Now: clock.now, LockWait: time.Second, Notifier: notifyFunc(
					func(ctx context.Context, n *feedback.Notification) (feedback.Receipt, error) {
						told[n.Key]++
						return feedback.Receipt{}, ctx.Err()
					})})
				if e, err := in.Get(ctx, "run-1/withdrawn"); err == nil && e.State == feedback.Withdrawn {
					return nil // asking again would ask anew
				}
				for _, key := range []string{"answered", "expired", "withdrawn"} {
					q := question(key)
					if key == "expired" {
						q.Timeout = time.Minute
					}
					if _, err := in.Ask(ctx, q); err != nil {
						return err
					}
				}
				if _, err := in.Answer(ctx, "run-1/answered", feedback.Answer{Value: "good"}); err != nil && !errors.As(err, new(*feedback.AnsweredError)) {
					return err
				}
				clock.pass(time.Hour)
				if _, err := in.Expire(ctx, clock.now()); err != nil {
					return err
				}
				_, err := in.WithdrawRun(ctx, "iteration-1", "canceled")
				return err
			},
			Check: func(tb testing.TB, st workspace.Storage) {
				tb.Helper()
				in := feedback.New(st, feedback.Config{})
				for key, state := range map[string]feedback.State{"answered": feedback.Answered, "expired": feedback.Expired, "withdrawn": feedback.Withdrawn} {
					e, err := in.Get(tb.Context(), "run-1/"+key)
					require.NoError(tb, err)
					assert.Equal(tb, state, e.State, key)
					assert.NotZero(tb, told[e.ID], "somebody is told of each")
					assert.LessOrEqual(tb, told[e.ID], 3)
					assert.NotEmpty(tb, e.Receipts)
				}
				list, err := in.List(tb.Context(), feedback.Filter{})
				require.NoError(tb, err)
				assert.Empty(tb, list, "the list agrees with the questions")
			},
		}
		assert.Greater(t, crashtest.EveryCut(t, work, second), 60)
	}
}

// What the list of open questions says is what the questions' own files say, at every
// point at which a process may stop.
func TestTheListAgreesWithTheQuestionsWhereverAProcessIsStopped(t *testing.T) {
	t.Parallel()
	change := func(ctx context.Context, st workspace.Storage) error {
		in := feedback.New(st, feedback.Config{LockWait: time.Second})
		if _, err := in.Ask(ctx, question("a")); err != nil {
			return err
		}
		if _, err := in.Ask(ctx, question("b")); err != nil {
			return err
		}
		_, err := in.Answer(ctx, "run-1/a", feedback.Answer{Value: "good"})
		return err
	}
	counting := workspacetest.NewFaulty(workspace.NewMem(), workspacetest.Fault{})
	require.NoError(t, change(t.Context(), counting.Storage()))
	for at := 1; at <= counting.Changes(); at++ {
		for _, when := range []workspacetest.When{workspacetest.Before, workspacetest.After, workspacetest.Torn} {
			st := workspace.NewMem()
			_ = change(t.Context(), workspacetest.NewFaulty(st, workspacetest.Fault{At: at, When: when, Stop: true}).Storage())
			in := feedback.New(st, feedback.Config{})
			listed, err := in.List(t.Context(), feedback.Filter{})
			require.NoError(t, err)
			all, err := in.List(t.Context(), feedback.Filter{States: []feedback.State{}})
			require.NoError(t, err)
			truth := []string{}
			for _, e := range all {
				if e.State == feedback.Open {
					truth = append(truth, e.ID)
				}
			}
			assert.Equal(t, truth, ids(listed), "%s operation %d", when, at)
		}
	}
}

// A storage that fails once is lived through or reported, and what was reported as done
// is done.
func TestAStorageThatFailsLosesNothingThatWasAcknowledged(t *testing.T) {
	t.Parallel()
	for at := 1; at <= 12; at++ {
		for _, when := range []workspacetest.When{workspacetest.Before, workspacetest.After, workspacetest.Torn} {
			st := workspace.NewMem()
			in := feedback.New(workspacetest.NewFaulty(st, workspacetest.Fault{At: at, When: when}).Storage(), feedback.Config{})
			_, asked := in.Ask(t.Context(), question("a"))
			_, answered := in.Answer(t.Context(), "run-1/a", feedback.Answer{Value: "good"})
			e, err := feedback.New(st, feedback.Config{}).Get(t.Context(), "run-1/a")
			if asked == nil {
				require.NoError(t, err, "%s operation %d", when, at)
			}
			if answered == nil {
				require.NoError(t, err)
				assert.Equal(t, feedback.Answered, e.State, "%s operation %d", when, at)
			}
			again := feedback.New(st, feedback.Config{})
			ask(t, again, question("a"))
			_, err = again.Answer(t.Context(), "run-1/a", feedback.Answer{Value: "good"})
			if err != nil {
				require.ErrorAs(t, err, new(*feedback.AnsweredError), "%s operation %d", when, at)
			}
			assert.Empty(t, open(t, again))
		}
	}
}
