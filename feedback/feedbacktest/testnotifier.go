package feedbacktest

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/feedback"
)

// NotifierTest is a notifier to check.
type NotifierTest struct {
	// New makes the notifier, connected to something that takes its messages, and cleans
	// up with t.Cleanup.
	New func(t *testing.T) feedback.Notifier
	// Arrived returns the texts of all messages that have arrived at what the notifier of
	// this test is connected to. Nil leaves out the checks that need it.
	Arrived func(t *testing.T, n feedback.Notifier) []string
	// Timeout bounds what should be quick; 0 is 5 seconds.
	Timeout time.Duration
}

// TestNotifier checks a [feedback.Notifier] against what the port promises.
func TestNotifier(t *testing.T, test NotifierTest) {
	if test.Timeout == 0 {
		test.Timeout = 5 * time.Second
	}
	for _, check := range []struct {
		name string
		run  func(t *testing.T, test *NotifierTest)
	}{
		{"every kind of notification is delivered", testEveryKind},
		{"the notification stays as it was", testUnchanged},
		{"many may notify at once", testConcurrentNotify},
		{"a context that has ended is honoured", testEndedContext},
	} {
		t.Run(check.name, func(t *testing.T) {
			t.Parallel()
			check.run(t, &test)
		})
	}
}

// Notifications are one of each kind, with all that they may carry.
func Notifications() []*feedback.Notification {
	asked := time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	question := func(kind feedback.Kind, text string, options ...string) *feedback.Notification {
		q := &feedback.Question{
			ID: "run-1/" + text, RunID: "run-1", Run: "iteration-1/production", Group: "production", Step: "ship", Key: text,
			Kind: kind, Title: "A question", Text: text, Context: "What helps to decide.", Options: options,
			AskedAt: asked, Deadline: asked.Add(time.Hour),
		}
		return &feedback.Notification{
			Key: q.ID, Kind: feedback.NoticeQuestion, Question: q, RunID: q.RunID, Run: q.Run, Group: q.Group, Step: q.Step,
			Title: q.Title, Text: q.Text,
		}
	}
	full := func(kind feedback.NoticeKind, text string) *feedback.Notification {
		n := &feedback.Notification{
			Key: "run-1/" + text, Kind: kind, RunID: "run-1", Run: "iteration-1", Step: "ship", Title: "News", Text: text,
			Color: feedback.Success, Footer: "The footer.",
			Email: &feedback.Email{Subject: "News", Body: text, HTML: "<p>" + text + "</p>"},
		}
		for range feedback.MaxFields {
			n.Fields = append(n.Fields, feedback.Field{Title: "Files", Value: "12"})
		}
		for range feedback.MaxSections {
			n.Sections = append(n.Sections, feedback.Section{Title: "Part", Text: "A passage."})
		}
		return n
	}
	return []*feedback.Notification{
		question(feedback.KindText, "What should it be called?"),
		question(feedback.KindYesNo, "Ship it now?"),
		question(feedback.KindChoice, "Where to?", "here", "there"),
		question(feedback.KindSecret, "Which code did you get?"),
		{Key: "run-1/plain", Kind: feedback.NoticeGeneral, Text: "Only a text <&> \"quoted\"."},
		full(feedback.NoticeRun, "The run is done."),
		full(feedback.NoticePulse, "The pulse is steady."),
	}
}

// errStuck is what a check sees of a notifier that does not return.
var errStuck = errors.New("Notify does not return")

func (n *NotifierTest) notify(ctx context.Context, notifier feedback.Notifier, what *feedback.Notification) (feedback.Receipt, error) {
	type result struct {
		receipt feedback.Receipt
		err     error
	}
	done := make(chan result, 1)
	go func() {
		receipt, err := notifier.Notify(ctx, what)
		done <- result{receipt, err}
	}()
	select {
	case r := <-done:
		return r.receipt, r.err
	case <-time.After(n.Timeout):
		return feedback.Receipt{}, errStuck
	}
}

func testEveryKind(t *testing.T, test *NotifierTest) {
	notifier := test.New(t)
	for _, n := range Notifications() {
		receipt, err := test.notify(t.Context(), notifier, n)
		require.NoError(t, err, n.Text)
		assert.Contains(t, []feedback.Status{"", feedback.Delivered}, receipt.Status, n.Text)
		if test.Arrived != nil {
			assert.Contains(t, test.Arrived(t, notifier), n.Text)
		}
	}
}

func testUnchanged(t *testing.T, test *NotifierTest) {
	notifier := test.New(t)
	for _, n := range Notifications() {
		before, err := json.Marshal(n)
		require.NoError(t, err)
		_, err = test.notify(t.Context(), notifier, n)
		require.NoError(t, err)
		after, err := json.Marshal(n)
		require.NoError(t, err)
		assert.JSONEq(t, string(before), string(after))
	}
}

func testConcurrentNotify(t *testing.T, test *NotifierTest) {
	notifier := test.New(t)
	var wg sync.WaitGroup
	all := Notifications()
	for _, n := range all {
		wg.Go(func() {
			_, err := test.notify(t.Context(), notifier, n)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	if test.Arrived != nil {
		assert.Len(t, test.Arrived(t, notifier), len(all))
	}
}

func testEndedContext(t *testing.T, test *NotifierTest) {
	notifier := test.New(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	receipt, err := test.notify(ctx, notifier, Notifications()[0])
	require.NotErrorIs(t, err, errStuck)
	if err == nil {
		assert.Contains(t, []feedback.Status{feedback.Failed, feedback.NoRecipient}, receipt.Status, "it claims to have delivered")
	}
}
