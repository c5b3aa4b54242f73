package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/treadle-dev/treadle/workspace"
)

// place does the moves that are due. One that an earlier process did is passed
// over: its work folder is gone.
func (w *walk) place() error {
	if len(w.moves) == 0 {
		return nil
	}
	for _, m := range w.moves {
		if err := m.do(w.run.grace, w.run.ws.Storage()); err != nil {
			return fmt.Errorf("publish %s: %w", m.execution, err)
		}
	}
	w.moves = w.moves[:0]
	return nil
}

func (m *move) do(ctx context.Context, st workspace.Storage) error {
	if m.work != "" {
		if there, err := exists(ctx, st, m.work); err != nil || !there {
			return err
		}
	}
	if m.archive != "" {
		err := st.Rename(ctx, m.execution, m.archive)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if m.work == "" {
		return nil
	}
	return st.Rename(ctx, m.work, m.execution)
}

// ArtifactLostError says that the recorded outputs of a step are nowhere to be
// found. The step runs again.
type ArtifactLostError struct {
	Step string
	Path string
}

func (e *ArtifactLostError) Error() string {
	return fmt.Sprintf("the outputs of step %s are recorded and not in %s; the step runs again", e.Step, e.Path)
}

// lost returns the first step, in plan order, whose recorded outputs are not in
// their place after all moves. It is called before place forgets the moves.
func (w *walk) lost(ctx context.Context, moves []move) (*compiledStep, error) {
	last := make(map[int]move, len(moves))
	for _, m := range moves {
		last[m.step] = m
	}
	for i, step := range w.run.program.steps {
		m, ok := last[i]
		if !ok || m.work == "" {
			continue
		}
		there, err := exists(ctx, w.run.ws.Storage(), m.execution)
		if err != nil {
			return nil, err
		}
		if !there {
			return step, nil
		}
	}
	return nil, nil
}

func exists(ctx context.Context, st workspace.Storage, name string) (bool, error) {
	_, err := st.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// listArtifacts describes every file below a folder, sorted by name. A folder that
// does not exist has none.
func listArtifacts(ctx context.Context, st workspace.Storage, folder string) ([]Artifact, error) {
	var list []Artifact
	var walk func(dir, prefix string) error
	walk = func(dir, prefix string) error {
		entries, err := st.ReadDir(ctx, dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := dir + "/" + e.Name()
			if e.IsDir() {
				if err := walk(name, prefix+e.Name()+"/"); err != nil {
					return err
				}
				continue
			}
			data, err := st.ReadFile(ctx, name)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(data)
			list = append(list, Artifact{Name: prefix + e.Name(), Size: int64(len(data)), Hash: hex.EncodeToString(sum[:])})
		}
		return nil
	}
	if err := walk(folder, ""); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list outputs of %s: %w", folder, err)
	}
	return list, nil
}
