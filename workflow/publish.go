package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/treadle-dev/treadle/workspace"
)

// place does the moves that are due. One that an earlier process did is passed
// over: its work folder is gone.
func (w *walk) place() error {
	for i := range w.moves {
		m := &w.moves[i]
		if m.work == "" && w.movedLater(i) {
			continue // what lies there now is of a later visit
		}
		displaced, err := m.do(w.run.grace, w.run.ws.Storage())
		if err != nil {
			return fmt.Errorf("publish %s: %w", m.execution, err)
		}
		if displaced {
			w.warn("moved to "+m.displaced, fmt.Errorf("%s was in the way of the step's outputs", m.execution))
		}
	}
	w.moves = w.moves[:0]
	return nil
}

func (w *walk) movedLater(i int) bool {
	for j := i + 1; j < len(w.moves); j++ {
		if w.moves[j].step == w.moves[i].step {
			return true
		}
	}
	return false
}

func (m *move) do(ctx context.Context, st workspace.Storage) (displaced bool, err error) {
	if m.work != "" {
		if there, err := exists(ctx, st, m.work); err != nil || !there {
			return false, err
		}
	}
	if m.archive != "" {
		err := st.Rename(ctx, m.execution, m.archive)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
	}
	if m.work == "" {
		return false, nil
	}
	err = st.Rename(ctx, m.work, m.execution)
	if !errors.Is(err, fs.ErrExist) {
		return false, err
	}
	if err := st.Rename(ctx, m.execution, m.displaced); err != nil {
		return false, err
	}
	return true, st.Rename(ctx, m.work, m.execution)
}

// ArtifactLostError says that the recorded outputs of a step are nowhere to be
// found, or are not what was recorded. The step runs again.
type ArtifactLostError struct {
	Step string
	Path string
}

func (e *ArtifactLostError) Error() string {
	return fmt.Sprintf("recorded output %s of step %s is gone or has another size; the step runs again", e.Path, e.Step)
}

// lost returns the first step, in plan order, whose recorded outputs are not in
// their place after all moves.
func (w *walk) lost(ctx context.Context, moves []move) (*ArtifactLostError, error) {
	last := make(map[int]*move, len(moves))
	for i := range moves {
		last[moves[i].step] = &moves[i]
	}
	for i, step := range w.run.program.steps {
		m := last[i]
		if m == nil {
			continue
		}
		for _, a := range m.artifacts {
			name := m.execution + "/" + a.Name
			there, err := w.intact(ctx, name, a)
			if err != nil {
				return nil, err
			}
			if !there {
				return &ArtifactLostError{Step: step.id, Path: name}, nil
			}
		}
	}
	return nil, nil
}

// intact reports whether an artifact is there, with its size; the content of all
// outputs is not read again.
func (w *walk) intact(ctx context.Context, name string, a Artifact) (bool, error) {
	if a.Kind != "" {
		return true, nil
	}
	info, err := w.run.ws.Storage().Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.Size() == a.Size, err
}

func exists(ctx context.Context, st workspace.Storage, name string) (bool, error) {
	_, err := st.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
