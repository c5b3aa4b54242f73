package journal

import (
	"bytes"
	"context"
	"fmt"
)

// Scope is the part of a journal below a prefix; it is what a step, or the loop
// of an agent, gets to record in. It is safe for concurrent use.
type Scope struct {
	j      *Journal
	prefix string
}

func (s *Scope) at(key string) string {
	switch {
	case s.prefix == "":
		return key
	case key == "":
		return s.prefix
	}
	return s.prefix + "/" + key
}

// Under returns the scope of the keys below a further prefix.
func (s *Scope) Under(prefix string) *Scope { return s.j.Under(s.at(prefix)) }

// Do returns what is recorded under the key. When nothing is, it runs fn with the
// caller's context, records what fn returns durably, and returns it in the form
// in which it will be returned from now on: redacted and compact. The result is
// JSON, or empty for none; the caller owns it. What fn returns is the journal's
// from then on and must not be changed.
//
// An error of fn is returned and nothing recorded; a panic of fn goes on and
// leaves the key free. The error is a [*MismatchError] when the key is recorded
// with another input, [ErrBusy] while another call under the key runs, and the
// cause of the context when it is done before fn starts. The result of an fn that ran
// is recorded although the context is done.
func (s *Scope) Do(ctx context.Context, key, input string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	j, l := s.j, line{kind: KindResult, key: s.at(key), input: hashInput(input), owned: true}
	at, recorded, err := j.occupy(&l)
	if err != nil {
		return nil, err
	}
	if recorded != nil {
		return j.payload(recorded)
	}
	defer j.vacate(at, l.key)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	data, err := fn(ctx)
	if err != nil {
		return nil, err
	}
	if err := j.record(&l, data, false); err != nil {
		return nil, err
	}
	return bytes.Clone(l.data), nil
}

// Begin records durably that the work under the key starts. It reports true, and
// records nothing, when it has been started before, by this process or an
// earlier one, and has no result: its outcome is in doubt. With a result it
// reports false and records nothing. Its errors are those of Do.
func (s *Scope) Begin(ctx context.Context, key, input string) (inDoubt bool, err error) {
	j, l := s.j, line{kind: KindBegin, key: s.at(key), input: hashInput(input)}
	at, recorded, err := j.occupy(&l)
	if err != nil {
		return false, err
	}
	if recorded != nil {
		return recorded.kind == KindBegin, nil
	}
	defer j.vacate(at, l.key)
	if err := context.Cause(ctx); err != nil {
		return false, err
	}
	return false, j.record(&l, nil, false)
}

// Note is [Journal.Note] with the kind note.
func (s *Scope) Note(key string, data []byte) error { return s.j.Note(KindNote, s.at(key), data) }

// Recorded is [Journal.Recorded] below the prefix.
func (s *Scope) Recorded(key string) ([]byte, bool, error) { return s.j.Recorded(s.at(key)) }

// occupy takes the line's key for work, unless it finds what makes the work
// needless: a result, or for a begin also an earlier begin.
func (j *Journal) occupy(l *line) (at *node, recorded *entry, err error) {
	if l.key == "" {
		return nil, nil, fmt.Errorf("%w: work needs a key", ErrInvalid)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return nil, nil, j.err
	}
	// A node that holds nothing is never left behind: it holds one of the entries
	// that are found below, or its work, until vacate.
	at = j.index.make(l.key)
	found := at.result
	if found == nil && l.kind == KindBegin {
		found = at.begin
	}
	switch {
	case at.busy, found != nil && !j.certain(found):
		return nil, nil, fmt.Errorf("%w: %s", ErrBusy, l.key)
	case found != nil && found.input != l.input:
		return nil, nil, &MismatchError{Key: l.key, Recorded: found.input, Given: l.input}
	case found != nil:
		return nil, found, nil
	}
	at.busy = true
	return at, nil, nil
}

// vacate frees a key when its work has ended.
func (j *Journal) vacate(at *node, key string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at.busy = false
	if at.empty() {
		j.index.prune(key)
	}
}
