package feedback_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/feedback/feedbacktest"
	"github.com/treadle-dev/treadle/internal/crashtest"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

func TestNumbersAreReadAsPeopleWriteThem(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]int{
		"01": 1, "2.": 2, "2)": 2, "OPTION 2": 2, "\u200e2\u200f": 2, "\ufeff1": 1, "2: There": 2, "1: here": 1,
		"+1": 0, "-1": 0, "２": 0, "2nd": 0, "option": 0, "99999999999999999999": 0, "\u200b": 0, "\x00": 0, "\u2003\n": 0,
	} {
		b := setup(t)
		q := question("a")
		q.Kind, q.Options = feedback.KindChoice, []string{"Here", "There"}
		e, err := b.process().Answer(t.Context(), ask(t, b.process(), q).ID, feedback.Answer{Value: given})
		if want == 0 {
			require.ErrorAs(t, err, new(*feedback.AnswerError), "%q", given)
			continue
		}
		require.NoError(t, err, "%q", given)
		assert.Equal(t, want, e.Answer.Option, "%q", given)
	}
}

func TestWhatWouldMisleadAPersonIsNotAsked(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*feedback.Question){
		"labels that mean the opposite": func(q *feedback.Question) { q.Kind, q.Options = feedback.KindYesNo, []string{"No", "Yes"} },
		"an option that looks like two": func(q *feedback.Question) { q.Kind, q.Options = feedback.KindChoice, []string{"a\n  2: b", "c"} },
		"an option with an escape":      func(q *feedback.Question) { q.Kind, q.Options = feedback.KindChoice, []string{"a\x1b[2J", "c"} },
		"a text that cannot be seen":    func(q *feedback.Question) { q.Text = "\u200b\u202e" },
		"too many options": func(q *feedback.Question) {
			for i := range 10_000 {
				q.Kind, q.Options = feedback.KindChoice, append(q.Options, fmt.Sprint(i))
			}
		},
	} {
		q := question("a")
		change(q)
		_, err := setup(t).process().Ask(t.Context(), q)
		assert.ErrorAs(t, err, new(*feedback.InvalidError), name)
	}
}

// The clock of who asks runs ahead; an answer that came in time by another is kept.
func TestAnAnswerThatCameInTimeByAnotherClockReachesWhoAsks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := question("a")
	q.Timeout = time.Minute
	ask(t, b.process(), q)
	answered := false
	ahead := b.process(func(c *feedback.Config) {
		c.Now = func() time.Time {
			if !answered { // between the look of Ask and what follows
				answered = true
				return noon
			}
			_, _ = b.process().Answer(t.Context(), "run-1/a", feedback.Answer{Value: "good"})
			return noon.Add(time.Hour)
		}
	})
	text, err := (&feedback.Asker{Inbox: ahead}).Text(t.Context(), q)
	require.NoError(t, err)
	assert.Equal(t, "good", text)
}

func TestAClockThatJumpsBackReopensOrKeepsButNeverPanics(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := question("a")
	q.Timeout = time.Minute
	ask(t, b.process(), q)
	calls := 0
	jumping := b.process(func(c *feedback.Config) {
		c.Now = func() time.Time {
			if calls++; calls == 2 {
				return noon.Add(time.Hour)
			}
			return noon
		}
	})
	_, err := (&feedback.Asker{Inbox: jumping, Leave: true}).Text(t.Context(), q)
	require.Error(t, err)
	assert.ErrorContains(t, err, "waits for a person")
}

func TestWhatIsPastItsDeadlineExpiresAlsoWhenItIsWithdrawnOrCleanedUp(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*feedback.Inbox) error{
		"withdrawn": func(in *feedback.Inbox) error {
			_, err := in.Withdraw(t.Context(), "run-1/a", "canceled")
			return err
		},
		"cleaned up": func(in *feedback.Inbox) error {
			_, err := in.Cleanup(t.Context(), time.Minute)
			return err
		},
	} {
		b := setup(t)
		q := question("a")
		q.Timeout = time.Minute
		ask(t, b.process(), q)
		b.clock.pass(time.Hour)
		require.NoError(t, end(b.process()))
		e := get(t, b.process(), "run-1/a")
		assert.Equal(t, feedback.Expired, e.State, name)
		assert.Equal(t, noon.Add(time.Minute), e.ClosedAt, name)
		assert.Empty(t, e.Reason, name)
	}
}

func TestOfAnswerAndExpiryOneWinsAndAllAreToldTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b := &bundle{st: workspace.NewMem(), clock: newClock()}
		ctx := context.Background()
		q := question("a")
		q.Timeout = time.Hour + time.Minute
		_, err := b.process(func(c *feedback.Config) { c.Now = func() time.Time { return noon.Add(-time.Hour) } }).Ask(ctx, q)
		require.NoError(t, err)
		var mu sync.Mutex
		won := 0
		verbs := rapid.SliceOfN(rapid.IntRange(0, 3), 2, 6).Draw(t, "verbs")
		jump := time.Duration(rapid.IntRange(59, 61).Draw(t, "seconds")) * time.Second
		var wg sync.WaitGroup
		wg.Go(func() { b.clock.pass(jump) })
		for _, verb := range verbs {
			in := b.process(func(c *feedback.Config) {
				c.OnChange = func(*feedback.Entry) {
					mu.Lock()
					defer mu.Unlock()
					won++
				}
			})
			wg.Go(func() {
				switch verb {
				case 0:
					_, _ = in.Answer(ctx, "run-1/a", feedback.Answer{Value: "good"})
				case 1:
					_, err := in.Expire(ctx, b.clock.now())
					assert.NoError(t, err)
				case 2:
					_, err := in.Withdraw(ctx, "run-1/a", "canceled")
					assert.NoError(t, err)
				case 3:
					_, err := in.Cleanup(ctx, 30*time.Minute) // ends the open one, removes none
					assert.NoError(t, err)
				}
			})
		}
		wg.Wait()
		assert.LessOrEqual(t, won, 1)
		one, err := b.process().Get(ctx, "run-1/a")
		require.NoError(t, err)
		other, err := b.process().Get(ctx, "run-1/a")
		require.NoError(t, err)
		assert.Equal(t, one, other)
	})
}

func TestAThousandWhoWaitMarkAnExpiryOnceAndLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		counting := workspacetest.NewCounting(workspace.NewMem())
		in := feedback.New(counting.Storage(), feedback.Config{})
		q := question("a")
		q.Timeout = time.Minute
		e := ask(t, in, q)
		before := counting.Count(workspacetest.AppendAt)
		var wg sync.WaitGroup
		for range 1000 {
			wg.Go(func() {
				_, err := in.Wait(t.Context(), e.ID)
				assert.ErrorAs(t, err, new(*feedback.ExpiredError))
			})
		}
		wg.Wait()
		assert.Equal(t, 3, counting.Count(workspacetest.AppendAt)-before)
	})
}

func TestANotifierThatNeverReturnsIsLeftAndInDoubt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		deaf := &feedbacktest.Notifier{Do: func(context.Context, *feedback.Notification) (feedback.Receipt, error) {
			<-release
			return feedback.Receipt{}, nil
		}}
		in := feedback.New(workspace.NewMem(), feedback.Config{Notifier: deaf})
		began := time.Now()
		e := ask(t, in, question("a"))
		assert.LessOrEqual(t, time.Since(began), feedback.DefaultNotifyTimeout+time.Second)
		assert.Equal(t, feedback.InDoubt, e.Receipts[0].Status)
		for range 2 {
			r, err := in.Notify(t.Context(), notice("n"))
			require.NoError(t, err)
			assert.Equal(t, feedback.InDoubt, r.Channels[0].Status)
		}
	})
}

func TestANotifierThatEndsItsGoroutineDoesNotHoldTheQuestion(t *testing.T) {
	t.Parallel()
	gone := &feedbacktest.Notifier{Do: func(context.Context, *feedback.Notification) (feedback.Receipt, error) {
		runtime.Goexit()
		return feedback.Receipt{}, nil
	}}
	b := setup(t)
	e := ask(t, b.process(through(gone)), question("a"))
	assert.Equal(t, feedback.InDoubt, e.Receipts[0].Status)
}

func TestReceiptsAreCutAndCarryNoSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.process(func(c *feedback.Config) {
		c.Redact = strings.NewReplacer("hunter2", "***").Replace
		c.Notifier = &feedbacktest.Notifier{Do: func(context.Context, *feedback.Notification) (feedback.Receipt, error) {
			return feedback.Receipt{Reference: "hunter2", Channels: []feedback.Receipt{{Detail: "hunter2" + strings.Repeat("x", 1<<20)}}}, nil
		}}
	})
	ask(t, in, question("a"))
	text := everything(t, b.st)
	assert.NotContains(t, text, "hunter2")
	assert.Less(t, len(text), 16<<10)
}

func TestAQuestionWhoseFileIsGoneLeavesTheList(t *testing.T) {
	t.Parallel()
	for name, tidy := range map[string]func(*feedback.Inbox) error{
		"expire":   func(in *feedback.Inbox) error { _, err := in.Expire(t.Context(), noon.Add(time.Hour)); return err },
		"withdraw": func(in *feedback.Inbox) error { _, err := in.WithdrawRun(t.Context(), "run-1", "canceled"); return err },
		"clean up": func(in *feedback.Inbox) error { _, err := in.Cleanup(t.Context(), time.Hour); return err },
	} {
		b := setup(t)
		q := question("a")
		q.Timeout = time.Minute
		ask(t, b.process(), q)
		require.NoError(t, b.st.Remove(t.Context(), workspace.RunLayout("iteration-1").Questions()))
		require.NoError(t, tidy(b.process()), name)
		assert.Empty(t, open(t, b.process()), name)
		again := ask(t, b.process(), q)
		assert.Equal(t, []string{again.ID}, open(t, b.process()), name)
	}
}

func TestAGroupMayBeCalledFeedback(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := question("a")
	q.Run = "iteration-1/feedback"
	e := ask(t, b.process(), q)
	require.NoError(t, b.st.Remove(t.Context(), workspace.OpenQuestionsFile))
	assert.Equal(t, []string{e.ID}, open(t, b.process()))
}

func TestCleanupAndNotificationsLiveThroughACrashAnywhere(t *testing.T) {
	t.Parallel()
	for _, second := range []int{0, 1, 2} {
		work := crashtest.Work{
			Prepare: func(ctx context.Context, st workspace.Storage) error {
				in := feedback.New(st, feedback.Config{Now: newClock().now})
				for _, key := range []string{"open", "closed"} {
					if _, err := in.Ask(ctx, question(key)); err != nil {
						return err
					}
				}
				_, err := in.Answer(ctx, "run-1/closed", feedback.Answer{Value: "good"})
				return err
			},
			Begin: func() {},
			Run: func(ctx context.Context, st workspace.Storage) error {
				in := feedback.New(st, feedback.Config{Now: func() time.Time { return noon.Add(48 * time.Hour) }, Notifier: &feedbacktest.Notifier{}})
				_, err := in.Cleanup(ctx, time.Hour)
				if err == nil {
					_, err = in.Notify(ctx, notice("n"))
				}
				return err
			},
			Check: func(tb testing.TB, st workspace.Storage) {
				tb.Helper()
				in := feedback.New(st, feedback.Config{})
				list, err := in.List(tb.Context(), feedback.Filter{States: []feedback.State{}})
				require.NoError(tb, err)
				if assert.Len(tb, list, 1) {
					assert.Equal(tb, feedback.Expired, list[0].State)
				}
				left, err := in.List(tb.Context(), feedback.Filter{})
				require.NoError(tb, err)
				assert.Empty(tb, left)
			},
		}
		assert.Greater(t, crashtest.EveryCut(t, work, second), 10)
	}
}

func TestAListOfANewerLibraryIsRefusedAndKept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ask(t, b.process(), question("a"))
	text, err := b.st.ReadFile(t.Context(), workspace.OpenQuestionsFile)
	require.NoError(t, err)
	body := strings.Replace(strings.SplitN(string(text), `,"crc"`, 2)[0], `"format":1`, `"format":2`, 1)
	newer := fmt.Sprintf("%s,\"crc\":\"%08x\"}\n", body, crc32.Checksum([]byte(body), crc32.MakeTable(crc32.Castagnoli)))
	require.NoError(t, b.st.WriteFile(t.Context(), workspace.OpenQuestionsFile, []byte(newer), workspace.Lazy))
	_, err = b.process().List(t.Context(), feedback.Filter{})
	require.ErrorAs(t, err, new(*feedback.VersionError))
	_, err = b.process().Ask(t.Context(), question("b"))
	require.ErrorAs(t, err, new(*feedback.VersionError))
	after, err := b.st.ReadFile(t.Context(), workspace.OpenQuestionsFile)
	require.NoError(t, err)
	assert.Equal(t, newer, string(after))
}

func TestASecretThatWasTakenElsewhereIsAskedForAgain(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := question("code")
	q.Kind = feedback.KindSecret
	old, now := b.process(), b.process()
	first := ask(t, old, q)
	got := make(chan string, 1)
	go func() {
		value, err := (&feedback.Asker{Inbox: now}).Secret(t.Context(), q)
		assert.NoError(t, err)
		got <- value
	}()
	answer(t, old, first.ID, "to a process that is dead by now")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	until(ctx, t, func() bool {
		_, err := now.Answer(ctx, first.ID+"/again/2", feedback.Answer{Value: "4711"})
		return err == nil
	})
	assert.Equal(t, "4711", <-got)
}

const processEnv = "TREADLE_TEST_INBOX"

// TestProcessOfManyVerbs runs only as a child of the test below.
func TestProcessOfManyVerbs(t *testing.T) {
	t.Parallel()
	folder := os.Getenv(processEnv)
	if folder == "" {
		t.Skip("runs inside TestProcessesThatAskAnswerExpireAndCleanUpAtOnceAgree")
	}
	dir, err := workspace.NewDir(folder)
	require.NoError(t, err)
	defer func() { assert.NoError(t, dir.Close()) }()
	in := feedback.New(dir, feedback.Config{})
	for i := range 15 {
		q := question(fmt.Sprint(i))
		q.Timeout = time.Hour
		if i%3 == 0 {
			q.Timeout = 20 * time.Millisecond
		}
		ask(t, in, q)
		_, err := in.Answer(t.Context(), fmt.Sprintf("run-1/%d", i), feedback.Answer{Value: "good"})
		if err != nil && !errors.As(err, new(*feedback.AnsweredError)) && !errors.As(err, new(*feedback.ExpiredError)) {
			assert.NoError(t, err)
		} else if err == nil {
			fmt.Printf("won %d\n", i)
		}
		_, err = in.Expire(t.Context(), time.Now())
		assert.NoError(t, err)
		_, err = in.Cleanup(t.Context(), time.Hour)
		assert.NoError(t, err)
	}
}

func TestProcessesThatAskAnswerExpireAndCleanUpAtOnceAgree(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	require.NoError(t, err)
	folder := t.TempDir()
	out := make([]string, 3)
	var wg sync.WaitGroup
	for p := range out {
		wg.Go(func() {
			child := exec.CommandContext(t.Context(), binary, "-test.run=^TestProcessOfManyVerbs$", "-test.timeout=60s")
			child.Env = append(os.Environ(), processEnv+"="+folder)
			text, err := child.CombinedOutput()
			assert.NoError(t, err, string(text))
			out[p] = string(text)
		})
	}
	wg.Wait()
	dir, err := workspace.NewDir(folder)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, dir.Close()) })
	in := feedback.New(dir, feedback.Config{})
	for i := range 15 {
		won := strings.Count(strings.Join(out, "\n"), fmt.Sprintf("won %d\n", i))
		if e := get(t, in, fmt.Sprintf("run-1/%d", i)); e.State == feedback.Answered {
			assert.Equal(t, 1, won, e.ID)
		} else {
			assert.Zero(t, won, e.ID)
		}
	}
	assert.Empty(t, open(t, in))
}
