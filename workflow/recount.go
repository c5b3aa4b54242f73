package workflow

import (
	"context"
	"iter"
	"slices"
	"time"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

// account is what a journal says of its run, without the plan that it follows.
type account struct {
	standing  RunStanding
	completed []string // steps, in the order of completion
	spent     *costs.Tally
	// opened says that the last record is that of a process which took the run up,
	// to go on with it or to refuse.
	opened bool
}

// recount tells a run from its journal alone. A damaged journal gives what comes
// before the damage, with the standing's Problem.
func recount(ctx context.Context, st workspace.Storage, folder string, prices *costs.Prices) (*RunStanding, *account, error) {
	a := &account{spent: costs.NewTally(prices)}
	a.standing.RunFolder, a.standing.Status = folder, StatusRunning
	for rec, err := range journalRecords(ctx, st, folder) {
		if err == nil {
			err = a.add(rec)
		}
		if err != nil {
			if ctx.Err() != nil {
				return nil, nil, ctx.Err()
			}
			a.standing.Problem = err.Error()
			break
		}
	}
	a.standing.StepsCompleted = len(a.completed)
	if n := len(a.completed); n > 0 {
		a.standing.LastCompleted = a.completed[n-1]
	}
	a.standing.Totals = a.spent.Totals()
	return &a.standing, a, nil
}

func journalRecords(ctx context.Context, st workspace.Storage, folder string) iter.Seq2[*journal.Record, error] {
	layout := workspace.RunLayout(folder)
	return journal.Read(ctx, st, layout.Journal(), journal.Options{Blobs: layout.JournalBlobs()})
}

// add folds one record.
func (a *account) add(rec *journal.Record) error {
	s := &a.standing
	if rec.Kind == journal.KindOwner {
		a.opened = true
		return nil
	}
	if a.opened {
		a.goOn()
	}
	s.UpdatedAt = rec.Time
	step := stepOf(rec.Key)
	switch rec.Kind {
	case recordRun:
		var record runRecord
		if err := decode(rec, &record); err != nil {
			return err
		}
		s.RunID, s.Revision, s.StartedAt, s.Group = record.RunID, record.Revision, rec.Time, record.Group
	case recordStarted:
		s.NextStep = step
	case recordOutcome:
		a.completed = append(slices.DeleteFunc(a.completed, func(c string) bool { return c == step }), step)
		s.NextStep = ""
	case recordFailure:
		s.NextStep = step
	case recordReopen:
		var record reopenRecord
		if err := decode(rec, &record); err != nil {
			return err
		}
		if at := slices.Index(a.completed, record.Step); at >= 0 {
			a.completed = a.completed[:at] // what follows is done again, too
		}
		s.NextStep = record.Step
	case recordEnd:
		var record endRecord
		if err := decode(rec, &record); err != nil {
			return err
		}
		a.end(&record, rec.Time)
	case journal.KindResult, journal.KindNote:
		entries, err := entriesOf(rec)
		if err != nil {
			return err
		}
		for _, e := range entries {
			a.spent.Add(e)
		}
	}
	return nil
}

// goOn folds that the process which took the run up goes on with it.
func (a *account) goOn() {
	a.opened = false
	s := &a.standing
	s.Status, s.Error, s.CompletedAt, s.DurationMS = StatusRunning, "", nil, nil
}

func (a *account) end(record *endRecord, at time.Time) {
	s := &a.standing
	took := at.Sub(s.StartedAt).Milliseconds()
	s.Status, s.Error, s.CompletedAt, s.DurationMS = record.Status, record.Error, &at, &took
}
