package feedback_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/feedback/feedbacktest"
	"github.com/treadle-dev/treadle/workspace"
)

func failing(context.Context, *feedback.Notification) (feedback.Receipt, error) {
	return feedback.Receipt{}, errors.New("the line is dead")
}

func notice(key string) *feedback.Notification {
	return &feedback.Notification{Key: "run-1/" + key, RunID: "run-1", Run: "iteration-1", Kind: feedback.NoticeGeneral, Text: "It is done."}
}

func through(notifier feedback.Notifier) func(*feedback.Config) {
	return func(c *feedback.Config) { c.Notifier = notifier }
}

func TestANotifierThatFailsLosesNoQuestion(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(context.Context, *feedback.Notification) (feedback.Receipt, error){
		"fails":  failing,
		"panics": func(context.Context, *feedback.Notification) (feedback.Receipt, error) { panic("a bug") },
	} {
		b := setup(t)
		e := ask(t, b.process(through(&feedbacktest.Notifier{Do: do})), question("a"))
		assert.Equal(t, feedback.Open, e.State, name)
		require.Len(t, e.Receipts, 1)
		assert.Equal(t, feedback.Failed, e.Receipts[0].Status)
		answer(t, b.process(), e.ID, "good")
	}
}

func TestANotifierThatHangsIsLeftAfterItsTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		hangs := &feedbacktest.Notifier{Do: func(ctx context.Context, _ *feedback.Notification) (feedback.Receipt, error) {
			<-ctx.Done()
			return feedback.Receipt{}, ctx.Err()
		}}
		in := feedback.New(workspace.NewMem(), feedback.Config{Notifier: hangs})
		began := time.Now()
		e := ask(t, in, question("a"))
		assert.Equal(t, feedback.DefaultNotifyTimeout, time.Since(began))
		assert.Equal(t, feedback.Failed, e.Receipts[0].Status)
	})
}

func TestWhoHasAReceiptIsNotNotifiedAgainAndWhoFailedIs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slack, mail := &feedbacktest.Notifier{}, &feedbacktest.Notifier{Do: failing}
	channels := feedback.Channels{{Name: "slack", Notifier: slack}, {Name: "mail", Notifier: mail}}
	ask(t, b.process(through(channels)), question("a"))
	assert.Len(t, slack.Sent(), 1)
	assert.Empty(t, mail.Sent())

	mail.Do = nil
	for range 3 {
		ask(t, b.process(through(channels)), question("a"))
	}
	assert.Len(t, slack.Sent(), 1)
	assert.Len(t, mail.Sent(), 1)

	answer(t, b.process(), "run-1/a", "good")
	late := &feedbacktest.Notifier{}
	ask(t, b.process(through(feedback.Channels{{Name: "late", Notifier: late}})), question("a"))
	assert.Empty(t, late.Sent(), "nobody is told of what is answered")
}

func TestAChannelThatAlwaysFailsIsGivenUp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	calls := 0
	broken := notifyFunc(func(context.Context, *feedback.Notification) (feedback.Receipt, error) {
		calls++
		return feedback.Receipt{}, errors.New("no")
	})
	for range 20 {
		ask(t, b.process(through(broken)), question("a"))
	}
	assert.Equal(t, 5, calls)
}

func TestAReceiptSaysWhatBecameOfTheChannels(t *testing.T) {
	t.Parallel()
	good, bad := &feedbacktest.Notifier{}, &feedbacktest.Notifier{Do: failing}
	nobody := &feedbacktest.Notifier{Do: func(context.Context, *feedback.Notification) (feedback.Receipt, error) {
		return feedback.Receipt{Status: feedback.NoRecipient}, nil
	}}
	all := func(names ...string) feedback.Channels {
		var list feedback.Channels
		for _, name := range names {
			list = append(list, feedback.Channel{Name: name, Notifier: map[string]feedback.Notifier{"good": good, "bad": bad, "nobody": nobody}[name]})
		}
		return list
	}
	for _, c := range []struct {
		channels feedback.Channels
		exclude  []string
		want     feedback.Status
		used     []string
	}{
		{nil, nil, feedback.NoChannels, nil},
		{all("good"), nil, feedback.Delivered, []string{"good"}},
		{all("good", "nobody"), nil, feedback.Delivered, []string{"good", "nobody"}},
		{all("good", "bad"), nil, feedback.Partial, []string{"bad", "good"}},
		{all("bad"), nil, feedback.Failed, []string{"bad"}},
		{all("bad", "nobody"), nil, feedback.Failed, []string{"bad", "nobody"}},
		{all("nobody"), nil, feedback.NoRecipient, []string{"nobody"}},
		{all("good", "bad"), []string{"bad"}, feedback.Delivered, []string{"good"}},
		{all("good"), []string{"good"}, feedback.NoRecipient, nil},
	} {
		n := notice("a")
		n.ExcludeChannels = c.exclude
		direct, err := c.channels.Notify(t.Context(), n)
		require.NoError(t, err)
		recorded, err := setup(t).process(through(c.channels)).Notify(t.Context(), n)
		require.NoError(t, err)
		for _, receipt := range []feedback.Receipt{direct, recorded} {
			assert.Equal(t, c.want, receipt.Status)
			var used []string
			for _, r := range receipt.Channels {
				used = append(used, r.Channel)
			}
			assert.Equal(t, c.used, used)
		}
	}
}

func TestANotificationIsSentOnceWhateverHappens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := &feedbacktest.Notifier{}
	// The process dies while mail is being sent.
	dying, die := context.WithCancel(t.Context())
	mail := &feedbacktest.Notifier{Do: func(ctx context.Context, _ *feedback.Notification) (feedback.Receipt, error) {
		die()
		<-ctx.Done()
		return feedback.Receipt{}, ctx.Err()
	}}
	channels := feedback.Channels{{Name: "mail", Notifier: mail}, {Name: "slack", Notifier: good}}
	_, _ = b.process(through(channels)).Notify(dying, notice("a"))

	mail.Do = nil
	receipt, err := b.process(through(channels)).Notify(t.Context(), notice("a"))
	require.NoError(t, err)
	require.Len(t, receipt.Channels, 2)
	assert.Equal(t, feedback.InDoubt, receipt.Channels[0].Status)
	assert.Empty(t, mail.Sent(), "it may have arrived")
	assert.LessOrEqual(t, len(good.Sent()), 1)

	again, err := b.process(through(feedback.Channels{channels[1]})).Notify(t.Context(), notice("b"))
	require.NoError(t, err)
	assert.Equal(t, feedback.Delivered, again.Status)
	once := len(good.Sent())
	_, err = b.process(through(feedback.Channels{channels[1]})).Notify(t.Context(), notice("b"))
	require.NoError(t, err)
	assert.Len(t, good.Sent(), once)
}

func TestWhatCannotBeToldIsRefused(t *testing.T) {
	t.Parallel()
	for why, change := range map[string]func(*feedback.Notification){
		"text is empty":          func(n *feedback.Notification) { n.Text = "" },
		"key is empty":           func(n *feedback.Notification) { n.Key = "" },
		"fields are 11":          func(n *feedback.Notification) { n.Fields = make([]feedback.Field, 11) },
		"sections are 13":        func(n *feedback.Notification) { n.Sections = make([]feedback.Section, 13) },
		"kind is \"rumour\"":     func(n *feedback.Notification) { n.Kind = "rumour" },
		"color is \"pink\"":      func(n *feedback.Notification) { n.Color = "pink" },
		"run is not the folder ": func(n *feedback.Notification) { n.Run = "/etc" },
	} {
		b := setup(t)
		n := notice("a")
		change(n)
		_, err := b.process(through(&feedbacktest.Notifier{})).Notify(t.Context(), n)
		require.ErrorAs(t, err, new(*feedback.InvalidError), why)
		assert.ErrorContains(t, err, why)
	}
}

func TestCleanupRemovesOldReceipts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.process(through(&feedbacktest.Notifier{}))
	_, err := in.Notify(t.Context(), notice("a"))
	require.NoError(t, err)
	b.clock.pass(48 * time.Hour)
	cleaned, err := in.Cleanup(t.Context(), time.Hour)
	require.NoError(t, err)
	assert.Equal(t, 1, cleaned.Removed)
}

func TestChannelsKeepThePromisesOfANotifier(t *testing.T) {
	t.Parallel()
	feedbacktest.TestNotifier(t, feedbacktest.NotifierTest{
		New: func(*testing.T) feedback.Notifier {
			return feedback.Channels{{Name: "only", Notifier: &feedbacktest.Notifier{}}}
		},
		Arrived: func(_ *testing.T, n feedback.Notifier) []string {
			channels, _ := n.(feedback.Channels)
			fake, _ := channels[0].Notifier.(*feedbacktest.Notifier)
			var texts []string
			for _, sent := range fake.Sent() {
				texts = append(texts, sent.Text)
			}
			return slices.Clip(texts)
		},
	})
}
