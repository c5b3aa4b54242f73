package main

import (
	"context"
	"time"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// followEvery is how often the journal of a run is looked at. It is read only
// when it has grown.
const followEvery = 500 * time.Millisecond

// follower shows a run that some process drives, from its files.
type follower struct {
	ws   *workspace.Workspace
	run  string // folder
	show func(*workflow.RunEvent) error

	seen int64 // the Seq of the last event shown
	size int64 // of the journal when it was read
}

// follow shows what has happened and what happens, until nobody drives the run any
// more or the context ends, which is no error.
func (f *follower) follow(ctx context.Context) error {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		grown, err := f.catchUp(ctx)
		if err != nil {
			return err
		}
		if !grown {
			over, err := f.over(ctx)
			if over || err != nil {
				return err
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// catchUp shows what has been recorded since, and reports whether there was more
// to read.
func (f *follower) catchUp(ctx context.Context) (grown bool, err error) {
	info, err := f.ws.Storage().Stat(ctx, workspace.RunLayout(f.run).Journal())
	if err != nil || info.Size() == f.size {
		return false, err
	}
	f.size = info.Size()
	for ev, err := range workflow.RecordedEvents(ctx, f.ws, f.run, f.seen) {
		if err != nil {
			return false, err
		}
		f.seen = ev.Seq
		if err := f.show(&ev); err != nil {
			return false, err
		}
	}
	return true, nil
}

// over reports whether nobody drives the run. What was recorded until then is
// shown first.
func (f *follower) over(ctx context.Context) (bool, error) {
	standing, err := workflow.RunStatus(ctx, f.ws, f.run)
	if err != nil || standing.Status == workflow.StatusRunning {
		return false, err
	}
	if _, err := f.catchUp(ctx); err != nil {
		return false, err
	}
	if standing.Status == workflow.StatusInterrupted {
		ev := workflow.RunEvent{Time: time.Now(), Kind: workflow.RunEnded, RunID: standing.RunID, Status: standing.Status}
		return true, f.show(&ev)
	}
	return true, nil
}
