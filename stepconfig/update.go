package stepconfig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// UpdateWait is how long [Update] waits for others that update the same file.
const UpdateWait = 10 * time.Second

// Update changes a stored step_config.json, such as [workspace.StepConfigFile], and
// returns what has changed. A file that does not exist is made when there is something
// to write. The new content replaces the old one whole and is durable.
//
// Nothing is written when edit returns an error, when its result is refused (see
// [NewEditor] and [Editor.Result]), and when it changes nothing.
//
// Updates of one file come one after the other, also in several processes; those of the
// default file wait for edits of the plan too. One that
// waits longer than [UpdateWait] gives up with an error that matches
// [workspace.ErrHeld].
func Update(ctx context.Context, st workspace.Storage, name string, edit func(*Editor) error) (changes []Change, err error) {
	lock, err := lockFile(ctx, st, lockOf(name))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	data, err := readIfExists(ctx, st, name)
	if err != nil {
		return nil, err
	}
	editor, err := NewEditor(name, data)
	if err != nil {
		return nil, err
	}
	if err := edit(editor); err != nil {
		return nil, err
	}
	text, changes, err := editor.Result()
	if err != nil || len(changes) == 0 {
		return nil, err
	}
	if err := st.WriteFile(ctx, name, text, workspace.Durable); err != nil {
		return nil, fmt.Errorf("write %s: %w", name, err)
	}
	return changes, nil
}

// lockOf is the lock of those who change a file. The default file changes with the plan,
// whose editors hold the same lock.
func lockOf(name string) string {
	if name == workspace.StepConfigFile {
		return workspace.PlanningLock
	}
	return name + ".lock"
}

// The storage's lock can only be tried, so waiting means trying again, less and less
// often.
const (
	firstRetry = 2 * time.Millisecond
	lastRetry  = 100 * time.Millisecond
)

func lockFile(ctx context.Context, st workspace.Storage, name string) (workspace.Lock, error) {
	holder := fmt.Sprintf("process %d, which updates the step configuration", os.Getpid())
	deadline := time.Now().Add(UpdateWait)
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		lock, err := st.TryLock(ctx, name, holder)
		if err == nil || !errors.Is(err, workspace.ErrHeld) || time.Now().After(deadline) {
			return lock, err
		}
		retry := time.NewTimer(pause)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return nil, ctx.Err()
		}
	}
}
