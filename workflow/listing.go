package workflow

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// StatusInterrupted is how a run stands whose process is gone without having
// recorded an end. It is found out, never recorded: the journal of such a run says
// that it is running, and nobody holds its lock. It can be resumed.
const StatusInterrupted Status = "interrupted"

// RunStanding is how a run stands. It is plain data.
type RunStanding struct {
	// Metadata is what run_metadata.json says, or, where that is missing, damaged
	// or behind, what the journal says. Steps is 0 when only the metadata could
	// have told, and Totals then has no costs: a journal knows no prices.
	Metadata
	// Holder is who drives the run now, as text for people. It is empty when nobody
	// does, and may be for a moment after the start.
	Holder string `json:"holder,omitempty"`
	// Problem says why the run cannot be told in full: a damaged journal, of which
	// what comes before the damage is told, or a lock that cannot be tried.
	Problem string `json:"problem,omitempty"`
}

// Resumable reports whether the run can be taken up again: it has not completed,
// no process drives it, and nothing in it is damaged.
func (s *RunStanding) Resumable() bool {
	return s.Status != StatusCompleted && s.Status != StatusRunning && s.Problem == ""
}

// Runs tells how every run of a workspace stands, the lowest iteration first. A
// workspace without runs gives none. A run that is damaged is listed with its
// Problem. Runs that have ended are told by their metadata alone, so a workspace
// may have many of them.
func Runs(ctx context.Context, ws *workspace.Workspace) ([]RunStanding, error) {
	folders, err := runFolders(ctx, ws.Storage())
	if err != nil {
		return nil, err
	}
	standings := make([]RunStanding, 0, len(folders))
	for _, folder := range folders {
		standing, err := RunStatus(ctx, ws, folder)
		switch {
		case errors.Is(err, ErrRunNotFound):
			continue // its first record was never written, or its groups alone are runs
		case err != nil:
			return nil, err
		}
		standings = append(standings, *standing)
	}
	return standings, nil
}

// RunStatus tells how one run stands, by its folder below runs. The error matches
// [ErrRunName] or [ErrRunNotFound], or is the storage's or the context's.
func RunStatus(ctx context.Context, ws *workspace.Workspace, folder string) (*RunStanding, error) {
	if err := checkRunFolder(folder); err != nil {
		return nil, err
	}
	st, layout := ws.Storage(), workspace.RunLayout(folder)
	journaled, err := st.Stat(ctx, layout.Journal())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, noRun(ctx, st, folder)
	case err != nil:
		return nil, err
	}
	written, err := readMetadata(ctx, st, layout.Metadata())
	if err != nil {
		return nil, err
	}
	if written != nil && written.Status != StatusRunning && !written.modTime.Before(journaled.ModTime()) {
		written.RunFolder = folder
		return &RunStanding{Metadata: written.Metadata}, nil
	}
	standing, account, err := recount(ctx, st, folder, nil)
	if err != nil {
		return nil, err
	}
	if written != nil && written.RunID == standing.RunID {
		standing.complement(&written.Metadata)
	}
	return standing, account.findHolder(ctx, st, layout.Lock())
}

// runFolders are the folders of the runs, sorted by iteration.
func runFolders(ctx context.Context, st workspace.Storage) ([]string, error) {
	entries, err := st.ReadDir(ctx, workspace.RunsDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var folders []string
	for _, e := range entries {
		if !e.IsDir() || !iterationFolder.MatchString(e.Name()) {
			continue
		}
		groups, err := groupFolders(ctx, st, e.Name())
		if err != nil {
			return nil, err
		}
		folders = append(append(folders, e.Name()), groups...)
	}
	slices.SortFunc(folders, CompareRunFolders)
	return folders, nil
}

// CompareRunFolders orders run folders by iteration, so that iteration-10 comes
// after iteration-9, then by group. Other names come last.
func CompareRunFolders(a, b string) int {
	an, aGroup, aOK := iterationOf(a)
	bn, bGroup, bOK := iterationOf(b)
	switch {
	case aOK && bOK:
		return cmp.Or(cmp.Compare(an, bn), cmp.Compare(aGroup, bGroup))
	case aOK:
		return -1
	case bOK:
		return 1
	}
	return cmp.Compare(a, b)
}

func iterationOf(folder string) (n int, group string, ok bool) {
	iteration, group, _ := strings.Cut(folder, "/")
	digits, found := strings.CutPrefix(iteration, "iteration-")
	n, err := strconv.Atoi(digits)
	return n, group, found && err == nil
}

// writtenMetadata is the metadata file of a run.
type writtenMetadata struct {
	Metadata
	modTime time.Time
}

// readMetadata returns nil for a file that is missing or damaged.
func readMetadata(ctx context.Context, st workspace.Storage, name string) (*writtenMetadata, error) {
	info, err := st.Stat(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// The time is taken before the content: a file that is replaced in between
	// then counts as older than it is, which only costs a look into the journal.
	written := &writtenMetadata{modTime: info.ModTime()}
	data, err := readIfExists(ctx, st, name)
	if err != nil {
		return nil, err
	}
	if !written.decode(data) {
		return nil, nil
	}
	return written, nil
}

// decode reports false for what is no metadata of a run.
func (w *writtenMetadata) decode(data []byte) bool {
	err := json.Unmarshal(data, &w.Metadata)
	return err == nil && w.RunID != "" && w.Status != ""
}

// complement adds what only the metadata tells.
func (s *RunStanding) complement(written *Metadata) {
	s.Steps = written.Steps
	if s.NextStep == "" && s.StepsCompleted == written.StepsCompleted {
		s.NextStep = written.NextStep
	}
	if s.Totals.Calls == written.Totals.Calls {
		s.Totals = written.Totals
	}
}

// findHolder finds out whether the run is being driven, where its journal leaves
// that open.
func (a *account) findHolder(ctx context.Context, st workspace.Storage, lock string) error {
	s := &a.standing
	if s.Status == StatusCompleted || (s.Status != StatusRunning && !a.opened) {
		return nil
	}
	held, holder, err := lockHolder(ctx, st, lock)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil: // the files may be readable and no more
		s.Problem = fmt.Sprintf("whether a process drives the run cannot be told: %v", err)
	case held:
		a.goOn()
		s.Holder = holder
	case s.Status == StatusRunning:
		s.Status = StatusInterrupted
	}
	return nil
}

// lockHolder reports whether a lock is held. Only where a holder's text is left is
// the lock tried, and so held for an instant, because only then can it be told
// from one that was given back.
func lockHolder(ctx context.Context, st workspace.Storage, name string) (held bool, holder string, err error) {
	text, err := readIfExists(ctx, st, name)
	if err != nil || len(text) == 0 {
		return false, "", err
	}
	lock, err := st.TryLock(ctx, name, fmt.Sprintf("process %d, looking whether it is held", os.Getpid()))
	if held := (*workspace.HeldError)(nil); errors.As(err, &held) {
		return true, held.Holder, nil
	}
	if err != nil {
		return false, "", err
	}
	return false, "", lock.Unlock()
}
