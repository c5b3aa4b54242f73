package costs

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/tidwall/gjson"
)

// Fields of a daily file, beside those of a share.
const (
	fieldDate       = "date"
	fieldGroup      = "group_folder"
	fieldRunFolders = "run_folders"
	fieldExecutions = "executions"
	// Files of some versions key usage by run at the top instead of by folder.
	fieldEvaluations = "evaluations"
	fieldExecutionID = "execution_id"
)

// unattributed is the execution id of what a run folder held before runs were
// told apart in it.
const unattributed = "unattributed"

// dayFile is one daily file.
type dayFile struct {
	top     object
	folders object // run_folders
}

// parseDayFile reads a file; none at all is an empty one.
func parseDayFile(data []byte) (*dayFile, error) {
	f := &dayFile{top: object{}, folders: object{}}
	if data == nil {
		return f, nil
	}
	if !json.Valid(data) {
		var whatever any
		return nil, json.Unmarshal(data, &whatever) // says what is wrong, and where
	}
	if gjson.ParseBytes(data).Type == gjson.Null {
		return nil, errNotObject
	}
	var err error
	if f.top, err = readObject(data); err != nil {
		return nil, err
	}
	if f.folders, err = readObject(f.top[fieldRunFolders]); err != nil {
		return nil, fmt.Errorf("%s: %w", fieldRunFolders, err)
	}
	return f, nil
}

// encode writes the file with sorted keys, in one line: it is rewritten often, and
// indenting costs as much as all the rest.
func (f *dayFile) encode() []byte {
	f.top[fieldRunFolders] = f.folders.encode()
	return append(f.top.encode(), '\n')
}

// set makes the share of a run what the tally says. A share of fewer calls than
// the file has is older than the file, and changes nothing.
func (f *dayFile) set(run Run, day string, s *share) error {
	folder, executions, err := f.folder(run.Folder)
	if err != nil {
		return err
	}
	execution, err := readObject(executions[run.ID])
	if err != nil {
		return fmt.Errorf("execution %q: %w", run.ID, err)
	}
	before, err := readShare(execution)
	if err != nil {
		return fmt.Errorf("execution %q: %w", run.ID, err)
	}
	if before.byModel.calls() > s.byModel.calls() {
		return nil
	}
	if err := s.write(execution); err != nil {
		return err
	}
	fresh := len(folder) == 0
	executions[run.ID] = execution.encode()
	folder[fieldExecutions] = executions.encode()
	total := s
	if fresh {
		// The usual case: the folder's totals are those of its one run.
		for _, field := range []string{fieldCreated, fieldUpdated, fieldByModel, fieldByStep} {
			if raw, ok := execution[field]; ok {
				folder[field] = raw
			}
		}
	} else {
		if total, err = sumExecutions(executions, run.ID, s); err != nil {
			return err
		}
		if err := total.write(folder); err != nil {
			return err
		}
	}
	f.folders[run.Folder] = folder.encode()
	return f.stamp(run.Group, day, total.updated)
}

// folder returns a run folder's usage and the executions in it. What a folder
// holds without executions becomes one of its own, so that it is not lost when the
// totals are next summed.
func (f *dayFile) folder(name string) (folder, executions object, err error) {
	if folder, err = readObject(f.folders[name]); err != nil {
		return nil, nil, fmt.Errorf("run folder %q: %w", name, err)
	}
	if executions, err = readObject(folder[fieldExecutions]); err != nil {
		return nil, nil, fmt.Errorf("run folder %q: %s: %w", name, fieldExecutions, err)
	}
	if len(executions) > 0 {
		return folder, executions, nil
	}
	rest := object{}
	for _, field := range []string{fieldCreated, fieldUpdated, fieldByModel, fieldByStep} {
		if raw, ok := folder[field]; ok {
			rest[field] = raw
		}
	}
	if len(rest[fieldByModel]) > 0 || len(rest[fieldByStep]) > 0 {
		executions[unattributed] = rest.encode()
	}
	return folder, executions, nil
}

// sumExecutions adds up the runs of a folder; the share of one is known already.
func sumExecutions(executions object, known string, s *share) (*share, error) {
	total := newShare()
	total.merge(s)
	for id, raw := range executions {
		if id == known {
			continue
		}
		o, err := readObject(raw)
		if err != nil {
			return nil, fmt.Errorf("execution %q: %w", id, err)
		}
		s, err := readShare(o)
		if err != nil {
			return nil, fmt.Errorf("execution %q: %w", id, err)
		}
		total.merge(s)
	}
	return total, nil
}

// stamp fills the top of the file. The time of the file is that of the last call
// in it, not that of the writing, so it only moves forward.
func (f *dayFile) stamp(group, day string, updated time.Time) error {
	f.top.setString(fieldDate, day)
	f.top.setString(fieldGroup, group)
	before, err := f.top.time(fieldUpdated)
	if err != nil {
		return err
	}
	if updated.After(before) {
		f.top.setTime(fieldUpdated, updated)
	}
	return nil
}

// usage calls yield for each run's share. What no run is known of has the id that
// the file gives for it, or none.
func (f *dayFile) usage(yield func(runFolder, runID string, s *share)) error {
	for name := range f.folders {
		folder, err := readObject(f.folders[name])
		if err != nil {
			return fmt.Errorf("run folder %q: %w", name, err)
		}
		if err := folderUsage(name, folder, yield); err != nil {
			return fmt.Errorf("run folder %q: %w", name, err)
		}
	}
	for _, field := range []string{fieldExecutions, fieldEvaluations} {
		if err := executionsUsage("", f.top[field], yield); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
	}
	return nil
}

func folderUsage(name string, folder object, yield func(runFolder, runID string, s *share)) error {
	executions, err := readObject(folder[fieldExecutions])
	if err != nil {
		return fmt.Errorf("%s: %w", fieldExecutions, err)
	}
	if len(executions) > 0 {
		return executionsUsage(name, folder[fieldExecutions], yield)
	}
	s, err := readShare(folder)
	if err != nil {
		return err
	}
	var id *string
	if raw := folder[fieldExecutionID]; len(raw) > 0 {
		if err := json.Unmarshal(raw, &id); err != nil {
			return fmt.Errorf("%s: %w", fieldExecutionID, err)
		}
	}
	if id == nil {
		id = new(string)
	}
	yield(name, *id, s)
	return nil
}

func executionsUsage(runFolder string, raw json.RawMessage, yield func(runFolder, runID string, s *share)) error {
	executions, err := readObject(raw)
	if err != nil {
		return err
	}
	for id, raw := range executions {
		o, err := readObject(raw)
		if err != nil {
			return fmt.Errorf("%q: %w", id, err)
		}
		s, err := readShare(o)
		if err != nil {
			return fmt.Errorf("%q: %w", id, err)
		}
		if id == unattributed {
			id = ""
		}
		yield(runFolder, id, s)
	}
	return nil
}
