package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

// maxIteration is the highest number that a run folder can have.
const maxIteration = 999_999_999

var iterationFolder = regexp.MustCompile(`^iteration-(0|[1-9][0-9]{0,8})$`)

// checkRunFolder refuses what is no run's folder: iteration-N or iteration-N/{group}.
func checkRunFolder(folder string) error {
	iteration, group, grouped := strings.Cut(folder, "/")
	if !iterationFolder.MatchString(iteration) || grouped && !isGroupFolder(group) {
		return fmt.Errorf("%q: %w; runs are called iteration-N, or iteration-N/{group}", folder, ErrRunName)
	}
	return nil
}

// noRun is the error about a run that there is not. It names the runs of groups where
// the folder is that of their iteration.
func noRun(ctx context.Context, st workspace.Storage, folder string) error {
	if groups, err := groupFolders(ctx, st, folder); err == nil && len(groups) > 0 {
		return fmt.Errorf("%s: %w; its groups are %s", folder, ErrRunNotFound, strings.Join(groups, ", "))
	}
	return fmt.Errorf("%s: %w", folder, ErrRunNotFound)
}

// groupFolders are the folders in an iteration that can be runs of groups, such as
// iteration-1/production.
func groupFolders(ctx context.Context, st workspace.Storage, iteration string) ([]string, error) {
	entries, err := readDirIfExists(ctx, st, workspace.RunLayout(iteration).Dir())
	if err != nil {
		return nil, err
	}
	var folders []string
	for _, e := range entries {
		if e.IsDir() && isGroupFolder(e.Name()) {
			folders = append(folders, iteration+"/"+e.Name())
		}
	}
	return folders, nil
}

// claim locks the folder of the named run, or of a new one, which has the highest
// iteration and one. A group has its folder in the iteration.
func (c *Controller) claim(ctx context.Context, ws *workspace.Workspace, name string, group *Group) (string, workspace.Lock, error) {
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
		name, lock, err := c.claimIteration(ctx, st, workspace.IterationDir(next), group)
		if lock != nil || err != nil {
			return name, lock, err
		}
	}
}

// claimIteration locks a new iteration for a run, or returns no lock when somebody else
// has it. Who starts a run holds the iteration's own lock until it is taken, and a run of
// a group then that of its folder.
func (c *Controller) claimIteration(ctx context.Context, st workspace.Storage, name string, group *Group) (string, workspace.Lock, error) {
	lock, err := st.TryLock(ctx, workspace.RunLayout(name).Lock(), c.holder)
	if errors.Is(err, workspace.ErrHeld) {
		return "", nil, nil // somebody else starts a run at this moment
	}
	if err != nil {
		return "", nil, err
	}
	taken, err := isTaken(ctx, st, name)
	switch {
	case err != nil || taken:
		return "", nil, errors.Join(err, lock.Unlock())
	case group == nil:
		return name, lock, nil
	}
	name += "/" + group.Folder()
	own, err := st.TryLock(ctx, workspace.RunLayout(name).Lock(), c.holder)
	switch unlockErr := lock.Unlock(); {
	case err != nil:
		return "", nil, errors.Join(heldError(name, err), unlockErr)
	case unlockErr != nil:
		return "", nil, errors.Join(unlockErr, own.Unlock())
	}
	return name, own, nil
}

// isTaken reports whether an iteration has runs: a journal, or a group that has one or is
// being started.
func isTaken(ctx context.Context, st workspace.Storage, iteration string) (bool, error) {
	there, err := exists(ctx, st, workspace.RunLayout(iteration).Journal())
	if there || err != nil {
		return there, err
	}
	groups, err := groupFolders(ctx, st, iteration)
	if err != nil {
		return false, err
	}
	for _, group := range groups {
		layout := workspace.RunLayout(group)
		if there, err := exists(ctx, st, layout.Journal()); there || err != nil {
			return there, err
		}
		if held, _, err := lockHolder(ctx, st, layout.Lock()); held || err != nil {
			return held, err
		}
	}
	return false, nil
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
		if number, ok := strings.CutPrefix(e.Name(), "iteration-"); ok && iterationFolder.MatchString(e.Name()) {
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
	used, err := isUsed(ctx, st, layout)
	if err != nil || used {
		return highest + 1, err
	}
	return highest, nil
}

// isUsed reports whether an iteration has more than locks: those of processes that died
// before they recorded anything.
func isUsed(ctx context.Context, st workspace.Storage, layout workspace.Layout) (bool, error) {
	entries, err := readDirIfExists(ctx, st, layout.Dir())
	if err != nil {
		return false, err
	}
	for _, e := range entries {
		name := layout.Dir() + "/" + e.Name()
		switch {
		case name == layout.Lock():
			continue
		case !e.IsDir() || !isGroupFolder(e.Name()):
			return true, nil
		}
		inner, err := readDirIfExists(ctx, st, name)
		if err != nil {
			return false, err
		}
		for _, left := range inner {
			if left.Name() != path.Base(layout.Lock()) {
				return true, nil
			}
		}
	}
	return false, nil
}

func readDirIfExists(ctx context.Context, st workspace.Storage, name string) ([]fs.DirEntry, error) {
	entries, err := st.ReadDir(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}
