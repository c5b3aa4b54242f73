package feedbacktest_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/feedback/feedbacktest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestAPersonWhoAnswersTwiceIsNoSourceThatAsksAgain(t *testing.T) {
	person := &feedbacktest.Person{Rules: []feedbacktest.Rule{{About: "a", Say: "1", Times: 1}, {Say: "2"}}}
	for i, want := range []string{"1", "2", "2"} {
		if said, ok := person.Reply("a"); !ok || said != want {
			t.Errorf("reply %d is %q", i, said)
		}
	}
	if heard := person.Heard(); len(heard) != 3 {
		t.Errorf("heard %q", heard)
	}
}

func TestTheFakeNotifierKeepsThePromisesOfANotifier(t *testing.T) {
	t.Parallel()
	feedbacktest.TestNotifier(t, feedbacktest.NotifierTest{
		New: func(*testing.T) feedback.Notifier { return &feedbacktest.Notifier{} },
		Arrived: func(_ *testing.T, n feedback.Notifier) []string {
			fake, _ := n.(*feedbacktest.Notifier)
			var texts []string
			for _, sent := range fake.Sent() {
				texts = append(texts, sent.Text)
			}
			return texts
		},
	})
}
