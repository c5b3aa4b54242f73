// Package crashtest stops a piece of durable work at every operation that changes
// its storage, lets it go on as a new process would, and asks whether the end is
// the same.
package crashtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

// Work is what is crashed. Each cut point begins with a fresh storage.
type Work struct {
	// Prepare fills a fresh storage.
	Prepare func(ctx context.Context, st workspace.Storage) error
	// Run does the work, or goes on with it where another process was stopped. It
	// is called as if by one process each time.
	Run func(ctx context.Context, st workspace.Storage) error
	// Begin is called before each cut point's first Run, Check after its last.
	Begin func()
	Check func(tb testing.TB, st workspace.Storage)
}

// Cut is where the work was stopped.
type Cut struct {
	Operation int // that changes something, from 1
	When      workspacetest.When
	At        workspacetest.Operation
}

func (c Cut) String() string {
	return fmt.Sprintf("%s operation %d (%s %s)", c.When, c.Operation, c.At.Kind, c.At.Name)
}

// EveryCut stops the work at every operation in turn: before it, after it, and,
// for appends, when half of the data has landed. With second above 0, the process
// that goes on is stopped too, at its operation number second, and a third one ends the
// work. It returns the number of cut points.
func EveryCut(tb testing.TB, w Work, second int) int {
	tb.Helper()
	total := w.operations(tb)
	cuts := 0
	for at := 1; at <= total; at++ {
		for _, when := range []workspacetest.When{workspacetest.Before, workspacetest.After, workspacetest.Torn} {
			if w.cut(tb, at, when, second) {
				cuts++
			}
		}
	}
	return cuts
}

// operations runs the work without a cut, checks it, and counts what it changes.
func (w *Work) operations(tb testing.TB) int {
	tb.Helper()
	st := w.fresh(tb)
	faulty := workspacetest.NewFaulty(st, workspacetest.Fault{})
	w.Begin()
	require.NoError(tb, w.Run(tb.Context(), faulty.Storage()))
	w.Check(tb, st)
	return faulty.Changes()
}

func (w *Work) fresh(tb testing.TB) workspace.Storage {
	tb.Helper()
	st := workspace.NewMem()
	require.NoError(tb, w.Prepare(tb.Context(), st))
	return st
}

// cut reports whether the work was stopped there.
func (w *Work) cut(tb testing.TB, at int, when workspacetest.When, second int) bool {
	tb.Helper()
	st := w.fresh(tb)
	w.Begin()
	cut, struck := w.stopped(tb, st, workspacetest.Fault{At: at, When: when, Stop: true})
	if !struck || (when == workspacetest.Torn && cut.At.Kind != workspacetest.AppendAt) {
		return false
	}
	if second > 0 {
		w.stopped(tb, st, workspacetest.Fault{At: second, When: when, Stop: true})
	}
	if err := w.Run(tb.Context(), st); err != nil && !errors.Is(err, ErrComplete) {
		tb.Fatalf("cut %s: the next process: %v", cut, err)
	}
	inner := &failure{TB: tb, prefix: "cut " + cut.String() + ": "}
	w.Check(inner, st)
	return true
}

// ErrComplete is what Run returns, wrapped, when there was nothing left to do.
var ErrComplete = errors.New("the work is complete")

// stopped runs the work as a process that the fault ends.
func (w *Work) stopped(tb testing.TB, st workspace.Storage, fault workspacetest.Fault) (Cut, bool) {
	tb.Helper()
	faulty := workspacetest.NewFaulty(st, fault)
	err := w.Run(tb.Context(), faulty.Storage())
	at, struck := faulty.Struck()
	cut := Cut{Operation: fault.At, When: fault.When, At: at}
	if !struck && err != nil && !errors.Is(err, ErrComplete) {
		tb.Fatalf("%s: not reached, and failed: %v", cut, err)
	}
	return cut, struck
}

// failure says at which cut a check failed.
type failure struct {
	testing.TB
	prefix string
}

func (f *failure) Errorf(format string, args ...any) {
	f.Helper()
	f.TB.Errorf(f.prefix+format, args...)
}
