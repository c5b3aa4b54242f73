package feedbacktest

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/workspace"
)

// SourceTest is a source to check.
type SourceTest struct {
	// New makes a source behind which the person sits: whatever text the source shows is
	// given to the person's Reply, and what that returns comes back as the answer. It
	// cleans up with t.Cleanup.
	New func(t *testing.T, person *Person) feedback.Source
	// Timeout bounds each check; 0 is 10 seconds.
	Timeout time.Duration
}

// TestSource checks a [feedback.Source] against what the port promises. The checks run
// one after the other, since they look for goroutines that are left behind.
func TestSource(t *testing.T, test SourceTest) {
	if test.Timeout == 0 {
		test.Timeout = 10 * time.Second
	}
	for _, check := range []struct {
		name string
		run  func(ctx context.Context, t *testing.T, s *sourceUnderTest)
	}{
		{"questions of every kind are answered", testEveryQuestion},
		{"a question that comes later is answered", testLaterQuestion},
		{"answers do not cross over", testNoCrossing},
		{"what is no answer is asked again", testAskedAgain},
		{"an answer that was given elsewhere stands", testAnsweredElsewhere},
	} {
		t.Run(check.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			ctx, cancel := context.WithTimeout(t.Context(), test.Timeout)
			defer cancel()
			s := &sourceUnderTest{test: &test, in: feedback.New(workspace.NewMem(), feedback.Config{PollInterval: 10 * time.Millisecond})}
			check.run(ctx, t, s)
			s.stop(t)
			goleak.VerifyNone(t, before)
		})
	}
}

type sourceUnderTest struct {
	test  *SourceTest
	in    *feedback.Inbox
	end   context.CancelFunc
	ended chan error
}

func (s *sourceUnderTest) start(ctx context.Context, t *testing.T, person *Person) {
	t.Helper()
	source := s.test.New(t, person)
	running, end := context.WithCancel(ctx)
	s.end, s.ended = end, make(chan error, 1)
	go func() { s.ended <- source.Run(running, s.in) }()
}

// stop ends the source, which says so in time.
func (s *sourceUnderTest) stop(t *testing.T) {
	t.Helper()
	s.end()
	select {
	case err := <-s.ended:
		if err != nil {
			assert.ErrorIs(t, err, context.Canceled, "what Run returns when the context ends")
		}
	case <-time.After(s.test.Timeout):
		require.FailNow(t, "Run does not end with its context")
	}
}

func (s *sourceUnderTest) ask(ctx context.Context, t *testing.T, kind feedback.Kind, text string, options ...string) *feedback.Entry {
	t.Helper()
	e, err := s.in.Ask(ctx, &feedback.Question{
		RunID: "run-1", Run: "iteration-1", Step: "ship", Key: "ask/" + text, Kind: kind, Text: text, Options: options,
	})
	require.NoError(t, err)
	return e
}

func (s *sourceUnderTest) answerTo(ctx context.Context, t *testing.T, e *feedback.Entry) *feedback.Answer {
	t.Helper()
	after, err := s.in.Wait(ctx, e.ID)
	require.NoError(t, err, e.Text)
	return after.Answer
}

func testEveryQuestion(ctx context.Context, t *testing.T, s *sourceUnderTest) {
	text := s.ask(ctx, t, feedback.KindText, "What should it be called?")
	yes := s.ask(ctx, t, feedback.KindYesNo, "Ship it now?")
	choice := s.ask(ctx, t, feedback.KindChoice, "Where to?", "here", "there")
	s.start(ctx, t, &Person{Rules: []Rule{{About: "called", Say: "Treadle"}, {About: "Ship", Say: "yes"}, {About: "Where", Say: "2"}}})
	assert.Equal(t, "Treadle", s.answerTo(ctx, t, text).Value)
	assert.Equal(t, "yes", s.answerTo(ctx, t, yes).Value)
	assert.Equal(t, "there", s.answerTo(ctx, t, choice).Value)
}

func testLaterQuestion(ctx context.Context, t *testing.T, s *sourceUnderTest) {
	s.start(ctx, t, &Person{Rules: []Rule{{Say: "fine"}}})
	for _, text := range []string{"How is it going?", "And now?"} {
		assert.Equal(t, "fine", s.answerTo(ctx, t, s.ask(ctx, t, feedback.KindText, text)).Value)
	}
}

func testNoCrossing(ctx context.Context, t *testing.T, s *sourceUnderTest) {
	person := &Person{}
	var asked []*feedback.Entry
	for _, name := range []string{"amber", "birch", "cedar", "dune", "elm"} {
		asked = append(asked, s.ask(ctx, t, feedback.KindText, "What of "+name+"?"))
		person.Rules = append(person.Rules, Rule{About: name, Say: "it is " + name})
	}
	s.start(ctx, t, person)
	for i, e := range asked {
		assert.Equal(t, person.Rules[i].Say, s.answerTo(ctx, t, e).Value)
	}
}

func testAskedAgain(ctx context.Context, t *testing.T, s *sourceUnderTest) {
	e := s.ask(ctx, t, feedback.KindChoice, "Where to?", "here", "there")
	s.start(ctx, t, &Person{Rules: []Rule{{Say: "nowhere", Times: 1}, {Say: "there"}}})
	assert.Equal(t, "there", s.answerTo(ctx, t, e).Value)
}

func testAnsweredElsewhere(ctx context.Context, t *testing.T, s *sourceUnderTest) {
	silent := s.ask(ctx, t, feedback.KindText, "Anybody there?")
	person := &Person{Rules: []Rule{{About: "Next", Say: "I am"}}}
	s.start(ctx, t, person)
	require.Eventually(t, func() bool { return len(person.Heard()) > 0 }, s.test.Timeout, 5*time.Millisecond, "it is not shown")
	_, err := s.in.Answer(ctx, silent.ID, feedback.Answer{Value: "somebody else"})
	require.NoError(t, err)
	assert.Equal(t, "I am", s.answerTo(ctx, t, s.ask(ctx, t, feedback.KindText, "Next: who?")).Value)
	assert.Equal(t, "somebody else", s.answerTo(ctx, t, silent).Value)
}
