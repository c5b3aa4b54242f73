package validation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/treadle-dev/treadle/workspace"
)

// Checker is a compiled [Schema]. A nil checker passes everything. It is safe for
// concurrent use.
//
// A file name is looked up in the folder of the step, unless its first part is a
// folder of the workflow (knowledgebase, planning, variables, learnings, memory,
// output, evaluation, runs, logs, db, soul): then it is looked up at the root of
// the workspace. Only db/ is tried in the folder of the step as well, after the
// root.
type Checker struct {
	files    []*fileCheck
	warnings []string
	refused  error
}

type fileCheck struct {
	label    string // as the author wrote it
	name     string // cleaned
	required bool
	checks   []*jsonCheck
}

// Check looks at the files and reports. The step's folder is a name in the
// storage, such as a visit's work folder. A check that fails is in the report;
// the error is for a storage that does not work, for a context that is done, and
// for a schema that did not compile.
func (c *Checker) Check(ctx context.Context, st workspace.Storage, stepDir string) (*Report, error) {
	report := newReport()
	if c == nil {
		return report.close(), nil
	}
	if c.refused != nil {
		return nil, fmt.Errorf("validation schema is invalid: %w", c.refused)
	}
	report.Summary.SchemaWarnings = append(report.Summary.SchemaWarnings, c.warnings...)
	for _, f := range c.files {
		result, err := f.run(ctx, st, stepDir)
		if err != nil {
			return nil, fmt.Errorf("validation of %s: %w", f.label, err)
		}
		report.FilesChecked = append(report.FilesChecked, result)
	}
	return report.close(), nil
}

func (f *fileCheck) run(ctx context.Context, st workspace.Storage, stepDir string) (FileResult, error) {
	result := FileResult{FileName: f.label}
	places := f.places(stepDir)
	result.ResolvedPath = places.primary
	found, err := look(ctx, st, places.primary)
	if err != nil {
		return result, err
	}
	if found.missing() && places.alternate != "" {
		other, err := look(ctx, st, places.alternate)
		if err != nil {
			return result, err
		}
		switch {
		case other.missing():
		case places.tryAlternate:
			result.ResolvedPath, found = places.alternate, other
		default:
			result.AlternatePath, result.AlternateExists = places.alternate, true
		}
	}
	result.Exists = !found.missing()
	return result, f.inspect(ctx, st, found, &result)
}

// inspect fills the result with the checks of a file that has been looked up.
func (f *fileCheck) inspect(ctx context.Context, st workspace.Storage, found sighting, result *FileResult) error {
	fail := func(check CheckType, expected, actual, message string) error {
		result.add(CheckResult{CheckType: check, Expected: expected, Actual: actual, ErrorMsg: message})
		return nil
	}
	switch {
	case found.refused != nil:
		return fail(CheckPath, "a file that can be reached", "not reachable",
			fmt.Sprintf("%s cannot be reached: %v", f.label, found.refused))
	case found.missing() && !f.required:
		result.add(CheckResult{CheckType: CheckMustExist, Passed: true, Expected: "present or absent", Actual: "absent"})
		return nil
	case found.missing():
		return fail(CheckMustExist, "present", "absent", missingFile(result))
	case !found.info.Mode().IsRegular():
		return fail(CheckFile, "a file", "not a file", fmt.Sprintf("%s is a folder or a special file, not a file", f.label))
	}
	result.add(CheckResult{CheckType: CheckMustExist, Passed: true, Expected: "present", Actual: "present"})
	if len(f.checks) == 0 {
		return nil
	}
	document, failed, err := readJSON(ctx, st, result.ResolvedPath, found.info.Size())
	if err != nil {
		return err
	}
	if failed != nil {
		result.add(*failed)
		return nil
	}
	result.IsJSON = true
	for _, check := range f.checks {
		if err := ctx.Err(); err != nil {
			return err
		}
		result.add(check.run(document)...)
	}
	return nil
}

func missingFile(result *FileResult) string {
	message := fmt.Sprintf("the file is missing; it was expected at %s", result.ResolvedPath)
	if result.AlternateExists {
		message += fmt.Sprintf(", but there is one at %s: write it to the expected place", result.AlternatePath)
	}
	return message
}

// readJSON gives the document, or the check that failed on the way to it.
func readJSON(ctx context.Context, st workspace.Storage, name string, size int64) (any, *CheckResult, error) {
	tooLarge := func(size int64) *CheckResult {
		return &CheckResult{
			CheckType: CheckFileSize, Expected: fmt.Sprintf("at most %d bytes", MaxJSONBytes), Actual: fmt.Sprintf("%d bytes", size),
			ErrorMsg: "the file is too large for JSON checks; split it, or write a smaller summary file",
		}
	}
	if size > MaxJSONBytes {
		return nil, tooLarge(size), nil
	}
	data, err := st.ReadFile(ctx, name)
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrNotExist):
		return nil, &CheckResult{
			CheckType: CheckFileRead, Expected: "a file that can be read", Actual: "not readable",
			ErrorMsg: fmt.Sprintf("the file cannot be read: %v", err),
		}, nil
	case err != nil:
		return nil, nil, err
	case len(data) > MaxJSONBytes:
		return nil, tooLarge(int64(len(data))), nil
	}
	document, err := parseDocument(data)
	if err != nil {
		return nil, &CheckResult{
			CheckType: CheckJSONParse, Expected: "one JSON value", Actual: "not JSON",
			ErrorMsg: fmt.Sprintf("the file is not valid JSON: %v", err),
		}, nil
	}
	return document, nil, nil
}

// places are the names in the storage where a file may lie.
type places struct {
	primary, alternate string
	// tryAlternate accepts a file at the alternate place; otherwise a copy there
	// is only worth a remark.
	tryAlternate bool
}

func (f *fileCheck) places(stepDir string) places {
	inStep := path.Join(stepDir, f.name)
	first, _, nested := strings.Cut(f.name, "/")
	switch {
	case inStep == f.name:
		return places{primary: f.name}
	case nested && slices.Contains(rootFolders(), first):
		return places{primary: f.name, alternate: inStep, tryAlternate: first == workspace.DBDir}
	default:
		return places{primary: inStep, alternate: f.name}
	}
}

// rootFolders are the folders whose files a schema names from the root.
func rootFolders() []string {
	return []string{
		workspace.KnowledgebaseDir, "planning", "variables", workspace.LearningsDir, "memory", "output",
		workspace.EvaluationDir, workspace.RunsDir, "logs", workspace.DBDir, "soul",
	}
}

// sighting is what a look at a name has found: a file, nothing, or a name that
// the storage refuses, such as a symbolic link out of the workspace.
type sighting struct {
	info    fs.FileInfo
	refused error
}

func (s sighting) missing() bool { return s.info == nil && s.refused == nil }

// look tells the states of a file that a step can cause from a storage that does
// not work.
func look(ctx context.Context, st workspace.Storage, name string) (sighting, error) {
	info, err := st.Stat(ctx, name)
	switch {
	case err == nil:
		return sighting{info: info}, nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		return sighting{}, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrInvalid):
		return sighting{refused: err}, nil
	default:
		return sighting{}, err
	}
}
