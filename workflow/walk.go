package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// walk is the one owner of a run's control: it does what the cursor commands,
// records outcomes, and folds them in the order recorded.
type walk struct {
	run      *Run
	state    *State
	started  bool
	commands []Command // scratch of next
	pending  []*leaf   // visits to run, in the order commanded
	failed   []*leaf   // visits that failed
	results  []stepResult
	finished bool // the cursor said so
	failure  bool // as a failure

	// While the journal is replayed, and until the run goes on:
	replaying bool
	moves     []move
	lastEnd   *endRecord

	completed []string // step ids
	buffer    []byte   // scratch of outcome records
	clock     clockText
	flushed   time.Time
}

// leaf is one visit of a step.
type leaf struct {
	token     TokenID
	step      *compiledStep
	visit     int
	key       string
	attempt   int  // the last one, once the leaf has returned; 0 when it has none
	exhausted bool // of a failed one
}

// stepResult is what later prompts show of a completed step.
type stepResult struct {
	step string
	text string
}

// move puts the outputs of a visit in their place: the former ones into the
// archive, when there are any, then the work folder into the execution folder.
type move struct {
	step      int
	execution string
	archive   string // empty when the step had not published before
	work      string // empty when the visit has no outputs
	displaced string // where something that is in the way goes
	artifacts []Artifact
}

func newWalk(r *Run) *walk {
	return &walk{run: r, state: r.program.NewState(), replaying: true}
}

// drive runs leaves until control has nothing more to do.
func (w *walk) drive() (Status, error) {
	for len(w.pending) > 0 {
		if w.run.ctx.Err() != nil {
			return StatusCanceled, &RunError{Run: w.run.folder, Err: ErrCanceled}
		}
		l := w.pending[0]
		w.pending = w.pending[1:]
		if err := w.runLeaf(l); err != nil {
			status := statusOf(w.run.ctx, err)
			if status == StatusCanceled && !errors.Is(err, ErrCanceled) {
				err = fmt.Errorf("%w: %w", ErrCanceled, err)
			}
			return status, &RunError{Run: w.run.folder, Step: l.step.id, Attempt: l.attempt, Err: err}
		}
	}
	return StatusCompleted, nil
}

// runLeaf runs one visit, records how it ended, and does what follows from it. An
// error stops the run.
func (w *walk) runLeaf(l *leaf) error {
	started := w.run.ctl.config.Now()
	sc := newStepContext(w.run, l, started)
	defer func() { l.attempt = sc.attempt }()
	w.run.emit(RunEvent{Kind: StepStarted, Time: started, Step: l.step.id, Visit: l.visit})
	outcome, err := sc.execute()
	if err != nil {
		return errors.Join(err, w.recordFailure(sc, l, err))
	}
	record := &outcomeRecord{StartedAt: sc.started, Result: outcome.Result, Attempts: outcome.Attempts}
	if sc.usesWork() {
		if record.Artifacts, record.Published, err = listArtifacts(w.run.ctx, w.run.ws.Storage(), w.run.layout.Work(l.key)); err != nil {
			return err
		}
	}
	if w.buffer, err = record.append(w.buffer[:0], &w.clock); err != nil {
		return err
	}
	_, recorded, err := w.run.journal.AppendNow(recordOutcome, l.key, w.buffer)
	if err != nil {
		return err
	}
	if err := w.complete(l, record); err != nil {
		return err
	}
	w.run.emit(RunEvent{Kind: StepCompleted, Time: recorded, Step: l.step.id, Visit: l.visit, Attempt: record.Attempts})
	w.project(recorded)
	return nil
}

// complete folds an outcome that is recorded, and puts its outputs in place.
func (w *walk) complete(l *leaf, record *outcomeRecord) error {
	w.completed = append(w.completed, l.step.id)
	w.remember(l.step.id, record.Result)
	w.next(Event{Kind: EventCompleted, Token: l.token, Published: record.Published}, record.Artifacts)
	if w.replaying {
		return nil
	}
	return w.place()
}

// maxRemembered bounds the results of earlier steps that prompts can show.
const maxRemembered = 20

func (w *walk) remember(step string, result json.RawMessage) {
	if len(result) == 0 {
		return
	}
	result = w.run.ctl.redactor.JSON(result)
	var text string
	if json.Unmarshal(result, &text) != nil {
		text = string(result)
	}
	if len(w.results) == maxRemembered {
		w.results = append(w.results[:0], w.results[1:]...)
	}
	w.results = append(w.results, stepResult{step: step, text: oneLine(text, maxLastResult)})
}

// next folds an event and takes the cursor's commands in. The artifacts are those
// of a visit that completed.
func (w *walk) next(ev Event, artifacts []Artifact) {
	w.commands = w.run.program.Next(w.state, ev, w.commands[:0])
	var m move
	for _, c := range w.commands {
		switch c.Kind {
		case CommandRun:
			step := w.run.program.steps[c.Step]
			w.pending = append(w.pending, &leaf{token: c.Token, step: step, visit: c.Visit, key: visitKey(step.id, c.Visit)})
		case CommandArchive:
			id := w.run.program.steps[c.Step].id
			m.step, m.execution, m.archive = c.Step, w.run.layout.Execution(id), w.run.layout.Archived(c.Archive, id)
		case CommandPublish:
			id := w.run.program.steps[c.Step].id
			m.step, m.execution, m.artifacts = c.Step, w.run.layout.Execution(id), artifacts
			m.work, m.displaced = w.run.layout.Work(visitKey(id, c.Visit)), w.run.layout.Displaced(c.Visit, id)
		case CommandFinish:
			w.finished, w.failure = true, c.Failed
		}
	}
	if m.execution != "" {
		w.moves = append(w.moves, m)
	}
}

// recordFailure records that a visit failed, unless the run was only interrupted:
// then the visit goes on when the run is resumed.
func (w *walk) recordFailure(sc *StepContext, l *leaf, cause error) error {
	if statusOf(w.run.ctx, cause) != StatusFailed || w.run.journal.Err() != nil {
		return nil //nolint:nilerr // the caller returns the cause
	}
	record := failureRecord{
		StartedAt: sc.started, Error: w.run.ctl.redactor.Text(cause.Error()),
		Attempts: sc.attempt, Exhausted: errors.Is(cause, ErrValidation),
	}
	data, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := w.run.journal.Append(recordFailure, l.key, data); err != nil {
		return err
	}
	w.fail(l, record.Exhausted)
	w.run.emit(RunEvent{Kind: StepFailed, Step: l.step.id, Visit: l.visit, Attempt: sc.attempt, Error: record.Error})
	return nil
}

// fail folds a failure that is recorded.
func (w *walk) fail(l *leaf, exhausted bool) {
	l.exhausted = exhausted
	w.failed = append(w.failed, l)
	w.next(Event{Kind: EventFailed, Token: l.token}, nil)
}
