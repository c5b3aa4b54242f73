package costs

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// Filter narrows what [Read] counts. Empty fields let everything through.
type Filter struct {
	Scope     string // [ScopeExecution] or [ScopeEvaluation]
	Group     string // [workspace.Ungrouped] for runs without one
	RunFolder string
	RunID     string
	FromDay   string // UTC, as 2006-01-02, included
	ToDay     string // UTC, as 2006-01-02, included
}

// Read merges the daily files of the execution and evaluation scopes. A ledger
// that does not exist yet is an empty summary. Where files are damaged, the error
// matches [ErrDamaged] and names each of them, and the summary holds all the others;
// after any other error it is nil. Read takes no lock: each file is read as some
// writer left it.
func Read(ctx context.Context, st workspace.Storage, filter Filter) (*Summary, error) {
	s := &Summary{}
	var damaged []error
	for _, scope := range []string{ScopeExecution, ScopeEvaluation} {
		if filter.Scope != "" && filter.Scope != scope {
			continue
		}
		files, err := dayFiles(ctx, st, scope, filter)
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			err := s.readFile(ctx, st, file, filter)
			switch {
			case errors.Is(err, ErrDamaged):
				damaged = append(damaged, err)
			case err != nil:
				return nil, err
			}
		}
	}
	return s, errors.Join(damaged...)
}

// fileRef is where a daily file lies.
type fileRef struct{ scope, group, day string }

func dayFiles(ctx context.Context, st workspace.Storage, scope string, filter Filter) ([]fileRef, error) {
	groups, err := readDir(ctx, st, workspace.CostsDir+"/"+scope)
	if err != nil {
		return nil, err
	}
	var files []fileRef
	for _, group := range groups {
		if !group.IsDir() || (filter.Group != "" && filter.Group != group.Name()) {
			continue
		}
		entries, err := readDir(ctx, st, workspace.CostsDir+"/"+scope+"/"+group.Name())
		if err != nil {
			return nil, err
		}
		for _, entry := range entries {
			day, isJSON := strings.CutSuffix(entry.Name(), ".json")
			if entry.IsDir() || !isJSON || !isDay(day) || day < filter.FromDay || (filter.ToDay != "" && day > filter.ToDay) {
				continue
			}
			files = append(files, fileRef{scope, group.Name(), day})
		}
	}
	return files, nil
}

func isDay(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}

func readDir(ctx context.Context, st workspace.Storage, name string) ([]fs.DirEntry, error) {
	entries, err := st.ReadDir(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

func (s *Summary) readFile(ctx context.Context, st workspace.Storage, ref fileRef, filter Filter) error {
	name := workspace.DailyCosts(ref.scope, ref.group, ref.day)
	data, err := readFile(ctx, st, name)
	if err != nil || data == nil {
		return err
	}
	day, err := parseDay(data, ref)
	if err != nil {
		return &DamagedError{File: name, Err: err}
	}
	for key, b := range day.cells {
		if (filter.RunFolder == "" || filter.RunFolder == key.RunFolder) && (filter.RunID == "" || filter.RunID == key.RunID) {
			s.add(key, b)
		}
	}
	return nil
}

// parseDay reads a whole file before any of it counts, so that a damaged one
// counts for nothing.
func parseDay(data []byte, ref fileRef) (*Summary, error) {
	f, err := parseDayFile(data)
	if err != nil {
		return nil, err
	}
	day := &Summary{}
	err = f.usage(func(runFolder, runID string, sh *share) {
		key := Key{Scope: ref.scope, Group: ref.group, Day: ref.day, RunFolder: runFolder, RunID: runID}
		steps := sh.byStep
		if len(steps) == 0 {
			steps = map[string]models{"": sh.byModel}
		}
		for step, m := range steps {
			key.Phase, key.Step = splitStepKey(step)
			for id, b := range m {
				key.Provider, key.Model = id.provider, id.model
				day.add(key, b)
			}
		}
	})
	if err != nil {
		return nil, err
	}
	return day, nil
}
