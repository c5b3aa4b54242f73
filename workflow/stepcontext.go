package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

// StepContext is what one visit of a step works with. It is valid until Execute
// returns, and safe for concurrent use until then.
type StepContext struct {
	run  *Run
	step *compiledStep
	leaf *leaf

	started time.Time // of the visit, also when an earlier process began it
	attempt int       // the present one, for error reports

	mu       sync.Mutex
	scope    *journal.Scope // opened at first use
	workUsed bool
}

func newStepContext(r *Run, l *leaf, started time.Time) *StepContext {
	return &StepContext{run: r, step: l.step.withVariables(r.vars), leaf: l, started: started}
}

// Context ends when the run is canceled.
func (sc *StepContext) Context() context.Context { return sc.run.ctx }

// Step returns the step as the plan has it, of the type that the step type's New
// returned.
func (sc *StepContext) Step() Step { return sc.step.Step }

// Visit counts how often control has come to the step, from 1.
func (sc *StepContext) Visit() int { return sc.leaf.visit }

// Key is the position of this visit in the run, the same after a resume.
func (sc *StepContext) Key() string { return sc.leaf.key }

// RunID is the id of the run.
func (sc *StepContext) RunID() string { return sc.run.id }

// Workspace returns the workflow's files.
func (sc *StepContext) Workspace() *workspace.Workspace { return sc.run.ws }

// Variables returns the run's variables, which must not be changed.
func (sc *StepContext) Variables() Variables { return sc.run.vars }

// Logger returns the host's logger with the run and the step.
func (sc *StepContext) Logger() *slog.Logger {
	return sc.run.ctl.config.Logger.With("run", sc.run.folder, "step", sc.step.id)
}

// WorkDir returns the name of the folder where this visit works, and makes it on
// storages with local paths. What is there when Execute returns without an error
// is published as the step's output. After an interruption the folder still
// holds what was written before.
func (sc *StepContext) WorkDir() (string, error) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	name := sc.run.layout.Work(sc.leaf.key)
	if err := sc.run.ws.MkdirAll(sc.run.ctx, name); err != nil {
		return "", err
	}
	sc.workUsed = true
	return name, nil
}

func (sc *StepContext) usesWork() bool {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	return sc.workUsed
}

// journal returns the records of this visit. The first use notes that the visit
// has started.
func (sc *StepContext) journal() (*journal.Scope, error) {
	sc.mu.Lock()
	defer sc.mu.Unlock()
	if sc.scope == nil {
		if err := sc.noteStart(); err != nil {
			return nil, err
		}
		sc.scope = sc.run.journal.Under(sc.leaf.key)
	}
	return sc.scope, nil
}

// noteStart notes when the visit began, or recalls when it did.
func (sc *StepContext) noteStart() error {
	key := sc.leaf.key + "/started"
	data, ok, err := sc.run.journal.Recorded(key)
	if err != nil {
		return err
	}
	start := began{At: sc.started.UTC()}
	if ok {
		if err := json.Unmarshal(data, &start); err != nil {
			return fmt.Errorf("record %s: %w", key, err)
		}
		sc.started = start.At
		return nil
	}
	if data, err = json.Marshal(start); err != nil {
		return err
	}
	return sc.run.journal.Note(recordStarted, key, data)
}

// execute runs the type's Execute. A panic becomes its error.
func (sc *StepContext) execute() (outcome *Outcome, err error) {
	defer func() {
		if p := recover(); p != nil {
			redact := sc.run.ctl.redactor.Text
			sc.Logger().Error("step panicked", "panic", redact(fmt.Sprint(p)), "stack", redact(string(debug.Stack())))
			outcome, err = nil, &panicError{value: p}
		}
	}()
	outcome, err = sc.step.typ.Execute(sc)
	switch {
	case err != nil:
		return nil, err
	case sc.run.ctx.Err() != nil:
		// The work was done, but perhaps on what a cancelled call gave back.
		return nil, sc.run.ctx.Err()
	case outcome == nil:
		return &Outcome{}, nil
	case len(outcome.Result) > 0 && !json.Valid(outcome.Result):
		return nil, fmt.Errorf("the outcome's Result is not valid JSON")
	}
	return outcome, nil
}

// Do runs a piece of a host's step durably. Under a name, which is unique in the
// step, fn's result is recorded before Do returns; after a resume it is taken
// from the record. In and Out must survive JSON; a recorded result for another
// input is an error.
//
// The effect says what may happen to fn when an interruption lost its result:
// [agent.Unsafe] work is not repeated, and Do returns an error that matches
// [ErrInDoubt]; any other is run again. An error of fn is returned and not
// recorded.
func Do[In, Out any](sc *StepContext, name string, effect agent.Effect, in In, fn func(context.Context, In) (Out, error)) (Out, error) {
	var out Out
	if name == "" {
		return out, errors.New("workflow.Do needs a name")
	}
	scope, err := sc.journal()
	if err != nil {
		return out, err
	}
	input, err := json.Marshal(in)
	if err != nil {
		return out, fmt.Errorf("%s: input: %w", name, err)
	}
	key := "do/" + name
	if effect == agent.Unsafe {
		inDoubt, err := scope.Begin(sc.run.ctx, key, string(input))
		if err != nil {
			return out, fmt.Errorf("%s: %w", name, err)
		}
		if inDoubt {
			return out, fmt.Errorf("%s: %w", name, ErrInDoubt)
		}
	}
	data, err := scope.Do(sc.run.ctx, key, string(input), func(ctx context.Context) ([]byte, error) {
		result, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(result)
	})
	if err != nil {
		return out, fmt.Errorf("%s: %w", name, err)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		return out, fmt.Errorf("%s: result: %w", name, err)
	}
	return out, nil
}
