package feedback_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/workspace"
)

var noon = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)

// clock is what processes see that share a wall.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: noon} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// bundle is a workspace with a clock.
type bundle struct {
	st    workspace.Storage
	clock *clock
}

func setup(t *testing.T) *bundle {
	t.Helper()
	return &bundle{st: workspace.NewMem(), clock: newClock()}
}

// process is the inbox that another process has.
func (b *bundle) process(changes ...func(*feedback.Config)) *feedback.Inbox {
	config := feedback.Config{Now: b.clock.now, PollInterval: 5 * time.Millisecond}
	for _, change := range changes {
		change(&config)
	}
	return feedback.New(b.st, config)
}

func question(key string) *feedback.Question {
	return &feedback.Question{RunID: "run-1", Run: "iteration-1", Step: "ship", Key: key, Text: "What of " + key + "?"}
}

func ask(t *testing.T, in *feedback.Inbox, q *feedback.Question) *feedback.Entry {
	t.Helper()
	e, err := in.Ask(t.Context(), q)
	require.NoError(t, err)
	return e
}

func answer(t *testing.T, in *feedback.Inbox, id, value string) {
	t.Helper()
	_, err := in.Answer(t.Context(), id, feedback.Answer{Value: value, By: "ann"})
	require.NoError(t, err)
}

func get(t *testing.T, in *feedback.Inbox, id string) *feedback.Entry {
	t.Helper()
	e, err := in.Get(t.Context(), id)
	require.NoError(t, err)
	return e
}

func ids(list []*feedback.Entry) []string {
	found := make([]string, len(list))
	for i, e := range list {
		found[i] = e.ID
	}
	return found
}

func open(t *testing.T, in *feedback.Inbox) []string {
	t.Helper()
	list, err := in.List(t.Context(), feedback.Filter{})
	require.NoError(t, err)
	return ids(list)
}
