package workflow

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// ChangelogWindow is how many days of a changelog are kept.
type ChangelogWindow int

// The windows that a changelog can be pruned to.
const (
	KeepWeek     ChangelogWindow = 7
	KeepMonth    ChangelogWindow = 30
	KeepQuarter  ChangelogWindow = 90
	KeepHalfYear ChangelogWindow = 180
)

// ErrChangelogWindow refuses a window that is none of those.
var ErrChangelogWindow = errors.New("a changelog is pruned to 7, 30, 90 or 180 days")

// PrunedChangelog is what was pruned.
type PrunedChangelog struct {
	Removed []string // files
	Entries int      // that were in them
	// Kept are findings about files that are old enough and cannot be read. They stay.
	Kept workspace.Diagnostics
}

// PruneChangelog removes the files of planning/changelog whose entries are all older
// than a window, counted back from now. The latest file stays in any case, since the next
// edit compares the plan with it.
func PruneChangelog(ctx context.Context, ws *workspace.Workspace, window ChangelogWindow, now time.Time) (pruned *PrunedChangelog, err error) {
	switch window {
	case KeepWeek, KeepMonth, KeepQuarter, KeepHalfYear:
	default:
		return nil, fmt.Errorf("%w, not to %d", ErrChangelogWindow, int(window))
	}
	lock, err := lockFile(ctx, ws.Storage(), workspace.PlanningLock)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	log := &changelog{st: ws.Storage()}
	names, err := log.files(ctx)
	if err != nil {
		return nil, err
	}
	limit := now.AddDate(0, 0, -int(window))
	pruned = &PrunedChangelog{}
	for _, name := range names[:max(len(names)-1, 0)] {
		if !begunOf(name).Before(limit) {
			break
		}
		file, err := log.read(ctx, name)
		if err != nil {
			return pruned, err
		}
		if len(file.found) > 0 {
			pruned.Kept = append(pruned.Kept, file.found...)
			continue
		}
		if file.after(limit) {
			continue
		}
		if err := ws.Storage().Remove(ctx, name); err != nil {
			return pruned, fmt.Errorf("remove %s: %w", name, err)
		}
		pruned.Removed, pruned.Entries = append(pruned.Removed, name), pruned.Entries+len(file.entries)
	}
	return pruned, nil
}

// after reports whether a file has an entry that is not before a moment.
func (f *changelogFile) after(moment time.Time) bool {
	for i := range f.entries {
		if !f.entries[i].Timestamp.Before(moment) {
			return true
		}
	}
	return false
}
