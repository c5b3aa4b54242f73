package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

// Reasons of a reopenRecord.
const (
	reopenFailed = "failed"
	reopenLost   = "lost"
)

// begin starts a new run, or takes up what was replayed. The run then can be
// driven.
func (w *walk) begin(ctx context.Context, opts *RunOptions) error {
	w.replaying = false
	if !w.started {
		return w.beginNew(opts)
	}
	if err := w.resume(ctx); err != nil {
		return err
	}
	w.run.emit(RunEvent{Kind: RunResumed})
	w.writeMetadata(StatusRunning, nil)
	return nil
}

func (w *walk) beginNew(opts *RunOptions) error {
	group := w.run.program.variables.Group(w.run.group)
	vars, err := w.run.program.valuesFor(group, opts.Variables)
	if err != nil {
		return err
	}
	record := &runRecord{
		RunID: w.run.ctl.config.NewID(), Folder: w.run.folder, Group: w.run.group,
		Revision: w.run.program.revision, Variables: vars,
	}
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := w.run.journal.Append(recordRun, "", data); err != nil {
		return err
	}
	w.start(record, w.run.ctl.config.Now().UTC())
	w.flushed = w.run.startedAt
	w.run.emit(RunEvent{Kind: RunStarted, Time: w.run.startedAt})
	w.writeMetadata(StatusRunning, nil)
	return nil
}

// resume finishes the moves that an earlier process left, and takes up steps that
// failed or whose outputs are gone.
func (w *walk) resume(ctx context.Context) error {
	moves := w.moves
	if err := w.place(); err != nil {
		return err
	}
	if w.lastEnd != nil && w.lastEnd.Status == StatusCompleted {
		return fmt.Errorf("%s: %w", w.run.folder, ErrRunFinished)
	}
	lost, err := w.lost(ctx, moves)
	if err != nil {
		return err
	}
	switch {
	case lost != nil:
		w.warn("output lost", lost)
		return w.appendReopen(reopenRecord{Step: lost.Step, Reason: reopenLost})
	case len(w.failed) > 0:
		return w.appendReopen(reopenRecord{Step: w.failed[0].step.id, Reason: reopenFailed})
	}
	return nil
}

func (w *walk) appendReopen(record reopenRecord) error {
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := w.run.journal.Append(recordReopen, record.Step, data); err != nil {
		return err
	}
	w.reopen(record)
	return nil
}

// recordedRun reads what an existing run was started with, and whether it has
// completed. The record is nil when it was never written.
func (c *Controller) recordedRun(ctx context.Context, ws *workspace.Workspace, folder string) (record *runRecord, completed bool, err error) {
	for rec, err := range journalRecords(ctx, ws.Storage(), folder) {
		if err != nil {
			return nil, false, &RunError{Run: folder, Err: err}
		}
		switch rec.Kind {
		case recordRun:
			record = &runRecord{}
			err = decode(rec, record)
		case recordEnd:
			var end endRecord
			err = decode(rec, &end)
			completed = end.Status == StatusCompleted
		}
		if err != nil {
			return nil, false, &RunError{Run: folder, Err: err}
		}
	}
	return record, completed, nil
}

// projectEvery bounds how often a running run rewrites its metadata and ledger.
const projectEvery = 2 * time.Second

// project rewrites the projections when they are old.
func (w *walk) project(now time.Time) {
	if now.Sub(w.flushed) >= projectEvery {
		w.flushed = now
		w.writeMetadata(StatusRunning, nil)
		w.writeLedger()
	}
}

// end records how the run stopped and brings the projections up to date.
func (w *walk) end(status Status, cause error) (Status, error) {
	record := endRecord{Status: status}
	if cause != nil {
		record.Error = w.run.ctl.redactor.Text(cause.Error())
		if status == StatusCompleted {
			record.Status, status = StatusFailed, StatusFailed
		}
	}
	data, err := json.Marshal(record)
	if err == nil {
		err = w.run.journal.Append(recordEnd, "", data)
	}
	if err != nil {
		// What is not recorded has not happened: the run can be resumed.
		switch {
		case w.run.ctx.Err() != nil:
			status = StatusCanceled
		case status == StatusCompleted:
			status = StatusFailed
		}
		cause = errors.Join(cause, err)
	}
	if status == StatusCompleted {
		w.removeWork()
	}
	if errors.Is(w.run.journal.Err(), journal.ErrStale) {
		return status, cause // the projections are the new owner's now
	}
	w.writeLedger()
	w.writeMetadata(status, cause)
	return status, cause
}

// removeWork removes the emptied work folders, and those of visits that failed.
func (w *walk) removeWork() {
	if err := w.run.ws.Storage().Remove(w.run.grace, w.run.layout.WorkRoot()); err != nil {
		w.warn("remove work folders", err)
	}
}

func (w *walk) warn(what string, err error) {
	w.run.ctl.config.Logger.Warn(what, "run", w.run.folder, "error", w.run.redactError(err))
}

// statusOf tells how a run stands whose leaf returned an error.
func statusOf(ctx context.Context, err error) Status {
	switch {
	case ctx.Err() != nil:
		return StatusCanceled
	case isSuspended(err):
		return StatusWaiting
	case isLimit(err):
		return StatusStopped
	}
	return StatusFailed
}
