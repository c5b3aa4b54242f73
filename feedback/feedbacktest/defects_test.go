package feedbacktest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/feedback/feedbacktest"
)

// defectiveNotifier is a notifier with one thing wrong.
type defectiveNotifier struct {
	feedbacktest.Notifier
	defect string
	mu     sync.Mutex
	busy   bool
}

func (d *defectiveNotifier) Notify(ctx context.Context, n *feedback.Notification) (feedback.Receipt, error) {
	switch d.defect {
	case "ignores the caller":
		ctx = context.WithoutCancel(ctx)
	case "refuses secrets":
		if n.Question != nil && n.Question.Kind == feedback.KindSecret {
			return feedback.Receipt{}, errors.New("not for me")
		}
	case "says that it failed":
		_, err := d.Notifier.Notify(ctx, n)
		return feedback.Receipt{Status: feedback.Failed}, err
	case "sends nothing":
		return feedback.Receipt{}, ctx.Err()
	case "never returns":
		<-make(chan struct{})
	case "changes the notification":
		n.Fields = append(n.Fields, feedback.Field{Title: "mine"})
	case "sends one at a time":
		if !d.enter() {
			return feedback.Receipt{}, errors.New("busy")
		}
		defer d.leave()
		time.Sleep(20 * time.Millisecond) // long enough for the others to come
	case "loses what comes at once":
		if !d.enter() {
			return feedback.Receipt{}, nil
		}
		defer d.leave()
		time.Sleep(20 * time.Millisecond)
	}
	return d.Notifier.Notify(ctx, n)
}

func (d *defectiveNotifier) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	free := !d.busy
	d.busy = true
	return free
}

func (d *defectiveNotifier) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.busy = false
}

// defectiveSource is a source with one thing wrong, before a person who is well.
type defectiveSource struct {
	person *feedbacktest.Person
	defect string
}

func (d *defectiveSource) Run(ctx context.Context, in *feedback.Inbox) error {
	switch d.defect {
	case "never ends":
		err := d.answer(ctx, in)
		<-make(chan struct{})
		return err
	case "leaves a goroutine behind":
		go func() { <-make(chan struct{}) }()
	case "calls its end an error":
		_ = d.answer(ctx, in)
		return errors.New("the end")
	case "looks once":
		list, err := in.List(ctx, feedback.Filter{})
		for _, e := range list {
			err = errors.Join(err, d.reply(ctx, in, e, e.Text))
		}
		<-ctx.Done()
		return err
	}
	return d.answer(ctx, in)
}

func (d *defectiveSource) answer(ctx context.Context, in *feedback.Inbox) error {
	var last string
	for e, err := range in.Follow(ctx, feedback.Filter{}) {
		if err != nil {
			return err
		}
		if d.defect == "knows no choices" && e.Kind == feedback.KindChoice {
			continue
		}
		shown := e.Text
		if d.defect == "answers the question before" && last != "" {
			shown = last
		}
		last = e.Text
		if err := d.reply(ctx, in, e, shown); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func (d *defectiveSource) reply(ctx context.Context, in *feedback.Inbox, e *feedback.Entry, shown string) error {
	said, ok := d.person.Reply(shown)
	if d.defect == "waits for each answer" && !ok {
		<-ctx.Done()
		return ctx.Err()
	}
	var wrong *feedback.AnswerError
	for ok {
		_, err := in.Answer(ctx, e.ID, feedback.Answer{Value: said})
		if !errors.As(err, &wrong) || d.defect == "asks once" {
			return nil
		}
		said, ok = d.person.Reply(shown)
	}
	return nil
}

// What finds each defect.
var (
	notifierDefects = map[string]string{
		"refuses secrets":          "every_kind_of_notification_is_delivered",
		"says that it failed":      "every_kind_of_notification_is_delivered",
		"sends nothing":            "every_kind_of_notification_is_delivered",
		"never returns":            "every_kind_of_notification_is_delivered",
		"changes the notification": "the_notification_stays_as_it_was",
		"sends one at a time":      "many_may_notify_at_once",
		"loses what comes at once": "many_may_notify_at_once",
		"ignores the caller":       "a_context_that_has_ended_is_honoured",
	}
	sourceDefects = map[string]string{
		"knows no choices":            "questions_of_every_kind_are_answered",
		"looks once":                  "a_question_that_comes_later_is_answered",
		"answers the question before": "answers_do_not_cross_over",
		"asks once":                   "what_is_no_answer_is_asked_again",
		"waits for each answer":       "an_answer_that_was_given_elsewhere_stands",
		"never ends":                  "questions_of_every_kind_are_answered",
		"leaves a goroutine behind":   "questions_of_every_kind_are_answered",
		"calls its end an error":      "questions_of_every_kind_are_answered",
	}
)

const defectEnv = "TREADLE_TEST_DEFECT"

// TestDefectiveNotifier runs only as a child of the test below.
func TestDefectiveNotifier(t *testing.T) {
	defect := os.Getenv(defectEnv)
	if defect == "" {
		t.Skip("runs inside TestEveryDefectOfANotifierIsFoundOut")
	}
	feedbacktest.TestNotifier(t, feedbacktest.NotifierTest{
		New: func(*testing.T) feedback.Notifier { return &defectiveNotifier{defect: defect} },
		Arrived: func(_ *testing.T, n feedback.Notifier) []string {
			fake, _ := n.(*defectiveNotifier)
			var texts []string
			for _, sent := range fake.Sent() {
				texts = append(texts, sent.Text)
			}
			return slices.Clip(texts)
		},
		Timeout: 500 * time.Millisecond,
	})
}

// TestDefectiveSource runs only as a child of the test below.
func TestDefectiveSource(t *testing.T) {
	defect := os.Getenv(defectEnv)
	if defect == "" {
		t.Skip("runs inside TestEveryDefectOfASourceIsFoundOut")
	}
	feedbacktest.TestSource(t, feedbacktest.SourceTest{
		New: func(_ *testing.T, person *feedbacktest.Person) feedback.Source {
			return &defectiveSource{person: person, defect: defect}
		},
		Timeout: 500 * time.Millisecond,
	})
}

func TestEveryDefectOfANotifierIsFoundOut(t *testing.T) {
	t.Parallel()
	findAll(t, "TestDefectiveNotifier", notifierDefects)
}

func TestEveryDefectOfASourceIsFoundOut(t *testing.T) {
	t.Parallel()
	findAll(t, "TestDefectiveSource", sourceDefects)
}

func findAll(t *testing.T, test string, defects map[string]string) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	for defect, finder := range defects {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), binary, "-test.run=^"+test+"$", "-test.v", "-test.timeout=30s")
			child.Env = append(os.Environ(), defectEnv+"="+defect)
			out, err := child.CombinedOutput()
			require.Error(t, err, "the suite did not see it")
			assert.Contains(t, string(out), "--- FAIL: "+test+"/"+finder)
		})
	}
}
