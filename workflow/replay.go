package workflow

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/treadle-dev/treadle/internal/journal"
)

// takePending removes the pending visit with a key, while the journal is replayed.
func (w *walk) takePending(key string) *leaf {
	for i, l := range w.pending {
		if l.key == key {
			w.pending = append(w.pending[:i], w.pending[i+1:]...)
			return l
		}
	}
	return nil
}

var errJournalOrder = errors.New("the journal does not fit the run")

// replay folds one record of the journal.
func (w *walk) replay(rec *journal.Record) error {
	switch rec.Kind {
	case recordRun:
		return w.replayRun(rec)
	case recordOutcome:
		var record outcomeRecord
		l, err := w.replayLeaf(rec, &record)
		if err != nil {
			return err
		}
		return w.complete(l, &record)
	case recordFailure:
		var record failureRecord
		l, err := w.replayLeaf(rec, &record)
		if err != nil {
			return err
		}
		w.fail(l, record.Exhausted)
	case recordReopen:
		var record reopenRecord
		if err := decode(rec, &record); err != nil {
			return err
		}
		w.reopen(record)
	case recordEnd:
		w.lastEnd = &endRecord{}
		return decode(rec, w.lastEnd)
	case journal.KindResult, journal.KindNote:
		return w.spend(rec)
	}
	return nil
}

func (w *walk) replayRun(rec *journal.Record) error {
	var record runRecord
	if err := decode(rec, &record); err != nil {
		return err
	}
	switch {
	case record.Folder != w.run.folder:
		return fmt.Errorf("%w: it is that of %s", errJournalOrder, record.Folder)
	case record.Revision != w.run.program.revision:
		return planChanged(&record, w.run.program)
	}
	w.start(&record, rec.Time)
	return nil
}

func planChanged(record *runRecord, p *Program) error {
	return fmt.Errorf("%w (it started with revision %s and the plan is now %s)", ErrPlanChanged, record.Revision, p.revision)
}

// replayLeaf decodes how a visit ended and finds the visit.
func (w *walk) replayLeaf(rec *journal.Record, into any) (*leaf, error) {
	l := w.takePending(rec.Key)
	if l == nil {
		return nil, fmt.Errorf("record %d (%s %s): %w", rec.Seq, rec.Kind, rec.Key, errJournalOrder)
	}
	return l, decode(rec, into)
}

// start folds the start of the run.
func (w *walk) start(record *runRecord, at time.Time) {
	w.started = true
	w.run.id, w.run.group, w.run.vars, w.run.startedAt = record.RunID, record.Group, w.run.ctl.reveal(record.Variables), at
	w.next(Event{Kind: EventStart}, nil)
}

// reopen folds that failed steps, or one that lost its outputs, are taken up again.
func (w *walk) reopen(record reopenRecord) {
	w.finished, w.failure = false, false
	if record.Reason == reopenLost {
		w.pending, w.failed = w.pending[:0], w.failed[:0]
		if i := slices.Index(w.completed, record.Step); i >= 0 {
			w.completed = w.completed[:i]
		}
		w.next(Event{Kind: EventLost, Step: int(w.run.program.byID[record.Step])}, nil)
		return
	}
	failed := w.failed
	w.failed = nil
	for _, l := range failed {
		kind := EventRetry
		if l.exhausted {
			kind = EventRedo
		}
		w.next(Event{Kind: kind, Token: l.token}, nil)
	}
}
