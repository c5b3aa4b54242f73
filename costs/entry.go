package costs

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// The scopes that daily files are kept under.
const (
	ScopeExecution  = "execution"
	ScopeEvaluation = "evaluation"
)

// PhaseExecution is the phase of an [Entry] that names none.
const PhaseExecution = "execution"

// UnknownModel stands for the model of an [Entry] that names none.
const UnknownModel = "unknown"

// Entry is one model call.
type Entry struct {
	// Key is the call's journal key, unique in its run. A key is counted once.
	Key string
	// Time is when the call ended. Its UTC day says which daily file counts it.
	Time time.Time
	// Phase says what the call was for, such as "learning"; empty is
	// [PhaseExecution]. It contains no ":".
	Phase string
	// StepID may be empty for a call that belongs to no step.
	StepID string
	// Attempt and Turn count from 1; 0 is none.
	Attempt, Turn int
	// Provider and Model are what [Prices] are looked up by. An empty model is
	// [UnknownModel].
	Provider, Model string
	// Usage is what the provider reported. A negative count is taken as not
	// reported.
	Usage agent.Usage
	// Duration is how long the call took.
	Duration time.Duration
}

// Run says whose entries a [Tally] holds.
type Run struct {
	// ID is the run's immutable id. Required.
	ID string
	// Folder is the run's folder below runs, such as iteration-1/production.
	// Required.
	Folder string
	// Group is the group's name; empty is [workspace.Ungrouped].
	Group string
	// Scope is [ScopeExecution] (the default), [ScopeEvaluation] or a host's own.
	Scope string
}

// normalized returns the run with its defaults filled in, or what is wrong with
// it. Scope and group become folder names, so they must be single path elements.
func (r Run) normalized() (Run, error) {
	if r.Scope == "" {
		r.Scope = ScopeExecution
	}
	if r.Group == "" {
		r.Group = workspace.Ungrouped
	}
	switch {
	case r.ID == "":
		return r, fmt.Errorf("%w: it has no id", ErrInvalidRun)
	case r.ID == unattributed:
		return r, fmt.Errorf("%w: the id %q is taken", ErrInvalidRun, unattributed)
	case !utf8.ValidString(r.ID + r.Folder + r.Group + r.Scope):
		return r, fmt.Errorf("%w: %q in %q is not UTF-8 throughout", ErrInvalidRun, r.ID, r.Folder)
	case r.Folder == "":
		return r, fmt.Errorf("%w: run %s has no folder", ErrInvalidRun, r.ID)
	case !isPathElement(r.Scope):
		return r, fmt.Errorf("%w: scope %q of run %s is no folder name", ErrInvalidRun, r.Scope, r.ID)
	case !isPathElement(r.Group):
		return r, fmt.Errorf("%w: group %q of run %s is no folder name", ErrInvalidRun, r.Group, r.ID)
	}
	return r, nil
}

func isPathElement(s string) bool {
	return s != "" && s != "." && s != ".." && !strings.ContainsAny(s, "/\\\x00")
}
