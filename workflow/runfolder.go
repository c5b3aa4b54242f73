package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

// maxIteration is the highest number that a run folder can have.
const maxIteration = 999_999_999

var runFolder = regexp.MustCompile(`^iteration-(0|[1-9][0-9]{0,8})$`)

// claim locks the folder of the named run, or of a new one: the highest iteration
// and one.
func (c *Controller) claim(ctx context.Context, ws *workspace.Workspace, name string) (string, workspace.Lock, error) {
	st := ws.Storage()
	if name != "" {
		lock, err := st.TryLock(ctx, workspace.RunLayout(name).Lock(), c.holder)
		if err != nil {
			return "", nil, heldError(name, err)
		}
		return name, lock, nil
	}
	next, err := nextIteration(ctx, st)
	if err != nil {
		return "", nil, err
	}
	for ; ; next++ {
		name := workspace.IterationDir(next)
		lock, err := st.TryLock(ctx, workspace.RunLayout(name).Lock(), c.holder)
		if errors.Is(err, workspace.ErrHeld) {
			continue // somebody else starts a run at this moment
		}
		if err != nil {
			return "", nil, err
		}
		switch _, err := st.Stat(ctx, workspace.RunLayout(name).Journal()); {
		case errors.Is(err, fs.ErrNotExist):
			return name, lock, nil
		case err != nil:
			return "", nil, errors.Join(err, lock.Unlock())
		}
		if err := lock.Unlock(); err != nil {
			return "", nil, err
		}
	}
}

func heldError(run string, err error) error {
	if errors.Is(err, workspace.ErrHeld) {
		return fmt.Errorf("%s: %w: %w", run, ErrRunHeld, err)
	}
	return err
}

// nextIteration is the number after the highest, or the highest itself when a
// process died in it before anything was recorded.
func nextIteration(ctx context.Context, st workspace.Storage) (int, error) {
	entries, err := readDirIfExists(ctx, st, workspace.RunsDir)
	if err != nil {
		return 0, err
	}
	highest := 0
	for _, e := range entries {
		if number, ok := strings.CutPrefix(e.Name(), "iteration-"); ok && runFolder.MatchString(e.Name()) {
			n, err := strconv.Atoi(number)
			if err != nil {
				return 0, fmt.Errorf("run folder %s: %w", e.Name(), err)
			}
			highest = max(highest, n)
		}
	}
	layout := workspace.RunLayout(workspace.IterationDir(highest))
	info, err := st.Stat(ctx, layout.Dir())
	switch {
	case highest == 0:
		return 1, nil
	case highest >= maxIteration:
		return 0, fmt.Errorf("%s is the last iteration that there can be; move it elsewhere", layout.Dir())
	case err != nil:
		return 0, err
	case !info.IsDir():
		return highest + 1, nil
	}
	left, err := readDirIfExists(ctx, st, layout.Dir())
	if err != nil {
		return 0, err
	}
	for _, e := range left {
		if layout.Dir()+"/"+e.Name() != layout.Lock() {
			return highest + 1, nil
		}
	}
	return highest, nil
}

func readDirIfExists(ctx context.Context, st workspace.Storage, name string) ([]fs.DirEntry, error) {
	entries, err := st.ReadDir(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}
