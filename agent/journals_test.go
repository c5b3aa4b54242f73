package agent_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

var errKilled = errors.New("the process was killed")

// process is one life of a process that owns a journal.
type process interface {
	agent.Journal
	// kill makes every later record impossible, as the end of the process does.
	kill()
}

// eachJournal runs a test with a journal of a host's own and with the library's.
// Every call of the function that the test gets starts the next process.
func eachJournal(t *testing.T, test func(t *testing.T, restart func() process)) {
	t.Helper()
	t.Run("a host's own journal", func(t *testing.T) {
		t.Parallel()
		kept := &records{results: map[string]recordedResult{}, begun: map[string]string{}}
		test(t, func() process { return &memoryJournal{records: kept} })
	})
	t.Run("internal/journal", func(t *testing.T) {
		t.Parallel()
		st := workspace.NewMem()
		test(t, func() process {
			// Not the test's context: tests with a clock of their own call this too.
			j, err := journal.Open(context.Background(), st, "journal.jsonl", journal.Options{})
			require.NoError(t, err)
			t.Cleanup(func() { _ = j.Close() })
			return scopeJournal{Scope: j.Under("step"), journal: j}
		})
	})
}

type scopeJournal struct {
	*journal.Scope
	journal *journal.Journal
}

func (s scopeJournal) kill() { s.journal.Abort(errKilled) }

// memoryJournal is a journal as a host may write one.
type memoryJournal struct {
	*records
	dead bool
}

type records struct {
	mu      sync.Mutex
	results map[string]recordedResult
	begun   map[string]string
}

type recordedResult struct {
	input string
	data  []byte
}

func (m *memoryJournal) kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.dead = true
}

func (m *memoryJournal) Do(ctx context.Context, key, input string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	m.mu.Lock()
	r, ok := m.results[key]
	m.mu.Unlock()
	switch {
	case ok && r.input != input:
		return nil, fmt.Errorf("%s is recorded for another input", key)
	case ok:
		return r.data, nil
	}
	data, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.dead {
		return nil, errKilled
	}
	m.results[key] = recordedResult{input, bytes.Clone(data)}
	return data, nil
}

func (m *memoryJournal) Begin(_ context.Context, key, input string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, ok := m.results[key]; ok {
		return false, nil
	}
	if _, ok := m.begun[key]; ok {
		return true, nil
	}
	if m.dead {
		return false, errKilled
	}
	m.begun[key] = input
	return false, nil
}
