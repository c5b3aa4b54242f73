package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"time"
)

const (
	// maxLazy is how many bytes may wait without a durable record to ride with.
	maxLazy = 1 << 20
	// maxSpare is the largest buffer that is kept for reuse.
	maxSpare = 1 << 20
	// yields is how often a flush steps aside when several writers are at work:
	// those that the flush before has just released get to add their next record,
	// which about doubles the records per sync.
	yields = 4
	// attempts bounds how often one batch is given to the storage.
	attempts = 3
)

// errPanicked is the final error when the storage panicked: what it wrote is unknown.
var errPanicked = errors.New("storage panicked during an append")

// record adds a record of the line's kind, key and input, and fills in the rest.
// Unless it is lazy, it is durable on return.
func (j *Journal) record(l *line, data []byte, lazy bool) error {
	if l.kind == KindHeader || l.kind == KindOwner {
		return fmt.Errorf("%w: records of kind %q are the journal's own", ErrInvalid, l.kind)
	}
	if err := checkLabels(l.kind, l.key); err != nil {
		return err
	}
	if err := j.prepare(l, data); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	at, err := j.now()
	if err != nil {
		return err
	}
	l.time = at
	j.enqueue(l, lazy)
	if lazy && len(j.pending) < maxLazy {
		return nil
	}
	j.writers++
	defer func() { j.writers-- }()
	return j.commit(l.seq)
}

// now is the time as records carry it.
func (j *Journal) now() (time.Time, error) {
	at := j.opts.Now().UTC().Truncate(time.Millisecond)
	if second := at.Unix(); second < firstSecond || second > lastSecond {
		return at, fmt.Errorf("%w: the clock says %s; it must be within the years 1 to 9999", ErrInvalid, at)
	}
	return at, nil
}

// enqueue gives the record its place. It is called with mu held. What the index
// keeps is a copy, unless the data is the journal's.
func (j *Journal) enqueue(l *line, lazy bool) {
	j.seq++
	l.seq = j.seq
	j.pending = j.encoder.appendLine(j.pending, l)
	if e := j.keep(l, lazy); e != nil {
		switch {
		case e.blob != "":
			e.data = nil
		case !l.owned:
			e.data = bytes.Clone(l.data)
		}
	}
}

// commit returns when the records up to seq are durable, or the journal has
// failed. Whoever finds nobody flushing flushes everything that is pending; the
// others wait for that. It is called with mu held.
func (j *Journal) commit(seq int64) error {
	for j.durable < seq {
		switch {
		case j.err != nil:
			return j.err
		case j.flushing:
			j.flushed.Wait()
		default:
			j.flush()
		}
	}
	return nil
}

// flush writes what is pending. It is called with mu held and releases it while
// it writes.
func (j *Journal) flush() {
	j.flushing = true
	if j.writers > 1 {
		j.stepAside()
	}
	if j.err != nil {
		j.flushing = false
		return
	}
	batch, last := j.pending, j.seq
	j.pending, j.spare = j.spare[:0], nil
	err := errPanicked
	defer func() {
		j.flushing = false
		if cap(batch) <= maxSpare {
			j.spare = batch[:0]
		}
		if err == nil {
			j.durable = last
		} else {
			j.fail(err)
		}
		j.flushed.Broadcast()
	}()
	err = j.write(batch)
}

func (j *Journal) stepAside() {
	j.mu.Unlock()
	defer j.mu.Lock()
	for range yields {
		runtime.Gosched()
	}
}

// write appends a batch to the file; mu is free meanwhile.
func (j *Journal) write(batch []byte) error {
	j.mu.Unlock()
	defer j.mu.Lock()

	rest, offset := batch, j.end
	var failure error
	for range attempts {
		err := j.st.AppendAt(j.ctx, j.name, offset, rest)
		if err == nil {
			j.end += int64(len(batch))
			return nil
		}
		if failure == nil {
			failure = err
		}
		if j.ctx.Err() != nil {
			return context.Cause(j.ctx)
		}
		// An error, also a conflict, does not tell what happened: a storage may
		// have written and lost its answer. Only the bytes tell.
		there, err := j.tail()
		if err != nil {
			return fmt.Errorf("append at %d: %w; reading back what was written: %w", j.end, failure, err)
		}
		if !bytes.HasPrefix(batch, there) {
			return staleError(there, failure)
		}
		// The rest is the whole batch, what a torn append left out, or nothing:
		// then the append only makes durable. Adding the rest rather than cutting
		// the torn part keeps this conditional on the end of the file, so that
		// it can never cut what a new owner has written.
		rest, offset = batch[len(there):], j.end+int64(len(there))
	}
	return fmt.Errorf("append at %d, %d attempts: %w", j.end, attempts, failure)
}

// tail returns what the file has behind the last durable record of this owner.
func (j *Journal) tail() ([]byte, error) {
	data, err := j.st.ReadFile(j.ctx, j.name)
	if errors.Is(err, fs.ErrNotExist) && j.end == 0 {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if int64(len(data)) < j.end {
		return nil, fmt.Errorf("%w: the file has %d bytes, of %d that were durable", ErrStale, len(data), j.end)
	}
	return data[j.end:], nil
}

// staleError says who has taken the journal over, if its record can be read.
func staleError(there []byte, failure error) error {
	for text := range bytes.Lines(there) {
		l, ok := parseLine(bytes.TrimSuffix(text, []byte("\n")))
		if ok && l.kind == KindOwner {
			return fmt.Errorf("%w: taken over at %s by %s (%w)", ErrStale, l.time.Format(time.RFC3339), l.data, failure)
		}
	}
	return fmt.Errorf("%w: somebody else wrote behind its last record (%w)", ErrStale, failure)
}
