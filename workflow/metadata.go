package workflow

import (
	"errors"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
)

// Metadata is run_metadata.json: a projection that tells the state of a run
// without reading its journal.
type Metadata struct {
	RunID       string     `json:"run_id"`
	RunFolder   string     `json:"run_folder"`
	Group       string     `json:"group,omitempty"`
	Status      Status     `json:"status"`
	StartedAt   time.Time  `json:"started_at"`
	UpdatedAt   time.Time  `json:"updated_at"`
	CompletedAt *time.Time `json:"completed_at,omitempty"` // when the run stopped, in whatever state
	DurationMS  *int64     `json:"duration_ms,omitempty"`
	Revision    string     `json:"plan_revision"`
	Error       string     `json:"error,omitempty"`
	// Steps counts the plan's steps, and those completed.
	Steps          int          `json:"steps"`
	StepsCompleted int          `json:"steps_completed"`
	LastCompleted  string       `json:"last_completed_step,omitempty"`
	NextStep       string       `json:"next_step,omitempty"`
	Totals         costs.Amount `json:"totals"`
}

func (w *walk) writeMetadata(status Status, cause error) {
	now := w.run.ctl.config.Now().UTC()
	m := Metadata{
		RunID: w.run.id, RunFolder: w.run.folder, Group: w.run.group, Status: status,
		StartedAt: w.run.startedAt, UpdatedAt: now, Revision: w.run.program.revision,
		Error: errorText(cause), Steps: len(w.run.program.steps), StepsCompleted: len(w.completed),
		Totals: w.run.spent.Totals(),
	}
	if n := len(w.completed); n > 0 {
		m.LastCompleted = w.completed[n-1]
	}
	switch {
	case len(w.pending) > 0:
		m.NextStep = w.pending[0].step.id
	case len(w.failed) > 0:
		m.NextStep = w.failed[0].step.id
	}
	if status != StatusRunning {
		took := now.Sub(w.run.startedAt).Milliseconds()
		m.CompletedAt, m.DurationMS = &now, &took
	}
	if err := w.run.writeIndentedJSON(w.run.grace, w.run.layout.Metadata(), m); err != nil {
		w.warn("write run metadata", err)
	}
}

func isSuspended(err error) bool {
	var suspend *agent.SuspendError
	return errors.As(err, &suspend)
}

func isLimit(err error) bool { return errors.Is(err, agent.ErrLimit) }
