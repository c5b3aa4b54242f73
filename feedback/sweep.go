package feedback

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// Expire marks every open question whose deadline is not after now, in all runs, and
// returns those that this call has marked: the expiry events. Each expiry is returned by
// one caller only, also among processes, or was found by a [Inbox.Wait] or an
// [Inbox.Answer], which mark too; [Config.OnChange] hears of all that this inbox marks.
// It also tidies the list of open questions after crashes. What it could not do is told
// beside the rest.
func (in *Inbox) Expire(ctx context.Context, now time.Time) ([]*Entry, error) {
	v, err := in.index.read(ctx)
	if err != nil {
		return nil, err
	}
	var expired []*Entry
	var errs []error
	for _, id := range v.order {
		at := v.byID[id]
		q := at.question
		if !at.sure() {
			e, err := in.tidy(ctx, id, at)
			if err != nil {
				errs = append(errs, err)
			}
			if e == nil || e.State != Open {
				continue
			}
			q = &e.Question
		}
		if !q.due(now) {
			continue
		}
		e, did, err := in.expire(ctx, q.Run, id, now, "")
		if err != nil && !errors.Is(err, ErrNotFound) { // with the folder of its run
			errs = append(errs, err)
		}
		if did && err == nil {
			expired = append(expired, e)
		}
	}
	return expired, errors.Join(errs...)
}

// presumedDead is how long a change may be under way before its process is taken for
// dead. It is made of few operations of the storage.
const presumedDead = time.Hour

// tidy settles what a crash has left pending, and returns what stands. A question that
// was never asked stays in the list for its run to ask, and leaves it with the run.
func (in *Inbox) tidy(ctx context.Context, id string, at *listed) (*Entry, error) {
	e, err := in.load(ctx, at.run, id)
	if err != nil {
		return nil, err
	}
	dead := in.dead(at)
	switch {
	case e != nil && len(dead) > 0:
		in.settle(ctx, e, dead...)
	case e == nil && !in.isFolder(ctx, workspace.RunLayout(at.run).Dir()):
		return nil, in.drop(ctx, id, at)
	}
	return e, nil
}

// dead are the marks of changes whose processes are taken for dead.
func (in *Inbox) dead(at *listed) []string {
	var marks []string
	for _, t := range at.pending {
		if in.config.Now().Sub(t.at) > presumedDead {
			marks = append(marks, t.mark)
		}
	}
	return marks
}

// drop takes a question out of the list that has no file any more.
func (in *Inbox) drop(ctx context.Context, id string, at *listed) error {
	var records []record
	for _, t := range at.pending {
		records = append(records, record{Kind: recordGone, ID: id, Write: t.mark})
	}
	records = append(records, record{Kind: recordGone, ID: id})
	return in.index.add(ctx, records...)
}

// WithdrawRun withdraws all open questions of a run, as when it is canceled or before
// its folder is removed. The run is its folder or its id. It returns how many.
func (in *Inbox) WithdrawRun(ctx context.Context, run, reason string) (int, error) {
	list, err := in.List(ctx, Filter{Run: run})
	errs := []error{err}
	n := 0
	for _, e := range list {
		after, err := in.withdraw(ctx, e, reason)
		switch {
		case errors.Is(err, ErrNotFound):
			err = nil // its file was removed
		case err == nil && after.State == Withdrawn:
			n++
		}
		errs = append(errs, err)
	}
	return n, errors.Join(errs...)
}

// Cleaned says what [Inbox.Cleanup] did.
type Cleaned struct {
	Expired []*Entry // open for too long
	Removed int      // files
}

// Cleanup ends what is older than a duration: open questions that were asked before then
// expire, whatever their deadline, and the files of questions that were closed before
// then, and of notifications sent before then, are removed. A run that has not taken an
// answer up yet loses it with the file and asks again, so let olderThan be longer than a
// run may be left. What it could not do is told beside the rest.
func (in *Inbox) Cleanup(ctx context.Context, olderThan time.Duration) (*Cleaned, error) {
	now := in.config.Now()
	before := now.Add(-olderThan)
	done := &Cleaned{}
	if olderThan <= 0 {
		return done, &InvalidError{Field: "age", Reason: "must be above 0"}
	}
	runs, err := in.runs(ctx)
	if err != nil {
		return done, err
	}
	var errs []error
	for _, run := range runs {
		errs = append(errs, in.cleanQuestions(ctx, run, before, done), in.cleanNotifications(ctx, run, before, done))
	}
	errs = append(errs, in.dropGone(ctx))
	return done, errors.Join(errs...)
}

func (in *Inbox) cleanQuestions(ctx context.Context, run string, before time.Time, done *Cleaned) error {
	list, err := in.questionsOf(ctx, run)
	errs := []error{err}
	for _, e := range list {
		switch {
		case e.State == Open && e.AskedAt.Before(before):
			reason := fmt.Sprintf("nobody answered since %s", e.AskedAt.Format(time.RFC3339))
			after, did, err := in.expire(ctx, run, e.ID, in.config.Now(), reason)
			errs = append(errs, err)
			if did && err == nil {
				done.Expired = append(done.Expired, after)
			}
		case e.State != Open && e.ClosedAt.Before(before):
			err := in.st.Remove(ctx, in.file(run, e.ID).name)
			errs = append(errs, err)
			if err == nil {
				done.Removed++
			}
		}
	}
	return errors.Join(errs...)
}

func (in *Inbox) cleanNotifications(ctx context.Context, run string, before time.Time, done *Cleaned) error {
	folder := workspace.RunLayout(run).Notifications()
	files, err := in.readDir(ctx, folder)
	if err != nil {
		return err
	}
	var errs []error
	for _, f := range files {
		name := folder + "/" + f.Name()
		p, _, err := logFile{st: in.st, name: name}.read(ctx)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if n := len(p.records); n > 0 && p.records[n-1].At.Before(before) {
			err := in.st.Remove(ctx, name)
			errs = append(errs, err)
			if err == nil {
				done.Removed++
			}
		}
	}
	return errors.Join(errs...)
}

// dropGone takes out of the list what has no file any more, and is not about to have one.
func (in *Inbox) dropGone(ctx context.Context) error {
	v, err := in.index.read(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range v.order {
		at := v.byID[id]
		e, err := in.load(ctx, at.run, id)
		if err == nil && e == nil && (len(in.dead(at)) == len(at.pending) || !in.isFolder(ctx, workspace.RunLayout(at.run).Dir())) {
			err = in.drop(ctx, id, at)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
