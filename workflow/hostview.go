package workflow

import (
	"context"
	"errors"
	"io/fs"

	"github.com/treadle-dev/treadle/workspace"
)

// hostView is the storage as the library itself reads what steps have written: a
// symbolic link that a step has planted in a store leads to nothing outside of that
// store. Without it a step could get at what it may not read, such as .mcp.json, by a
// link in db that a later prompt or a failed check would show.
type hostView struct {
	workspace.Storage
	files *workspace.GuardedFiles
}

// hostView is how the library reads inputs and outputs of the visit's step.
func (sc *StepContext) hostView() hostView {
	layout := sc.run.layout
	stores := &workspace.Guard{Read: []string{
		// Steps make no links but in the folders below, each of which holds its own.
		".",
		workspace.RunsDir, layout.Work(sc.leaf.key), layout.Execution(""), layout.Downloads(),
		workspace.DBDir, workspace.KnowledgebaseDir, workspace.LearningsDir, workspace.EvaluationDir,
	}}
	return hostView{sc.run.ws.Storage(), stores.Open(sc.run.ws)}
}

// ReadFile implements [workspace.Storage].
func (v hostView) ReadFile(ctx context.Context, name string) ([]byte, error) {
	data, err := v.files.ReadFile(ctx, name, 0)
	if noName(err) {
		return v.Storage.ReadFile(ctx, name)
	}
	return data, refusedLink(name, err)
}

// ReadDir implements [workspace.Storage].
func (v hostView) ReadDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	entries, err := v.files.ReadDir(ctx, name)
	if noName(err) {
		return v.Storage.ReadDir(ctx, name)
	}
	return entries, refusedLink(name, err)
}

// Stat implements [workspace.Storage].
func (v hostView) Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	info, err := v.files.Stat(ctx, name)
	if noName(err) {
		return v.Storage.Stat(ctx, name)
	}
	return info, refusedLink(name, err)
}

// noName reports whether a name is refused as such: all names are in a store, the
// root if no other. The storage has the words for it.
func noName(err error) bool {
	return errors.Is(err, workspace.ErrGuard) && !errors.Is(err, workspace.ErrGuardLink)
}

func refusedLink(name string, err error) error {
	if errors.Is(err, workspace.ErrGuardLink) {
		return &linkError{name}
	}
	return err
}

// linkError matches [fs.ErrInvalid], which checks take for a fault of the step, not of
// the disk.
type linkError struct{ name string }

func (e *linkError) Error() string {
	return e.name + " is or passes a symbolic link that leads elsewhere; there must be a file of its own"
}

func (e *linkError) Is(target error) bool { return target == fs.ErrInvalid }
