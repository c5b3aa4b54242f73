package feedback

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// settleGrace is how long the list of open questions may take to hear of a change that
// is already made, after the caller has given up.
const settleGrace = 10 * time.Second

// Ask records a question and then notifies people of it. When it returns without an
// error the question is readable by every process that reaches the storage, and was so
// before the notifier was called. It does not wait for the answer.
//
// Asking again under the same id, as after a crash, returns what is there: the first
// moment and deadline stand, and whoever has a receipt is not notified again. Another
// text under the id is a [*MismatchError]; a question that cannot be asked is an
// [*InvalidError]. A notifier that fails is logged, never an error.
//
// A question that was withdrawn, as when its run was canceled, is asked anew under a key
// of its own, and so is a secret question whose answer was given and is not held any
// more: the ID of the entry that is returned then differs. That is how a resume asks
// again.
func (in *Inbox) Ask(ctx context.Context, q *Question) (*Entry, error) {
	next := *q
	for again := 2; ; again++ {
		e, err := in.askOnce(ctx, &next)
		if err != nil {
			return nil, err
		}
		if !in.askedInVain(e) {
			if e.State == Open {
				e = in.notifyOf(ctx, e)
			}
			return e.seen(in.config.Now()), nil
		}
		next.Key = fmt.Sprintf("%s/again/%d", q.Key, again)
		next.Deadline = time.Time{}
		if next.Timeout == 0 && !q.Deadline.IsZero() {
			next.Timeout = e.Deadline.Sub(e.AskedAt)
		}
	}
}

// askedInVain reports whether whoever asks again needs another question.
func (in *Inbox) askedInVain(e *Entry) bool {
	return e.State == Withdrawn || e.Kind == KindSecret && e.State == Answered && !in.secrets.holds(e.ID)
}

// askOnce makes the question durable, or returns what is there.
func (in *Inbox) askOnce(ctx context.Context, q *Question) (*Entry, error) {
	n, err := q.normalized(stamp(in.config.Now()), in.config.Redact)
	if err != nil {
		return nil, err
	}
	if n.Kind == KindSecret {
		in.secrets.expect(n.ID)
	}
	e, err := in.load(ctx, n.Run, n.ID)
	if err != nil {
		return nil, err
	}
	if e == nil {
		var made bool
		e, made, err = in.change(ctx, recordAsking, n.Run, n.ID, func(records []record) (*record, error) {
			if fold(records) != nil {
				return nil, nil // another process was faster
			}
			return &record{Kind: recordAsked, At: n.AskedAt, Question: n}, nil
		})
		if err != nil {
			return nil, err
		}
		if made {
			in.announce(e)
		}
	}
	if field := n.differs(&e.Question); field != "" {
		return nil, &MismatchError{ID: n.ID, Field: field}
	}
	return e, nil
}

// change makes one change of a question: the list hears that it is about to happen, the
// question's own file takes it, the list hears what came of it. After a crash in
// between the file decides. It returns what stands then, and whether this call made it
// so; whoever called announces that.
func (in *Inbox) change(ctx context.Context, kind, run, id string, next func([]record) (*record, error)) (e *Entry, made bool, err error) {
	mark := newWrite()
	if err := in.index.add(ctx, record{Kind: kind, ID: id, Run: run, Write: mark}); err != nil {
		return nil, false, err
	}
	records, err := in.file(run, id).append(ctx, func(records []record) (*record, error) {
		r, err := next(records)
		made = r != nil
		return r, err
	})
	if e = fold(records); err == nil && e == nil {
		err = notFound(id)
	}
	switch {
	case errors.Is(err, ErrNotFound): // its file went meanwhile
		return nil, false, errors.Join(err, in.drop(ctx, id, &listed{pending: []touch{{mark: mark}}}))
	case err != nil:
		return nil, false, err
	}
	in.settle(ctx, e, mark)
	return e, made, nil
}

// settle tells the list what became of a question. It is no error when it cannot: the
// list then sends readers to the question's own file.
func (in *Inbox) settle(ctx context.Context, e *Entry, marks ...string) {
	kept, stop := context.WithTimeout(context.WithoutCancel(ctx), settleGrace)
	defer stop()
	var records []record
	for _, mark := range marks {
		r := record{Kind: recordClosed, ID: e.ID, Write: mark}
		if e.State == Open {
			r = record{Kind: recordOpen, Question: &e.Question, Write: mark}
		}
		records = append(records, r)
	}
	if err := in.index.add(kept, records...); err != nil {
		in.config.Logger.WarnContext(ctx, "the list of open questions is behind", "question", e.ID, "error", err)
	}
}

// Answer records the answer to the question with this id, and returns the question with
// it. The first answer wins.
//
// The errors: [*AnsweredError] when somebody was first, [*ExpiredError] past the
// deadline, [*WithdrawnError], [*AnswerError] when the value is no answer to this kind
// of question (the message lists the choices), [*InvalidError] when By or Source is too
// long, [ErrNotFound], and [ErrSecretElsewhere] for a secret question that this inbox has
// not asked.
//
// Of a choice the value may be an option's name, its number from 1 with or without the
// word "option" before it, or both as people are shown them. Space and invisible
// characters at the ends do not count. An empty value is the default, where the question
// has one.
func (in *Inbox) Answer(ctx context.Context, id string, a Answer) (*Entry, error) {
	e, err := in.find(ctx, id)
	if err != nil {
		return nil, err
	}
	if e.State != Open {
		return nil, e.closedError()
	}
	given, err := e.read(a.Value)
	if err != nil {
		return nil, err
	}
	if len(a.By) > MaxTitle || len(a.Source) > MaxTitle {
		return nil, &InvalidError{Field: "by or source of an answer", Reason: fmt.Sprintf("is longer than %d bytes", MaxTitle)}
	}
	given.By, given.Source, given.At = in.config.Redact(a.By), in.config.Redact(a.Source), stamp(a.At)
	if given.At.IsZero() {
		given.At = stamp(in.config.Now())
	}
	if e.Kind == KindSecret {
		return in.answerSecret(ctx, e, given)
	}
	if e.Kind == KindText {
		given.Value = in.config.Redact(given.Value)
	}
	after, changed, err := in.record(ctx, e, given)
	if changed {
		in.announce(after)
	}
	if err != nil {
		return nil, err
	}
	return after, nil
}

// record makes the answer durable unless the question is closed by then. It reports
// whether it changed the question: also by marking that its time is over.
func (in *Inbox) record(ctx context.Context, e *Entry, a Answer) (after *Entry, changed bool, err error) {
	var lost error
	after, changed, err = in.change(ctx, recordTouched, e.Run, e.ID, func(records []record) (*record, error) {
		lost = nil
		there := fold(records)
		now := stamp(in.config.Now())
		switch {
		case there == nil:
			return nil, notFound(e.ID)
		case there.State != Open:
			lost = there.closedError()
			return nil, nil
		case there.due(now):
			lost = &ExpiredError{ID: there.ID, At: there.Deadline}
			return &record{Kind: recordExpired, At: there.Deadline}, nil
		}
		return &record{Kind: recordAnswered, At: now, Answer: &a}, nil
	})
	if err == nil {
		err = lost
	}
	return after, changed, err
}

// expire marks a question whose time is over; a reason does so before its deadline. It
// reports whether this call did it; e is what stands then.
func (in *Inbox) expire(ctx context.Context, run, id string, now time.Time, reason string) (e *Entry, did bool, err error) {
	e, did, err = in.change(ctx, recordTouched, run, id, func(records []record) (*record, error) {
		there := fold(records)
		switch {
		case there == nil || there.State != Open:
			return nil, nil
		case there.due(now):
			return &record{Kind: recordExpired, At: there.Deadline}, nil
		case reason != "":
			return &record{Kind: recordExpired, At: stamp(now), Reason: reason}, nil
		}
		return nil, nil
	})
	if did {
		in.secrets.forget(id)
		in.announce(e)
	}
	return e, did, err
}

// Withdraw takes a question back: nobody can answer it any more. Withdrawing what is
// closed changes nothing, and what is past its deadline expires. The entry is what stands
// then.
func (in *Inbox) Withdraw(ctx context.Context, id, reason string) (*Entry, error) {
	e, err := in.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return in.withdraw(ctx, e, reason)
}

func (in *Inbox) withdraw(ctx context.Context, e *Entry, reason string) (*Entry, error) {
	if e.State != Open {
		return e, nil
	}
	reason = clip(in.config.Redact(reason))
	after, did, err := in.change(ctx, recordTouched, e.Run, e.ID, func(records []record) (*record, error) {
		there, now := fold(records), stamp(in.config.Now())
		switch {
		case there == nil || there.State != Open:
			return nil, nil
		case there.due(now):
			return &record{Kind: recordExpired, At: there.Deadline}, nil
		}
		return &record{Kind: recordWithdrawn, At: now, Reason: reason}, nil
	})
	if err != nil {
		return nil, err
	}
	if did {
		in.secrets.forget(e.ID)
		in.announce(after)
	}
	return after, nil
}
