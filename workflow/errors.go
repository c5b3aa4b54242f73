package workflow

import (
	"errors"
	"fmt"
	"strings"
)

// Kinds of errors that a run ends with or is refused for.
var (
	// ErrRunNotFound says that the workspace has no such run.
	ErrRunNotFound = errors.New("no such run")
	// ErrRunFinished refuses to take up a run that has completed.
	ErrRunFinished = errors.New("the run has completed")
	// ErrRunHeld says that another process drives the run: when it is refused, a
	// [workspace.HeldError] in the chain says which; or when this process was paused
	// so long that another one took the run over.
	ErrRunHeld = errors.New("the run is held by another process")
	// ErrRunName refuses a run folder that is neither iteration-N nor iteration-N/{group}.
	ErrRunName = errors.New("not the name of a run")
	// ErrPlanChanged refuses to resume a run with another plan than it started with.
	ErrPlanChanged = errors.New("the plan has changed since the run started; restore it, or start a new run")
	// ErrValidation says that no attempt of a step passed its validation.
	ErrValidation = errors.New("the step's outputs did not pass validation")
	// ErrCanceled says that the run was canceled.
	ErrCanceled = errors.New("the run was canceled")
	// ErrInDoubt is what [Do] returns for unsafe work that an interruption left
	// without a result.
	ErrInDoubt = errors.New("the outcome of interrupted work is in doubt")
)

// RunError is how a run or a step went wrong, and where.
type RunError struct {
	Run     string // folder, such as iteration-1
	Step    string // id; empty when it was no step
	Attempt int    // from 1; 0 when it was no attempt
	Err     error
}

func (e *RunError) Error() string {
	var b strings.Builder
	b.WriteString("run " + e.Run)
	if e.Step != "" {
		b.WriteString(": step " + e.Step)
	}
	if e.Attempt > 0 {
		fmt.Fprintf(&b, ": attempt %d", e.Attempt)
	}
	b.WriteString(": " + e.Err.Error())
	return b.String()
}

func (e *RunError) Unwrap() error { return e.Err }

// panicError is a panic of a host's step, kept as the step's error.
type panicError struct{ value any }

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }
