package feedback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// index is the list of open questions in runs/questions.jsonl: a projection of the
// questions' own files, which a listing reads in their place; see [view] for what it
// says.
//
// Writers hold a lock, since the file is also rewritten without what is closed. Readers
// need none.
type index struct {
	st       workspace.Storage
	now      func() time.Time
	lockWait time.Duration
	rebuild  func(context.Context) ([]record, error) // from the questions' own files
	writing  chan struct{}                           // holds one token while this inbox writes

	// These belong to who holds the token.
	end     int64 // of the file, when its tail is known to be whole; -1 otherwise
	compact int64 // the size from which on rewriting is worth a look
}

const (
	// compactFrom is the smallest file that is rewritten.
	compactFrom = 64 << 10
	firstRetry  = 2 * time.Millisecond
	lastRetry   = 50 * time.Millisecond
)

// read returns what is listed. A missing or damaged list is made anew, on the storage
// too if there are runs and it can be written: an empty one spares the next reader a look
// into all of them.
func (x *index) read(ctx context.Context) (*view, error) {
	file := logFile{st: x.st, name: workspace.OpenQuestionsFile}
	p, _, err := file.read(ctx)
	if err == nil && len(p.records) > 0 {
		return foldIndex(p.records), nil
	}
	if err != nil && !errors.Is(err, ErrDamaged) {
		return nil, err
	}
	records, err := x.rebuild(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := x.st.Stat(ctx, workspace.RunsDir); errors.Is(err, fs.ErrNotExist) {
		return foldIndex(nil), nil
	}
	if x.add(ctx) != nil {
		return foldIndex(records), ctx.Err()
	}
	if p, _, err = file.read(ctx); err != nil {
		return nil, err
	}
	return foldIndex(p.records), nil
}

// add appends records, durably.
func (x *index) add(ctx context.Context, records ...record) error {
	unlock, err := x.lock(ctx)
	if err != nil {
		return err
	}
	err = x.append(ctx, records)
	if err == nil && x.end >= x.compact {
		_ = x.shrink(ctx) // the records are there; the next append tries again
	}
	return errors.Join(err, unlock())
}

// append is called with the lock held. Nobody else writes then; who wrote before may
// have left a torn line, or have rewritten the file.
func (x *index) append(ctx context.Context, records []record) error {
	name := workspace.OpenQuestionsFile
	var lines []byte
	for i := range records {
		if records[i].At.IsZero() {
			records[i].At = stamp(x.now())
		}
		var err error
		if lines, err = appendLine(lines, &records[i]); err != nil {
			return err
		}
	}
	if x.end >= 0 {
		stat, err := x.st.Stat(ctx, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err != nil || stat.Size() != x.end {
			x.end = -1
		}
	}
	if x.end < 0 {
		if err := x.load(ctx); err != nil {
			return err
		}
	}
	if len(lines) == 0 {
		return nil
	}
	end := x.end
	x.end = -1 // until the append is known to have succeeded
	if err := x.st.AppendAt(ctx, name, end, lines); err != nil {
		return fmt.Errorf("append to %s: %w", name, err)
	}
	x.end = end + int64(len(lines))
	return nil
}

// load finds the end of the file, cuts a torn line, and makes the file anew where it is
// missing or damaged.
func (x *index) load(ctx context.Context) error {
	file := logFile{st: x.st, name: workspace.OpenQuestionsFile}
	p, size, err := file.read(ctx)
	switch {
	case err != nil && !errors.Is(err, ErrDamaged):
		return err
	case err != nil || len(p.records) == 0:
		records, err := x.rebuild(ctx)
		if err != nil {
			return err
		}
		return x.rewrite(ctx, records)
	case p.torn:
		// Only a writer that is dead leaves a torn line: it had the lock.
		if err := x.st.Truncate(ctx, file.name, p.whole); err != nil {
			return err
		}
		size = p.whole
	}
	x.end = size
	x.compact = max(x.compact, compactFrom)
	return nil
}

// rewrite replaces the file.
func (x *index) rewrite(ctx context.Context, records []record) error {
	text, err := appendLine(nil, &record{Kind: recordIndex, Format: formatVersion, At: stamp(x.now())})
	for i := range records {
		if err != nil {
			return err
		}
		text, err = appendLine(text, &records[i])
	}
	if err != nil {
		return err
	}
	x.end = -1
	if err := x.st.WriteFile(ctx, workspace.OpenQuestionsFile, text, workspace.Durable); err != nil {
		return err
	}
	x.end, x.compact = int64(len(text)), max(compactFrom, 3*int64(len(text)))
	return nil
}

// shrink rewrites the file without what is closed.
func (x *index) shrink(ctx context.Context) error {
	p, _, err := logFile{st: x.st, name: workspace.OpenQuestionsFile}.read(ctx)
	if err != nil {
		return err
	}
	return x.rewrite(ctx, foldIndex(p.records).records())
}

// lock waits for the list. A storage's lock can only be tried, so waiting means trying
// again.
func (x *index) lock(ctx context.Context) (unlock func() error, err error) {
	began := time.Now()
	limit := time.NewTimer(x.lockWait)
	defer limit.Stop()
	select {
	case x.writing <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-limit.C:
		return nil, &BusyError{Waited: x.lockWait, Err: &workspace.HeldError{Name: workspace.OpenQuestionsLock, Holder: holder()}}
	}
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		lock, err := x.st.TryLock(ctx, workspace.OpenQuestionsLock, holder())
		if err == nil {
			return func() error {
				defer func() { <-x.writing }() // only then may the next of ours try
				return lock.Unlock()
			}, nil
		}
		if !errors.Is(err, workspace.ErrHeld) {
			<-x.writing
			return nil, err
		}
		if time.Since(began) >= x.lockWait {
			<-x.writing
			return nil, &BusyError{Waited: x.lockWait, Err: err}
		}
		if err := pauseFor(ctx, pause); err != nil {
			<-x.writing
			return nil, err
		}
	}
}

func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func holder() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s, process %d, writing the list of open questions", host, os.Getpid())
}
