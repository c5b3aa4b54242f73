package stepconfig

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-dev/treadle/internal/fileedit"
	"github.com/treadle-dev/treadle/workspace"
)

// UpdateWait is how long [Update] waits for others that update the same file.
const UpdateWait = 10 * time.Second

// Update changes a stored step_config.json, such as [workspace.StepConfigFile], and
// returns what has changed. A file that does not exist is made when there is something
// to write. The new content replaces the old one whole and is durable.
//
// Nothing is written when edit returns an error, when its result is refused (see
// [NewEditor] and [Editor.Result]), when it changes nothing, and when the file is a
// symbolic link.
//
// Updates of one file come one after the other, also in several processes; those of the
// default file wait for edits of the plan too. One that
// waits longer than [UpdateWait] gives up with an error that matches
// [workspace.ErrHeld].
func Update(ctx context.Context, st workspace.Storage, name string, edit func(*Editor) error) (changes []Change, err error) {
	lock, err := fileedit.Lock(ctx, st, lockOf(name), "which updates the step configuration", UpdateWait)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	data, err := fileedit.Read(ctx, st, name)
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
