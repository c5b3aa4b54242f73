package feedback_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/feedback/feedbacktest"
)

// screen is what a person sees; at each prompt they reply to what was shown since the
// last.
type screen struct {
	person *feedbacktest.Person
	keys   io.Writer

	mu    sync.Mutex
	text  bytes.Buffer
	shown int
}

func (s *screen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(data)
	if !strings.HasSuffix(s.text.String(), "> ") || s.person == nil {
		return len(data), nil
	}
	since := s.text.String()[s.shown:]
	s.shown = s.text.Len()
	if said, ok := s.person.Reply(since); ok {
		_, err := io.WriteString(s.keys, said+"\n")
		return len(data), err
	}
	return len(data), nil
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// A person at a terminal that has files, as a shell gives them.
func atTerminal(t *testing.T, person *feedbacktest.Person) (*feedback.Terminal, *screen) {
	t.Helper()
	in, keys, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = in.Close(), keys.Close() })
	s := &screen{person: person, keys: keys}
	return &feedback.Terminal{In: in, Out: s, By: "ann"}, s
}

func TestATerminalKeepsThePromisesOfASource(t *testing.T) { //nolint:paralleltest // it looks for goroutines left behind
	feedbacktest.TestSource(t, feedbacktest.SourceTest{New: func(t *testing.T, person *feedbacktest.Person) feedback.Source {
		terminal, _ := atTerminal(t, person)
		return terminal
	}})
}

func TestATerminalShowsWhatIsNeededToAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := question("a")
	q.Kind, q.Options, q.Title, q.Context, q.Default = feedback.KindChoice, []string{"here", "there"}, "Ship", "It is \x1b[31mlate\x07.", "there"
	in := b.process()
	e := ask(t, in, q)
	var out bytes.Buffer
	terminal := &feedback.Terminal{In: strings.NewReader("nowhere\n\n"), Out: &out, By: "ann"}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- terminal.Run(ctx, in) }()
	after, err := in.Wait(ctx, e.ID)
	require.NoError(t, err)
	assert.Equal(t, "there", after.Answer.Value)
	assert.Equal(t, "ann", after.Answer.By)
	assert.Equal(t, "terminal", after.Answer.Source)
	ask(t, in, question("b")) // nothing is left to read for it
	require.NoError(t, <-ended)
	for _, want := range []string{"[iteration-1, step ship] Ship", "What of a?", "It is \uFFFD[31mlate\uFFFD.", "1: here", "2: there", "Enter alone: there", "it is none of the options"} {
		assert.Contains(t, out.String(), want)
	}
}

func TestWhatWasTypedForAClosedQuestionIsNotTheAnswerToTheNext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	in := b.process()
	first := ask(t, in, question("first"))
	keysOut, keys := io.Pipe()
	s := &screen{}
	terminal := &feedback.Terminal{In: keysOut, Out: s}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- terminal.Run(ctx, in) }()
	until(ctx, t, func() bool { return strings.Contains(s.String(), "What of first?") })
	answer(t, in, first.ID, "elsewhere")
	second := ask(t, in, question("second"))
	until(ctx, t, func() bool { return strings.Contains(s.String(), "What of second?") })
	assert.Contains(t, s.String(), "was answered by ann")
	_, err := io.WriteString(keys, "for the first\nfor the second\n")
	require.NoError(t, err)
	after, err := in.Wait(ctx, second.ID)
	require.NoError(t, err)
	assert.Equal(t, "for the second", after.Answer.Value)
	require.NoError(t, keys.Close())
	ask(t, in, question("third"))
	require.NoError(t, <-ended)
}

func TestATerminalElsewhereDoesNotTakeASecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	q := question("code")
	q.Kind = feedback.KindSecret
	e := ask(t, b.process(), q)
	ctx, cancel := context.WithCancel(t.Context())
	s := &screen{}
	terminal := &feedback.Terminal{In: strings.NewReader("4711\n"), Out: s}
	var wg sync.WaitGroup
	other := b.process()
	wg.Go(func() { assert.ErrorIs(t, terminal.Run(ctx, other), context.Canceled) })
	until(t.Context(), t, func() bool { return strings.Contains(s.String(), "give it where run iteration-1 is going on") })
	cancel()
	wg.Wait()
	assert.Equal(t, feedback.Open, get(t, other, e.ID).State)
}

// until waits for something that another goroutine does.
func until(ctx context.Context, t *testing.T, done func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(t, "it does not happen")
		}
	}
}
