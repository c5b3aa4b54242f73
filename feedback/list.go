package feedback

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
)

// Filter says which questions are listed. The zero value is the open ones of all runs.
type Filter struct {
	// Run is a run's folder or id.
	Run string
	// Group and Step name what asked; empty is any.
	Group string
	Step  string
	// States are those that are listed; nil is the open ones, an empty list is all.
	States []State
}

func (f *Filter) onlyOpen() bool {
	return f.States == nil || len(f.States) == 1 && f.States[0] == Open
}

func (f *Filter) matches(e *Entry) bool {
	return f.matchesPlace(&e.Question) && (len(f.States) == 0 && (f.States != nil || e.State == Open) || slices.Contains(f.States, e.State))
}

func (f *Filter) matchesPlace(q *Question) bool {
	return (f.Run == "" || f.Run == q.Run || f.Run == q.RunID) &&
		(f.Group == "" || f.Group == q.Group) && (f.Step == "" || f.Step == q.Step)
}

// List returns questions, the oldest first. Open ones are listed without reading the
// closed. Where a file is damaged the others are returned beside the error.
func (in *Inbox) List(ctx context.Context, f Filter) ([]*Entry, error) {
	var list []*Entry
	var err error
	if f.onlyOpen() {
		list, err = in.listOpen(ctx, &f)
	} else {
		list, err = in.listAll(ctx, &f)
	}
	slices.SortStableFunc(list, func(a, b *Entry) int {
		return cmp.Or(a.AskedAt.Compare(b.AskedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, err
}

func (in *Inbox) listOpen(ctx context.Context, f *Filter) ([]*Entry, error) {
	v, err := in.index.read(ctx)
	if err != nil {
		return nil, err
	}
	now := in.config.Now()
	list := make([]*Entry, 0, len(v.byID))
	var errs []error
	for _, id := range v.order {
		at := v.byID[id]
		if at.closed || at.question != nil && !f.matchesPlace(at.question) {
			continue
		}
		var e *Entry
		if at.sure() {
			e = &Entry{Question: *at.question, State: Open}
		} else if e, err = in.load(ctx, at.run, id); err != nil {
			errs = append(errs, err)
		}
		if e != nil && f.matches(e.seen(now)) {
			list = append(list, e)
		}
	}
	return list, errors.Join(errs...)
}

func (in *Inbox) listAll(ctx context.Context, f *Filter) ([]*Entry, error) {
	runs, err := in.runs(ctx)
	if err != nil {
		return nil, err
	}
	now := in.config.Now()
	var list []*Entry
	var errs []error
	for _, run := range runs {
		found, err := in.questionsOf(ctx, run)
		if err != nil {
			errs = append(errs, err)
		}
		for _, e := range found {
			if f.matches(e.seen(now)) {
				list = append(list, e)
			}
		}
	}
	return list, errors.Join(errs...)
}

// Resolve finds the question that a person means by a name: an id, or an alias. The run,
// a folder or an id, narrows aliases to its questions; where it is empty, only open
// questions have aliases. Of several with one alias the open one is meant. The error
// matches [ErrNotFound] or is an [*AmbiguousError].
func (in *Inbox) Resolve(ctx context.Context, run, name string) (*Entry, error) {
	if strings.Contains(name, "/") { // as ids do
		if e, err := in.Get(ctx, name); err == nil || !errors.Is(err, ErrNotFound) {
			return e, err
		}
	}
	open, err := in.List(ctx, Filter{Run: run})
	if err != nil && len(open) == 0 {
		return nil, err
	}
	if e, err := theOne(open, name); e != nil || err != nil {
		return e, err
	}
	if run == "" {
		return nil, notFound(name)
	}
	all, err := in.List(ctx, Filter{Run: run, States: []State{}})
	if err != nil && len(all) == 0 {
		return nil, err
	}
	if e, err := theOne(all, name); e != nil || err != nil {
		return e, err
	}
	return nil, notFound(name)
}

// theOne returns the only entry with this alias, or nil.
func theOne(list []*Entry, alias string) (*Entry, error) {
	var found []*Entry
	for _, e := range list {
		if e.Alias == alias {
			found = append(found, e)
		}
	}
	if len(found) < 2 {
		if len(found) == 0 {
			return nil, nil
		}
		return found[0], nil
	}
	ambiguous := &AmbiguousError{Name: alias}
	for _, e := range found {
		ambiguous.IDs = append(ambiguous.IDs, e.ID)
	}
	return nil, ambiguous
}

// Follow yields each open question once: those that are there, the oldest first, and
// then those that come, until the context ends, which is no error. It looks every
// [Config.PollInterval], and at once after a change made through this inbox. An error
// that it yields does not end it unless the caller does.
func (in *Inbox) Follow(ctx context.Context, f Filter) iter.Seq2[*Entry, error] {
	f.States = nil
	return func(yield func(*Entry, error) bool) {
		defer in.hints.join(anyQuestion)()
		seen := map[string]bool{}
		for ctx.Err() == nil {
			hint := in.hints.next(anyQuestion)
			list, err := in.List(ctx, f)
			if err != nil && ctx.Err() == nil && !yield(nil, err) {
				return
			}
			open := make(map[string]bool, len(list))
			for _, e := range list {
				open[e.ID] = true
				if !seen[e.ID] && !yield(e, nil) {
					return
				}
			}
			if err == nil {
				seen = open // what was closed is not remembered
			}
			_ = pauseOr(ctx, hint, in.config.PollInterval) // the loop asks why
		}
	}
}
