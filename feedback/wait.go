package feedback

import (
	"context"
	"time"
)

// firstPoll is the first pause between two looks at a question.
const firstPoll = 20 * time.Millisecond

// Wait returns when the question is answered, by whichever process. Several may wait for
// the same one. The end of the question is an [*ExpiredError] or a [*WithdrawnError];
// who waits past the deadline marks it, so an answer that comes later is refused
// everywhere. After [Config.MaxWait] it is a [*WaitError]. The answer to a secret
// question is then to be had from [Inbox.TakeSecret].
func (in *Inbox) Wait(ctx context.Context, id string) (*Entry, error) {
	e, err := in.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return in.wait(ctx, e)
}

// wait waits for a question whose place is known.
func (in *Inbox) wait(ctx context.Context, e *Entry) (*Entry, error) {
	id, run, began := e.ID, e.Run, in.config.Now()
	defer in.hints.join(id)()
	for pause := firstPoll; ; pause = min(2*pause, in.config.PollInterval) {
		hint := in.hints.next(id) // before the look, so that no change falls in between
		e, err := in.look(ctx, run, id)
		if err != nil {
			return nil, err
		}
		if e.State == Answered {
			return e, nil
		}
		if err := e.closedError(); err != nil {
			return nil, err
		}
		now := in.config.Now()
		left := in.config.MaxWait - now.Sub(began)
		if left <= 0 {
			return nil, &WaitError{ID: id, Limit: in.config.MaxWait}
		}
		if !e.Deadline.IsZero() {
			left = min(left, e.Deadline.Sub(now))
		}
		if err := pauseOr(ctx, hint, max(min(pause, left), time.Millisecond)); err != nil {
			return nil, err
		}
	}
}

// look reads the question, and marks it when its time is over.
func (in *Inbox) look(ctx context.Context, run, id string) (*Entry, error) {
	e, err := in.load(ctx, run, id)
	if err == nil && e != nil && e.State == Open && e.due(in.config.Now()) {
		e, err = in.lookAndExpire(ctx, run, id)
	}
	if err == nil && e == nil {
		err = notFound(id)
	}
	return e, err
}

// lookAndExpire lets those who wait in this process mark one after the other: a thousand
// that wait for one question mark it once.
func (in *Inbox) lookAndExpire(ctx context.Context, run, id string) (*Entry, error) {
	select {
	case in.expiring <- struct{}{}:
		defer func() { <-in.expiring }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	e, err := in.load(ctx, run, id)
	now := in.config.Now()
	if err != nil || e == nil || e.State != Open || !e.due(now) {
		return e, err
	}
	e, _, err = in.expire(ctx, run, id, now, "")
	return e, err
}

// pauseOr waits for a while, or for a hint.
func pauseOr(ctx context.Context, hint <-chan struct{}, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-hint:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}
