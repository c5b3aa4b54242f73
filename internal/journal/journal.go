package journal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// Kind says what a record is. Callers add kinds of their own.
type Kind string

const (
	// KindHeader is the first record: format and version.
	KindHeader Kind = "journal"
	// KindOwner says that a process took the journal over.
	KindOwner Kind = "owner"
	// KindResult is what [Scope.Do] recorded.
	KindResult Kind = "result"
	// KindBegin says that work whose effect cannot be undone starts.
	KindBegin Kind = "begin"
	// KindNote is what [Scope.Note] records.
	KindNote Kind = "note"
)

// Record is one entry of a journal.
type Record struct {
	Seq   int64     // position in the journal, from 1
	Time  time.Time // UTC, in milliseconds
	Kind  Kind
	Key   string          // what the record is about; empty for the whole run
	Input string          // hash of the input, hex; empty when there was none
	Data  json.RawMessage // payload, also where it lies in a blob; nil when there is none
}

// Options adjust a journal. The zero value works.
type Options struct {
	// Blobs is the folder for payloads over 32 KB. Default: the journal's name
	// with "-blobs" in place of ".jsonl".
	Blobs string
	// Holder is text for people that the owner record carries, such as a host
	// name and a process id.
	Holder string
	// Now is the clock; it must not use the journal. Default: [time.Now].
	Now func() time.Time
	// Redact is applied to every payload before it is hashed, stored and
	// returned. It must keep JSON valid, must not change its argument, and is
	// called concurrently. Nil: payloads are recorded as they are.
	Redact func([]byte) []byte
	// Closing is the kind whose records close their key: what was recorded at the
	// key and below it is from then on not kept for lookup, nor is the closing
	// record itself, so memory holds no more than what is still open. Empty:
	// nothing closes.
	Closing Kind
	// Replay is called by Open for each record that earlier processes left, in
	// their order, once the journal is taken over; it is not called for a new
	// journal, nor for this owner's own first records. An error ends Open, which
	// returns it. Record and Data are valid only during the call.
	Replay func(*Record) error
}

func (o Options) withDefaults(name string) Options {
	if o.Blobs == "" {
		o.Blobs = strings.TrimSuffix(name, ".jsonl") + "-blobs"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}

// Journal records one run. It is safe for concurrent use. Get one from [Open].
type Journal struct {
	st     workspace.Storage
	name   string
	opts   Options
	ctx    context.Context // of every append: not the caller's, so that what was received is recorded
	cancel context.CancelCauseFunc
	// end is where the file ends. Only the flusher uses it, and there is one at a time.
	end int64

	mu       sync.Mutex // for what follows
	flushed  sync.Cond  // a flush has ended
	flushing bool       // somebody writes, without holding mu
	writers  int        // appends that wait to become durable
	pending  []byte     // encoded lines that the storage does not have
	spare    []byte     // the buffer of the flush before, for reuse
	encoder  encoder
	seq      int64 // of the last record, pending or not
	durable  int64 // of the last record that is durable
	index    node
	blobs    blobs
	err      error // final
}

// Append records something durably: it returns when the record is on stable
// storage. The data is JSON, or empty for none. The kinds journal and owner are
// the journal's own.
func (j *Journal) Append(kind Kind, key string, data []byte) error {
	_, _, err := j.AppendNow(kind, key, data)
	return err
}

// AppendNow is Append for callers that need the number and the time that the
// record was given.
func (j *Journal) AppendNow(kind Kind, key string, data []byte) (seq int64, at time.Time, err error) {
	l := line{kind: kind, key: key}
	if err := j.record(&l, data, false); err != nil {
		return 0, time.Time{}, err
	}
	return l.seq, l.time, nil
}

// Note records something that nothing depends on: it rides with the next durable
// record or [Journal.Close], and is lost with the process when none comes. The
// order of records is the order of the calls all the same.
func (j *Journal) Note(kind Kind, key string, data []byte) error {
	l := line{kind: kind, key: key}
	return j.record(&l, data, true)
}

// Recorded returns what is recorded under a key, by an earlier process or by this
// one: the result if there is one, else the last record of another kind. It
// reports false when there is nothing, nothing durable yet, or nothing kept
// because the key was closed. The caller owns the data.
func (j *Journal) Recorded(key string) (data []byte, ok bool, err error) {
	j.mu.Lock()
	e, err := j.lookup(key), j.err
	j.mu.Unlock()
	if err != nil || e == nil {
		return nil, false, err
	}
	data, err = j.payload(e)
	return data, err == nil, err
}

// Under returns the scope of the keys below a prefix; an empty prefix is all keys.
func (j *Journal) Under(prefix string) *Scope { return &Scope{j: j, prefix: prefix} }

// Err returns the final error of the journal, nil while it works.
func (j *Journal) Err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}

// Abort ends the journal for a reason: a storage operation that hangs is
// cancelled, and every later call returns an error that matches the cause and
// [ErrAborted]. Notes that are not durable yet are lost; the file stays valid.
func (j *Journal) Abort(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	err := fmt.Errorf("%w: %w", ErrAborted, cause)
	j.cancel(err)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.fail(err)
}

// Close makes all notes durable and ends the journal: every later call returns
// [ErrClosed], a second Close nil. A journal that has ended otherwise returns its
// final error.
func (j *Journal) Close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if errors.Is(j.err, ErrClosed) {
		return nil
	}
	for j.durable < j.seq && j.err == nil {
		_ = j.commit(j.seq) // others may add records while it waits; an error is in j.err
	}
	if j.err != nil {
		return j.err
	}
	j.err = fmt.Errorf("journal %s: %w", j.name, ErrClosed)
	j.cancel(j.err)
	return nil
}

// fail makes an error final unless there is one already, and returns the one
// that is. It is called with mu held.
func (j *Journal) fail(err error) error {
	if j.err == nil {
		j.err = fmt.Errorf("journal %s: %w", j.name, err)
		j.flushed.Broadcast()
	}
	return j.err
}

// lookup is called with mu held.
func (j *Journal) lookup(key string) *entry {
	at := j.index.find(key)
	if at == nil {
		return nil
	}
	for _, e := range [...]*entry{at.result, at.note} {
		if e != nil && j.certain(e) {
			return e
		}
	}
	return nil
}

// certain reports whether something may depend on a record: it is durable, or its
// caller did not ask for that. It is called with mu held.
func (j *Journal) certain(e *entry) bool { return e.lazy || e.seq <= j.durable }

// payload returns a copy of what an entry stands for.
func (j *Journal) payload(e *entry) ([]byte, error) {
	if e.blob != "" {
		return j.blobs.read(j.ctx, j.name, e.seq, e.blob, e.size)
	}
	return append([]byte(nil), e.data...), nil
}
