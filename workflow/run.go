package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

// Run is a run that this process drives. Its methods are safe for concurrent use.
type Run struct {
	ctl     *Controller
	ws      *workspace.Workspace
	program *Program
	folder  string
	layout  workspace.Layout

	// Set while the run is opened, read only afterwards.
	id        string
	group     string // of variables, by name; empty is none
	vars      Variables
	startedAt time.Time // of the run, also when an earlier process started it
	journal   *journal.Journal
	lock      workspace.Lock
	walk      *walk

	ctx    context.Context // of everything the run does
	cancel context.CancelCauseFunc
	// grace is of what must still be written when ctx has ended. It ends storageGrace
	// later, so that a storage that hangs cannot hold a canceled run for ever.
	grace     context.Context
	abandon   context.CancelCauseFunc
	stopGrace func()
	events    *eventLog

	sessions sessions
	steering steering

	encoding sync.Mutex // of encoded, which projections are encoded in
	encoded  bytes.Buffer
	spent    *costs.Tally // of all model calls, of earlier processes too

	done   chan struct{}
	result *Result // with err, set before done is closed
	err    error
}

// Result is how a run ended, or how far it came.
type Result struct {
	RunID  string        `json:"run_id"`
	Folder string        `json:"run_folder"` // below runs
	Group  string        `json:"group,omitempty"`
	Status Status        `json:"status"`
	Steps  []string      `json:"steps"` // completed, in the order of completion
	Totals costs.Amount  `json:"totals"`
	Took   time.Duration `json:"took"` // in this process
}

func newRun(c *Controller, ws *workspace.Workspace, program *Program, folder string) *Run {
	r := &Run{
		ctl: c, ws: ws, program: program, folder: folder,
		layout: workspace.RunLayout(folder),
		events: &eventLog{now: c.config.Now},
		spent:  costs.NewTally(c.config.Prices),
		done:   make(chan struct{}),
	}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.grace, r.abandon = context.WithCancelCause(context.Background())
	return r
}

// storageGrace is how long a canceled run waits for its storage.
const storageGrace = 10 * time.Second

var errStorageHangs = fmt.Errorf("the storage did not answer within %s of the cancellation", storageGrace)

// boundGrace gives the storage up in time when the run is canceled. The func that
// it returns undoes it, and ends the grace.
func (r *Run) boundGrace() (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer
	stopped := false
	unhook := context.AfterFunc(r.ctx, func() {
		mu.Lock()
		defer mu.Unlock()
		if !stopped {
			timer = time.AfterFunc(storageGrace, func() { r.giveUp(errStorageHangs) })
		}
	})
	return func() {
		unhook()
		mu.Lock()
		defer mu.Unlock()
		stopped = true
		if timer != nil {
			timer.Stop()
		}
		r.abandon(nil)
	}
}

// giveUp ends what waits for the storage.
func (r *Run) giveUp(cause error) {
	r.abandon(cause)
	r.journal.Abort(cause)
}

// ID is the run's immutable id.
func (r *Run) ID() string { return r.id }

// Folder is the run's folder below runs, such as "iteration-1" or, of a group,
// "iteration-1/production".
func (r *Run) Folder() string { return r.folder }

// Wait returns when the run has ended, with an error unless it completed, or when
// the context is done, with the context's error; the run then goes on.
func (r *Run) Wait(ctx context.Context) (*Result, error) {
	select {
	case <-r.done: // also when the context has ended
		return r.result, r.err
	default:
	}
	select {
	case <-r.done:
		return r.result, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Cancel asks the run to stop and returns at once. The run's status is final,
// and Wait returns, when everything that the run started has ended. A canceled run
// can be resumed.
func (r *Run) Cancel() { r.cancel(ErrCanceled) }

// Events replays the run's events of this process after a position, from
// [FromStart] or the Seq of an event seen before, and follows until the run ends or
// the context does. Any number of readers may follow; a slow one never slows the
// run, and leaving the loop early is always safe.
func (r *Run) Events(ctx context.Context, after int64) iter.Seq2[RunEvent, error] {
	return r.events.read(ctx, after)
}

var errGoexit = errors.New("the step ended its goroutine (runtime.Goexit) instead of returning")

// drive walks the run to its end and makes the end known. It is called once.
func (r *Run) drive() {
	began := time.Now()
	finished := false
	defer func() {
		if !finished {
			r.finish(began, StatusFailed, &RunError{Run: r.folder, Err: errGoexit})
		}
	}()
	status, err := r.walk.drive()
	r.finish(began, status, err)
	finished = true
}

// finish ends what the run has started, records the end, and tells it.
func (r *Run) finish(began time.Time, status Status, err error) {
	if err := r.sessions.close(); err != nil {
		r.walk.warn("close servers", err)
	}
	status, err = r.walk.end(status, err)
	if errors.Is(err, journal.ErrStale) {
		err = fmt.Errorf("%w: %w", ErrRunHeld, err)
	}
	if closeErr := errors.Join(r.journal.Close(), r.lock.Unlock()); closeErr != nil && err == nil {
		r.walk.warn("let go of the run", closeErr)
	}
	r.stopGrace()
	r.cancel(nil)
	r.result = &Result{
		RunID: r.id, Folder: r.folder, Group: r.group, Status: status, Steps: r.walk.completed,
		Totals: r.spent.Totals(), Took: time.Since(began),
	}
	if err != nil {
		r.err = r.redactError(err)
	}
	r.emit(RunEvent{Kind: RunEnded, Status: status, Error: errorText(r.err)})
	r.events.end()
	close(r.done)
}

func (r *Run) emit(ev RunEvent) {
	ev.RunID = r.id
	r.events.append(ev)
}

// writeJSON writes a projection: a file that could be made again from the
// journal, and so is written without sync.
func (r *Run) writeJSON(ctx context.Context, name string, value any) error {
	return r.writeEncoded(ctx, name, value, "")
}

// writeIndentedJSON is writeJSON for the small files that people open.
func (r *Run) writeIndentedJSON(ctx context.Context, name string, value any) error {
	return r.writeEncoded(ctx, name, value, "  ")
}

func (r *Run) writeEncoded(ctx context.Context, name string, value any, indent string) error {
	r.encoding.Lock()
	defer r.encoding.Unlock()
	r.encoded.Reset()
	enc := json.NewEncoder(&r.encoded)
	enc.SetIndent("", indent)
	if err := enc.Encode(value); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return r.ws.Storage().WriteFile(ctx, name, r.ctl.redactor.JSON(r.encoded.Bytes()), workspace.Lazy)
}

// redactJSON is nil when there is nothing to redact.
func (r *Run) redactJSON() func([]byte) []byte {
	if r.ctl.redactor == nil {
		return nil
	}
	return r.ctl.redactor.JSON
}

// redactError redacts an error's text. What it is can still be told by [errors.Is]
// and [errors.As].
func (r *Run) redactError(err error) error {
	text := err.Error()
	redacted := r.ctl.redactor.Text(text)
	if redacted == text {
		return err
	}
	return &redactedError{text: redacted, err: err, redact: r.ctl.redactor.Text}
}

type redactedError struct {
	text   string
	err    error
	redact func(string) string
}

func (e *redactedError) Error() string { return e.text }

func (e *redactedError) Is(target error) bool { return errors.Is(e.err, target) }

func (e *redactedError) As(target any) bool {
	if !errors.As(e.err, target) {
		return false
	}
	if found, ok := target.(**RunError); ok {
		inner := (*found).Err
		shown := **found
		shown.Err = &redactedError{text: e.redact(inner.Error()), err: inner, redact: e.redact}
		*found = &shown
	}
	return true
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
