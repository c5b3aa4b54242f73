package costs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// DefaultLockWait is how long [Ledger.Write] waits for other writers by default.
const DefaultLockWait = 10 * time.Second

// Ledger writes the daily cost files of one workspace. It is safe for concurrent
// use, and so are several ledgers, also in several processes, over one storage.
type Ledger struct {
	// LockWait limits how long a write waits for other writers; 0 is
	// [DefaultLockWait], less than 0 tries once. Set it before the first use.
	LockWait time.Duration

	st      workspace.Storage
	writing chan struct{} // holds one token while this ledger writes
}

// NewLedger returns the ledger of a storage.
func NewLedger(st workspace.Storage) *Ledger {
	return &Ledger{st: st, writing: make(chan struct{}, 1)}
}

// Write makes the run's share of every UTC day in the tally what the tally says.
// Other runs and fields that it does not know stay as they are; writing again
// changes nothing. A day for which the file already counts more calls of this run
// is left alone: the tally is then older than the file. Writes are
// [workspace.Lazy], since the journal can always rebuild them.
//
// An error matches [ErrInvalidRun], [ErrBusy], [ErrDamaged], or is the storage's
// or the context's. A damaged file stays untouched and does not keep the other
// days from being written.
func (l *Ledger) Write(ctx context.Context, run Run, t *Tally) error {
	run, err := run.normalized()
	if err != nil {
		return err
	}
	shares := t.shares()
	if len(shares) == 0 {
		return nil
	}
	unlock, err := l.lock(ctx, workspace.CostsLock(run.Scope, run.Group))
	if err != nil {
		return err
	}
	var errs []error
	for _, day := range slices.Sorted(maps.Keys(shares)) {
		if err := l.writeDay(ctx, run, day, shares[day]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(append(errs, unlock())...)
}

func (l *Ledger) writeDay(ctx context.Context, run Run, day string, s *share) error {
	name := workspace.DailyCosts(run.Scope, run.Group, day)
	before, err := readFile(ctx, l.st, name)
	if err != nil {
		return err
	}
	f, err := parseDayFile(before)
	if err == nil {
		err = f.set(run, day, s)
	}
	if err != nil {
		return &DamagedError{File: name, Err: err}
	}
	after := f.encode()
	if bytes.Equal(before, after) {
		return nil
	}
	return l.st.WriteFile(ctx, name, after, workspace.Lazy)
}

// readFile returns nil for a file that does not exist, and never nil for one that
// does.
func readFile(ctx context.Context, st workspace.Storage, name string) ([]byte, error) {
	data, err := st.ReadFile(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case data == nil:
		return []byte{}, nil
	}
	return data, nil
}

// The storage's lock can only be tried, so waiting means trying again, less and
// less often.
const (
	firstRetry = 2 * time.Millisecond
	lastRetry  = 100 * time.Millisecond
)

func (l *Ledger) lock(ctx context.Context, name string) (unlock func() error, err error) {
	wait := l.LockWait
	if wait == 0 {
		wait = DefaultLockWait
	}
	start := time.Now()
	deadline := time.NewTimer(max(wait, 0))
	defer deadline.Stop()
	if err := l.enter(ctx, name, wait, deadline.C); err != nil {
		return nil, err
	}
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		lock, err := l.st.TryLock(ctx, name, holder())
		switch {
		case err == nil:
			return func() error {
				defer func() { <-l.writing }() // only then may the next of ours try
				return lock.Unlock()
			}, nil
		case !errors.Is(err, workspace.ErrHeld):
			<-l.writing
			return nil, err
		case time.Since(start) >= wait:
			<-l.writing
			return nil, &BusyError{Waited: max(wait, 0), Err: err}
		}
		retry := time.NewTimer(min(pause, wait-time.Since(start)))
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			<-l.writing
			return nil, ctx.Err()
		}
	}
}

// enter keeps the writers of this ledger from competing for the storage's lock
// with each other.
func (l *Ledger) enter(ctx context.Context, name string, wait time.Duration, deadline <-chan time.Time) error {
	select {
	case l.writing <- struct{}{}:
		return nil
	default:
	}
	select {
	case l.writing <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-deadline:
		return &BusyError{Waited: max(wait, 0), Err: &workspace.HeldError{Name: name, Holder: holder()}}
	}
}

func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d, writing costs", host, os.Getpid())
}
