package feedback_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

func TestAQuestionIsReadableByAnotherProcessBeforeAnybodyIsNotified(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := b.process()
	told := 0
	in := b.process(func(c *feedback.Config) {
		c.Notifier = notifyFunc(func(ctx context.Context, n *feedback.Notification) (feedback.Receipt, error) {
			told++
			e, err := other.Get(ctx, n.Question.ID)
			if assert.NoError(t, err) {
				assert.Equal(t, feedback.Open, e.State)
			}
			assert.Equal(t, []string{n.Question.ID}, open(t, other))
			return feedback.Receipt{}, nil
		})
	})
	e := ask(t, in, question("a"))
	assert.Equal(t, 1, told)
	assert.Equal(t, "run-1/a", e.ID)
}

func TestAskingAgainReturnsWhatIsThereWithItsFirstMomentAndDeadline(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := question("a")
	q.Timeout = 5 * time.Minute
	ask(t, b.process(), q)
	b.clock.pass(time.Minute)

	again := *q
	again.Timeout, again.Context, again.Alias = time.Hour, "another context", "another alias"
	e := ask(t, b.process(), &again)
	assert.Equal(t, noon, e.AskedAt)
	assert.Equal(t, noon.Add(5*time.Minute), e.Deadline)

	answer(t, b.process(), e.ID, "good")
	e = ask(t, b.process(), q)
	assert.Equal(t, feedback.Answered, e.State)
	assert.Equal(t, "good", e.Answer.Value)
}

func TestAnotherTextUnderTheSameIDIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t)
	choice := func(key string) *feedback.Question {
		q := question(key)
		q.Kind, q.Options = feedback.KindChoice, []string{"yes", "no"}
		return q
	}
	ask(t, b.process(), choice("a"))
	for field, change := range map[string]func(*feedback.Question){
		"text":    func(q *feedback.Question) { q.Text = "Something else?" },
		"title":   func(q *feedback.Question) { q.Title = "A title" },
		"kind":    func(q *feedback.Question) { q.Kind = feedback.KindYesNo },
		"options": func(q *feedback.Question) { q.Options = []string{"here"} },
	} {
		q := choice("a")
		change(q)
		_, err := b.process().Ask(t.Context(), q)
		var mismatch *feedback.MismatchError
		require.ErrorAs(t, err, &mismatch)
		assert.Equal(t, field, mismatch.Field)
	}
}

func TestWhatCannotBeAskedIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	for why, change := range map[string]func(*feedback.Question){
		"text is empty":                func(q *feedback.Question) { q.Text = "  " },
		"run id is empty":              func(q *feedback.Question) { q.RunID = "" },
		"run is not the folder":        func(q *feedback.Question) { q.Run = "../iteration-1" },
		"key is empty":                 func(q *feedback.Question) { q.Key = "" },
		"kind is \"riddle\"":           func(q *feedback.Question) { q.Kind = "riddle" },
		"options of a choice are":      func(q *feedback.Question) { q.Kind = feedback.KindChoice },
		"options belong to":            func(q *feedback.Question) { q.Options = []string{"a"} },
		"options of a yes/no question": func(q *feedback.Question) { q.Kind, q.Options = feedback.KindYesNo, []string{"a"} },
		"has \"A\" twice":              func(q *feedback.Question) { q.Kind, q.Options = feedback.KindChoice, []string{"a", "A"} },
		"default not an answer":        func(q *feedback.Question) { q.Kind, q.Default = feedback.KindYesNo, "perhaps" },
		"default cannot be of a secret": func(q *feedback.Question) {
			q.Kind, q.Default = feedback.KindSecret, "1234"
		},
		"text or context is longer": func(q *feedback.Question) { q.Text = strings.Repeat("x", feedback.MaxText+1) },
	} {
		b := setup(t)
		q := question("a")
		change(q)
		_, err := b.process().Ask(t.Context(), q)
		var invalid *feedback.InvalidError
		require.ErrorAs(t, err, &invalid, why)
		assert.ErrorContains(t, err, why)
		_, err = b.st.Stat(t.Context(), "runs")
		assert.ErrorIs(t, err, fs.ErrNotExist)
	}
}

func TestTheFirstAnswerWinsAndTheSecondIsToldByWhomAndWhen(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := ask(t, b.process(), question("a"))
	_, err := b.process().Answer(t.Context(), e.ID, feedback.Answer{Value: "first", By: "ann", Source: "slack"})
	require.NoError(t, err)
	b.clock.pass(time.Minute)
	_, err = b.process().Answer(t.Context(), e.ID, feedback.Answer{Value: "second", By: "ben"})
	var answered *feedback.AnsweredError
	require.ErrorAs(t, err, &answered)
	assert.Equal(t, &feedback.AnsweredError{ID: e.ID, By: "ann", At: noon, Source: "slack"}, answered)
	assert.ErrorContains(t, err, "was answered by ann at 2026-03-14T12:00:00Z (slack); the first answer counts")
	assert.Equal(t, "first", get(t, b.process(), e.ID).Answer.Value)
}

func TestOfManyAnswersAtOnceOneWins(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := ask(t, b.process(), question("a"))
	var won, lost atomic.Int32
	var wg sync.WaitGroup
	for i := range 16 {
		in := b.process()
		wg.Go(func() {
			_, err := in.Answer(t.Context(), e.ID, feedback.Answer{Value: fmt.Sprint(i)})
			var answered *feedback.AnsweredError
			switch {
			case err == nil:
				won.Add(1)
			case errors.As(err, &answered):
				lost.Add(1)
			default:
				assert.NoError(t, err)
			}
		})
	}
	wg.Wait()
	assert.EqualValues(t, 1, won.Load())
	assert.EqualValues(t, 15, lost.Load())
}

// Another answer lands between the moment at which the second person's process has looked
// and that at which it writes.
func TestAnAnswerThatLandsInBetweenWins(t *testing.T) {
	t.Parallel()
	between := 0
	for at := 1; at <= 8; at++ {
		b := setup(t)
		e := ask(t, b.process(), question("a"))
		landed := false
		hook := func(op workspacetest.Operation) {
			if op.Kind == workspacetest.AppendAt && strings.Contains(op.Name, "/feedback/questions/") {
				answer(t, b.process(), e.ID, "first")
				landed = true
			}
		}
		late := feedback.New(workspacetest.NewFaulty(b.st, workspacetest.Fault{At: at, When: workspacetest.Before, Hook: hook}).Storage(), feedback.Config{Now: b.clock.now})
		_, err := late.Answer(t.Context(), e.ID, feedback.Answer{Value: "second"})
		if !landed {
			require.NoError(t, err)
			continue
		}
		between++
		require.ErrorAs(t, err, new(*feedback.AnsweredError))
		assert.Equal(t, "first", get(t, b.process(), e.ID).Answer.Value)
		assert.Empty(t, open(t, b.process()))
	}
	assert.Equal(t, 1, between)
}

func TestAnAnswerIsReadByTheKindOfItsQuestion(t *testing.T) {
	t.Parallel()
	choice := func(q *feedback.Question) { q.Kind, q.Options = feedback.KindChoice, []string{"Here", "There", "1"} }
	yesno := func(q *feedback.Question) { q.Kind = feedback.KindYesNo }
	labels := func(q *feedback.Question) { q.Kind, q.Options = feedback.KindYesNo, []string{"Approve", "Reject"} }
	preset := func(q *feedback.Question) { choice(q); q.Default = "There" }
	for _, c := range []struct {
		change func(*feedback.Question)
		given  string
		want   string
		option int
		wrong  string
	}{
		{func(*feedback.Question) {}, " some words \n", "some words", 0, ""},
		{func(*feedback.Question) {}, "  ", "", 0, "it is empty"},
		{func(*feedback.Question) {}, strings.Repeat("x", feedback.MaxAnswer+1), "", 0, "longer than 65536 bytes"},
		{choice, "There", "There", 2, ""},
		{choice, "there", "There", 2, ""},
		{choice, "2", "There", 2, ""},
		{choice, "option2", "There", 2, ""},
		{choice, "Option 2", "There", 2, ""},
		{choice, "1", "1", 3, ""}, // a name before a number
		{choice, "option1", "Here", 1, ""},
		{choice, "0", "", 0, "answer one of: 1: Here, 2: There, 3: 1"},
		{choice, "4", "", 0, "it is none of the options"},
		{choice, "-1", "", 0, "it is none of the options"},
		{choice, "", "", 0, "it is empty; answer one of"},
		{preset, "", "There", 2, ""},
		{yesno, "Y", "yes", 0, ""},
		{yesno, "approve", "yes", 0, ""},
		{yesno, "No", "no", 0, ""},
		{yesno, "perhaps", "", 0, "it is neither yes nor no; answer one of: yes, no"},
		{labels, "reject", "no", 0, ""},
		{labels, "perhaps", "", 0, "yes (Approve), no (Reject)"},
	} {
		b := setup(t)
		q := question("a")
		c.change(q)
		e := ask(t, b.process(), q)
		after, err := b.process().Answer(t.Context(), e.ID, feedback.Answer{Value: c.given})
		if c.wrong != "" {
			var wrong *feedback.AnswerError
			require.ErrorAs(t, err, &wrong, c.given)
			assert.ErrorContains(t, err, c.wrong)
			assert.Equal(t, feedback.Open, get(t, b.process(), e.ID).State, "the question stays open")
			continue
		}
		require.NoError(t, err, c.given)
		assert.Equal(t, c.want, after.Answer.Value, c.given)
		assert.Equal(t, c.option, after.Answer.Option, c.given)
	}
}

func TestADeadlineKeepsRunningWhileNobodyDoes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := question("a")
	q.Timeout = 5 * time.Minute
	e := ask(t, b.process(), q)
	b.clock.pass(5 * time.Minute)

	assert.Empty(t, open(t, b.process()), "it is not offered any more")
	assert.Equal(t, feedback.Expired, get(t, b.process(), e.ID).State)
	_, err := b.process().Answer(t.Context(), e.ID, feedback.Answer{Value: "late"})
	var expired *feedback.ExpiredError
	require.ErrorAs(t, err, &expired)
	assert.Equal(t, noon.Add(5*time.Minute), expired.At)
	_, err = b.process().Wait(t.Context(), e.ID)
	require.ErrorAs(t, err, &expired)
}

func TestEachExpiryIsReportedOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 10 {
		q := question(fmt.Sprint(i))
		q.Timeout = time.Duration(i+1) * time.Minute
		ask(t, b.process(), q)
	}
	b.clock.pass(4 * time.Minute)
	var mu sync.Mutex
	var found []string
	var wg sync.WaitGroup
	for range 4 {
		in := b.process()
		wg.Go(func() {
			expired, err := in.Expire(t.Context(), b.clock.now())
			assert.NoError(t, err)
			mu.Lock()
			defer mu.Unlock()
			found = append(found, ids(expired)...)
		})
	}
	wg.Wait()
	assert.ElementsMatch(t, []string{"run-1/0", "run-1/1", "run-1/2", "run-1/3"}, found)
	assert.Len(t, open(t, b.process()), 6)
}

func TestAWaiterHearsAtOnceOfAnAnswerInItsProcessAndSoonOfAnother(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := workspace.NewMem()
		counting := workspacetest.NewCounting(st)
		here := feedback.New(counting.Storage(), feedback.Config{})
		there := feedback.New(st, feedback.Config{})
		for _, other := range []struct {
			in     *feedback.Inbox
			within time.Duration
		}{{here, 0}, {there, feedback.DefaultPollInterval}} {
			q := question(fmt.Sprint(other.within))
			e := ask(t, here, q)
			var wg sync.WaitGroup
			began := time.Now()
			for range 3 {
				wg.Go(func() {
					after, err := here.Wait(t.Context(), e.ID)
					if assert.NoError(t, err) {
						assert.Equal(t, "good", after.Answer.Value)
					}
					assert.LessOrEqual(t, time.Since(began), time.Hour+other.within)
				})
			}
			time.Sleep(time.Hour)
			answer(t, other.in, e.ID, "good")
			wg.Wait()
		}
		assert.Less(t, counting.Count(workspacetest.ReadFile), 3*2*2*3700, "a look a second, not more")
	})
}

func TestAWaitEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in := feedback.New(workspace.NewMem(), feedback.Config{MaxWait: time.Hour})
		e := ask(t, in, question("a"))
		_, err := in.Wait(t.Context(), e.ID)
		var limit *feedback.WaitError
		require.ErrorAs(t, err, &limit)
		assert.Equal(t, time.Hour, limit.Limit)

		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err = in.Wait(ctx, e.ID)
		require.ErrorIs(t, err, context.DeadlineExceeded)

		q := question("b")
		q.Timeout = 10 * time.Minute
		began := time.Now()
		_, err = in.Wait(t.Context(), ask(t, in, q).ID)
		var expired *feedback.ExpiredError
		require.ErrorAs(t, err, &expired)
		assert.Equal(t, 10*time.Minute, time.Since(began), "not later than the deadline")

		_, err = in.Wait(t.Context(), "run-1/nothing")
		require.ErrorIs(t, err, feedback.ErrNotFound)
	})
}

func TestWithdrawingARunClosesItsQuestions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a, c := ask(t, b.process(), question("a")), ask(t, b.process(), question("c"))
	answer(t, b.process(), c.ID, "good")
	elsewhere := question("b")
	elsewhere.RunID, elsewhere.Run = "run-2", "iteration-2/production"
	other := ask(t, b.process(), elsewhere)

	n, err := b.process().WithdrawRun(t.Context(), "iteration-1", "the run was canceled")
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	assert.Equal(t, []string{other.ID}, open(t, b.process()))
	_, err = b.process().Answer(t.Context(), a.ID, feedback.Answer{Value: "late"})
	var withdrawn *feedback.WithdrawnError
	require.ErrorAs(t, err, &withdrawn)
	assert.Equal(t, "the run was canceled", withdrawn.Reason)
	assert.Equal(t, feedback.Answered, get(t, b.process(), c.ID).State)

	for range 2 {
		again := ask(t, b.process(), question("a"))
		assert.Equal(t, "run-1/a/again/2", again.ID, "a run that is resumed asks again")
		assert.Equal(t, feedback.Open, again.State)
	}
}

func TestAListingIsFilteredAndSortedByAge(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i, run := range []string{"iteration-2/production", "iteration-1", "iteration-2/test"} {
		q := question(fmt.Sprint(i))
		q.Run, q.RunID, q.Step = run, fmt.Sprintf("run-%d", i), fmt.Sprintf("step-%d", i)
		_, q.Group, _ = strings.Cut(run, "/")
		ask(t, b.process(), q)
		b.clock.pass(time.Second)
	}
	answer(t, b.process(), "run-1/1", "good")
	for _, c := range []struct {
		filter feedback.Filter
		want   []string
	}{
		{feedback.Filter{}, []string{"run-0/0", "run-2/2"}},
		{feedback.Filter{Run: "iteration-2/test"}, []string{"run-2/2"}},
		{feedback.Filter{Run: "run-0"}, []string{"run-0/0"}},
		{feedback.Filter{Group: "production"}, []string{"run-0/0"}},
		{feedback.Filter{Step: "step-2"}, []string{"run-2/2"}},
		{feedback.Filter{States: []feedback.State{}}, []string{"run-0/0", "run-1/1", "run-2/2"}},
		{feedback.Filter{States: []feedback.State{feedback.Answered}}, []string{"run-1/1"}},
		{feedback.Filter{States: []feedback.State{feedback.Expired}}, []string{}},
	} {
		list, err := b.process().List(t.Context(), c.filter)
		require.NoError(t, err)
		assert.Equal(t, c.want, ids(list), "%+v", c.filter)
	}
}

func TestAnAliasNamesAQuestionInsideItsRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.process()
	aliased := func(run, key string) *feedback.Entry {
		q := question(key)
		q.Alias, q.RunID, q.Run = "confirm", run, "iteration-"+run[len("run-"):]
		return ask(t, in, q)
	}
	first, other := aliased("run-1", "a"), aliased("run-2", "a")

	_, err := in.Resolve(t.Context(), "", "confirm")
	var ambiguous *feedback.AmbiguousError
	require.ErrorAs(t, err, &ambiguous)
	assert.ElementsMatch(t, []string{first.ID, other.ID}, ambiguous.IDs)
	found := func(run, name string) string {
		e, err := in.Resolve(t.Context(), run, name)
		require.NoError(t, err)
		return e.ID
	}
	assert.Equal(t, first.ID, found("iteration-1", "confirm"))
	assert.Equal(t, other.ID, found("run-2", "confirm"))
	assert.Equal(t, other.ID, found("", other.ID))

	answer(t, in, first.ID, "good")
	assert.Equal(t, first.ID, found("run-1", "confirm"), "a closed one has its name still")
	second := aliased("run-1", "b")
	assert.Equal(t, second.ID, found("run-1", "confirm"), "the open one is meant")
	_, err = in.Resolve(t.Context(), "run-1", "nothing")
	assert.ErrorIs(t, err, feedback.ErrNotFound)
}

func TestASecretIsHandedOnInMemoryOnceAndNowhereElse(t *testing.T) {
	t.Parallel()
	const code = "code-582491"
	b := setup(t)
	var seen []string
	in := b.process(func(c *feedback.Config) {
		c.OnChange = func(e *feedback.Entry) {
			text, _ := json.Marshal(e)
			seen = append(seen, string(text))
		}
	})
	q := question("code")
	q.Kind = feedback.KindSecret
	e := ask(t, in, q)

	_, err := b.process().Answer(t.Context(), e.ID, feedback.Answer{Value: code})
	require.ErrorIs(t, err, feedback.ErrSecretElsewhere)
	assert.NotContains(t, err.Error(), code)
	assert.Equal(t, feedback.Open, get(t, in, e.ID).State, "the question is not used up")

	answer(t, in, e.ID, code)
	after, err := in.Wait(t.Context(), e.ID)
	require.NoError(t, err)
	assert.Empty(t, after.Answer.Value)
	assert.Equal(t, e.ID, ask(t, in, q).ID, "it is held")
	value, err := in.TakeSecret(e.ID)
	require.NoError(t, err)
	assert.Equal(t, code, value)
	_, err = in.TakeSecret(e.ID)
	require.ErrorIs(t, err, feedback.ErrSecretGone)
	assert.NotContains(t, everything(t, b.st), code)
	assert.NotContains(t, strings.Join(seen, "\n"), code)

	again := ask(t, b.process(), q)
	assert.Equal(t, feedback.Open, again.State, "a resume asks again")
	assert.Equal(t, "run-1/code/again/2", again.ID)
	assert.Equal(t, again.ID, ask(t, b.process(), q).ID, "and finds what it has asked again")
}

func TestWhatIsWrittenIsRedacted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	notifier := &recorder{}
	in := b.process(func(c *feedback.Config) {
		c.Redact = strings.NewReplacer("hunter2", "[secret:PASSWORD]").Replace
		c.Notifier = notifier
	})
	q := question("a")
	q.Title, q.Text, q.Context, q.Alias = "hunter2", "Is hunter2 right?", "It was hunter2.", "hunter2"
	e := ask(t, in, q)
	ask(t, in, q)
	answer(t, in, e.ID, "Try hunter2 again")
	_, err := in.Notify(t.Context(), &feedback.Notification{Key: "run-1/n", Run: "iteration-1", Kind: feedback.NoticeGeneral, Text: "hunter2", Fields: []feedback.Field{{Value: "hunter2"}}})
	require.NoError(t, err)
	assert.NotContains(t, everything(t, b.st), "hunter2")
	told, err := json.Marshal(notifier.sent)
	require.NoError(t, err)
	assert.NotContains(t, string(told), "hunter2")
	assert.Equal(t, "Try [secret:PASSWORD] again", get(t, in, e.ID).Answer.Value)
}

func TestCleanupEndsWhatIsOld(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stale, done := ask(t, b.process(), question("stale")), ask(t, b.process(), question("done"))
	answer(t, b.process(), done.ID, "good")
	b.clock.pass(48 * time.Hour)
	fresh, recent := ask(t, b.process(), question("fresh")), ask(t, b.process(), question("recent"))
	answer(t, b.process(), recent.ID, "good")

	cleaned, err := b.process().Cleanup(t.Context(), 24*time.Hour)
	require.NoError(t, err)
	assert.Equal(t, []string{stale.ID}, ids(cleaned.Expired))
	assert.Equal(t, 1, cleaned.Removed)
	assert.Equal(t, []string{fresh.ID}, open(t, b.process()))
	_, err = b.process().Get(t.Context(), done.ID)
	require.ErrorIs(t, err, feedback.ErrNotFound)
	assert.Equal(t, feedback.Answered, get(t, b.process(), recent.ID).State)
	_, err = b.process().Wait(t.Context(), stale.ID)
	assert.ErrorContains(t, err, "nobody answered since 2026-03-14T12:00:00Z")

	again := ask(t, b.process(), question("done"))
	assert.Equal(t, feedback.Open, again.State, "what was removed may be asked again")
	assert.Contains(t, open(t, b.process()), again.ID)
}

func TestTheListOfOpenQuestionsIsMadeAnewWhenItIsLostOrDamaged(t *testing.T) {
	t.Parallel()
	for name, harm := range map[string]func(st workspace.Storage) error{
		"removed": func(st workspace.Storage) error { return st.Remove(t.Context(), workspace.OpenQuestionsFile) },
		"damaged": func(st workspace.Storage) error {
			data, err := st.ReadFile(t.Context(), workspace.OpenQuestionsFile)
			data[len(data)/2] ^= 1
			return errors.Join(err, st.WriteFile(t.Context(), workspace.OpenQuestionsFile, data, workspace.Lazy))
		},
		"torn": func(st workspace.Storage) error {
			stat, err := st.Stat(t.Context(), workspace.OpenQuestionsFile)
			return errors.Join(err, st.Truncate(t.Context(), workspace.OpenQuestionsFile, stat.Size()-3))
		},
	} {
		b := setup(t)
		in := b.process()
		a, closed := ask(t, in, question("a")), ask(t, in, question("closed"))
		answer(t, in, closed.ID, "good")
		grouped := question("grouped")
		grouped.Run = "iteration-2/production"
		g := ask(t, in, grouped)
		require.NoError(t, harm(b.st))
		assert.ElementsMatch(t, []string{a.ID, g.ID}, open(t, b.process()), name)
		require.NoError(t, harm(b.st))
		c := ask(t, in, question("c"))
		assert.ElementsMatch(t, []string{a.ID, g.ID, c.ID}, open(t, b.process()), name)
	}
}

func TestTheListOfOpenQuestionsDoesNotGrowWithWhatIsClosed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.process()
	keep := ask(t, in, question("keep"))
	for i := range 200 {
		e := ask(t, in, question(fmt.Sprint(i)))
		answer(t, in, e.ID, "good")
	}
	stat, err := b.st.Stat(t.Context(), workspace.OpenQuestionsFile)
	require.NoError(t, err)
	assert.Less(t, stat.Size(), int64(80<<10))
	assert.Equal(t, []string{keep.ID}, open(t, b.process()))
}

func TestQuestionsGoWithTheFolderOfTheirRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	e := ask(t, b.process(), question("a"))
	require.NoError(t, b.st.Remove(t.Context(), workspace.RunLayout("iteration-1").Dir()))
	_, err := b.process().Answer(t.Context(), e.ID, feedback.Answer{Value: "good"})
	require.ErrorIs(t, err, feedback.ErrNotFound)
	_, err = b.process().Cleanup(t.Context(), time.Hour)
	require.NoError(t, err)
	assert.Empty(t, open(t, b.process()))
}

func TestADamagedQuestionIsNamedAndTheOthersAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.process()
	ask(t, in, question("a"))
	files, err := b.st.ReadDir(t.Context(), workspace.RunLayout("iteration-1").Questions())
	require.NoError(t, err)
	name := workspace.RunLayout("iteration-1").Questions() + "/" + files[0].Name()
	data, err := b.st.ReadFile(t.Context(), name)
	require.NoError(t, err)
	data[20] ^= 1
	require.NoError(t, b.st.WriteFile(t.Context(), name, data, workspace.Lazy))
	other := ask(t, in, question("b"))

	list, err := in.List(t.Context(), feedback.Filter{States: []feedback.State{}})
	assert.Equal(t, []string{other.ID}, ids(list))
	var damage *feedback.DamageError
	require.ErrorAs(t, err, &damage)
	assert.Equal(t, name, damage.File)
	assert.Equal(t, 1, damage.Line)
	_, err = in.Answer(t.Context(), "run-1/a", feedback.Answer{Value: "good"})
	assert.ErrorIs(t, err, feedback.ErrDamaged)
}

func TestFollowYieldsEachOpenQuestionOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := workspace.NewMem()
		in, other := feedback.New(st, feedback.Config{}), feedback.New(st, feedback.Config{})
		ask(t, other, question("0"))
		var wg sync.WaitGroup
		wg.Go(func() {
			for i := 1; i < 5; i++ {
				time.Sleep(10 * time.Second)
				_, err := other.Ask(t.Context(), question(fmt.Sprint(i)))
				assert.NoError(t, err)
			}
		})
		ctx, cancel := context.WithCancel(t.Context())
		var seen []string
		for e, err := range in.Follow(ctx, feedback.Filter{}) {
			if !assert.NoError(t, err) {
				break
			}
			if seen = append(seen, e.Key); len(seen) == 5 {
				cancel()
			}
		}
		cancel()
		wg.Wait()
		assert.Equal(t, []string{"0", "1", "2", "3", "4"}, seen)
	})
}

// everything is all that the storage holds.
func everything(t *testing.T, st workspace.Storage) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, fs.WalkDir(workspace.FS(t.Context(), st), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := st.ReadFile(t.Context(), name)
		b.WriteString(name + "\n" + string(data) + "\n")
		return err
	}))
	return b.String()
}

// recorder is a notifier that remembers. It is used by one goroutine at a time.
type recorder struct{ sent []*feedback.Notification }

func (r *recorder) Notify(_ context.Context, n *feedback.Notification) (feedback.Receipt, error) {
	r.sent = append(r.sent, n)
	return feedback.Receipt{Status: feedback.Delivered, Reference: fmt.Sprint(len(r.sent))}, nil
}

type notifyFunc func(ctx context.Context, n *feedback.Notification) (feedback.Receipt, error)

func (f notifyFunc) Notify(ctx context.Context, n *feedback.Notification) (feedback.Receipt, error) {
	return f(ctx, n)
}
