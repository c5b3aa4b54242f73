package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/learning"
	"github.com/treadle-dev/treadle/workspace"
)

// Diagnose finds what is wrong with any file of a workflow that runs read, without
// looking at the outside: all that [Controller.Compile] finds, the step configurations
// that runs which have not completed keep for themselves, and the metadata of what
// steps have learned. The program is nil when the workflow cannot be run. It writes
// nothing. The error is the storage's or the context's.
func (c *Controller) Diagnose(ctx context.Context, ws *workspace.Workspace) (*Program, workspace.Diagnostics, error) {
	src, faulty, err := loadSource(ctx, ws.Storage(), "")
	if err != nil {
		return nil, nil, err
	}
	opts := &CompileOptions{StepTypes: c.config.StepTypes}
	program, ds := Compile(src, opts)
	for _, f := range faulty {
		program = nil
		ds = append(ds, unreadableFinding(f))
		if f.name == workspace.PlanFile {
			ds = slices.DeleteFunc(ds, func(d workspace.Diagnostic) bool { return d.Code == codePlanMissing })
		}
	}
	own, err := diagnoseRuns(ctx, ws, opts)
	if err != nil {
		return nil, nil, err
	}
	learned, err := diagnoseLearnings(ctx, ws.Storage())
	if err != nil {
		return nil, nil, err
	}
	return program, append(append(ds, own...), learned...), nil
}

// diagnoseRuns checks the step configurations of the runs that may be taken up again.
func diagnoseRuns(ctx context.Context, ws *workspace.Workspace, opts *CompileOptions) (workspace.Diagnostics, error) {
	runs, err := Runs(ctx, ws)
	if err != nil {
		return nil, err
	}
	var ds workspace.Diagnostics
	for i := range runs {
		if runs[i].Status == StatusCompleted {
			continue
		}
		src, faulty, err := loadSource(ctx, ws.Storage(), runs[i].RunFolder)
		if err != nil {
			return nil, err
		}
		for _, f := range faulty {
			if f.name == src.StepConfigFile && f.name != workspace.StepConfigFile {
				ds = append(ds, unreadableFinding(f))
			}
		}
		if src.StepConfigFile == workspace.StepConfigFile {
			continue
		}
		_, found := Compile(src, opts)
		for _, d := range found {
			if d.File == src.StepConfigFile {
				ds = append(ds, d)
			}
		}
	}
	return ds, nil
}

// diagnoseLearnings checks that what is known about the learnings can be read.
func diagnoseLearnings(ctx context.Context, st workspace.Storage) (workspace.Diagnostics, error) {
	folders, err := st.ReadDir(ctx, workspace.LearningsDir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	var ds workspace.Diagnostics
	for _, folder := range folders {
		if !folder.IsDir() {
			continue
		}
		for _, name := range []string{".learning_metadata.json", "script_metadata.json"} {
			name = path.Join(workspace.LearningsDir, folder.Name(), name)
			data, err := readIfExists(ctx, st, name)
			if err != nil && isFileFault(ctx, st, name, err) {
				ds = append(ds, unreadableFinding(faultyFile{name, err}))
				continue
			}
			if err != nil {
				return nil, err
			}
			if data == nil {
				continue
			}
			found := learningFindings(name, data)
			found.Locate(name, data)
			ds = append(ds, found...)
		}
	}
	return ds, nil
}

// unreadableFinding tells the reason without the name, which stands before it.
func unreadableFinding(f faultyFile) workspace.Diagnostic {
	reason := f.err.Error()
	if named, ok := errors.AsType[*fs.PathError](f.err); ok {
		reason = named.Err.Error()
	}
	if strings.HasPrefix(reason, "is ") {
		reason = "it " + reason
	}
	return finding(codeFileUnreadable, f.name, "", "cannot be read: "+reason, "")
}

func learningFindings(name string, data []byte) workspace.Diagnostics {
	if !json.Valid(data) {
		return workspace.Diagnostics{finding(codeLearningMetadata, name, "", "not valid JSON: "+jsonedit.Problem(data), "")}
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(data, &object); err != nil || object == nil {
		return workspace.Diagnostics{finding(codeLearningMetadata, name, "", "must be an object", "")}
	}
	if path.Base(name) != ".learning_metadata.json" {
		return nil
	}
	if _, err := learning.ParseMetadata("", data); err != nil {
		pointer := ""
		if field, ok := errors.AsType[*learning.FieldError](err); ok && field.Key != "" {
			pointer = "/" + workspace.PointerEscape(field.Key)
		}
		return workspace.Diagnostics{finding(codeLearningMetadata, name, pointer, err.Error(), "")}
	}
	return nil
}
