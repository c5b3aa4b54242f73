package validation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// MaxDuration is how long the checks of one schema may take together. What is left
// then is one failed check.
const MaxDuration = time.Minute

// Checker is a compiled [Schema]. A nil checker passes everything. It is safe for
// concurrent use.
//
// A file name is looked up in the folder of the step, unless its first part is a
// folder of the workflow (knowledgebase, planning, variables, learnings, memory,
// output, evaluation, runs, logs, db, soul): then it is looked up at the root of
// the workspace. Only db/ is tried in the folder of the step as well, after the
// root. In the folder of the step a symbolic link is no file: what a step produces
// is moved away from where the link points to.
type Checker struct {
	files    []*fileCheck
	db       []*dbCheck
	warnings []string
	refused  error
}

// NeedsDatabase reports whether the schema has checks of the database, so that a
// host can refuse to start what it could not check.
func (c *Checker) NeedsDatabase() bool { return c != nil && len(c.db) > 0 }

// Check looks at the files and the database, and reports. The step's folder is a
// name in the storage, such as a visit's work folder. The database may be nil for a
// schema that does not need it; for one that does, the error is [ErrNoDatabase].
//
// A check that fails is in the report; the error is for a storage or a database that
// does not work, for a context that is done, and for a schema that did not compile.
func (c *Checker) Check(ctx context.Context, st workspace.Storage, stepDir string, db Database) (*Report, error) {
	report := newReport()
	switch {
	case c == nil:
		return report.close(), nil
	case c.refused != nil:
		return nil, fmt.Errorf("validation schema is invalid: %w", c.refused)
	case c.NeedsDatabase() && db == nil:
		return nil, ErrNoDatabase
	}
	report.Summary.SchemaWarnings = append(report.Summary.SchemaWarnings, c.warnings...)
	limited, cancel := context.WithTimeout(ctx, MaxDuration)
	defer cancel()
	err := c.run(limited, &visit{st: st, dir: stepDir, db: db, documents: map[string]*reading{}}, report)
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("validation: %w", ctx.Err())
	case err != nil && limited.Err() != nil:
		report.unfinished = fmt.Sprintf("the checks took longer than %v and were stopped; the rest is not checked", MaxDuration)
	case err != nil:
		return nil, err
	}
	return report.close(), nil
}

// visit is what one run of the checks looks at.
type visit struct {
	st  workspace.Storage
	dir string
	db  Database
	// documents are the JSON files that were read: a file that several entries name
	// is read once, and all see the same content.
	documents map[string]*reading
}

func (c *Checker) run(ctx context.Context, v *visit, report *Report) error {
	sightings := make([]sighting, len(c.files))
	for i, f := range c.files {
		result, found, err := f.run(ctx, v)
		report.FilesChecked = append(report.FilesChecked, result)
		if err != nil {
			return fmt.Errorf("validation of %s: %w", f.label, err)
		}
		sightings[i] = found
	}
	for _, d := range c.db {
		result, err := d.run(ctx, v.db)
		report.DBChecked = append(report.DBChecked, result)
		if err != nil {
			return fmt.Errorf("validation of database check %q: %w", d.label, err)
		}
	}
	for i := range report.FilesChecked {
		if err := v.lookAgain(ctx, sightings[i], &report.FilesChecked[i]); err != nil {
			return fmt.Errorf("validation of %s: %w", c.files[i].label, err)
		}
	}
	return nil
}

// lookAgain fails a file of the step that is no longer what was checked. Files at
// the root of the workspace belong to others too, who may well write to them.
func (v *visit) lookAgain(ctx context.Context, before sighting, result *FileResult) error {
	if before.info == nil || !before.own {
		return nil
	}
	after, err := look(ctx, v.st, result.ResolvedPath)
	if err != nil {
		return err
	}
	if after.info != nil && after.info.Size() == before.info.Size() && after.info.ModTime().Equal(before.info.ModTime()) {
		return nil
	}
	actual := "gone"
	if after.info != nil {
		actual = fmt.Sprintf("%d bytes before, %d bytes after", before.info.Size(), after.info.Size())
	}
	result.add(CheckResult{
		CheckType: CheckFile, Expected: "a finished file", Actual: actual,
		ErrorMsg: "the file changed while it was checked: end what still writes to it",
	})
	return nil
}

// reading is what came of reading a file as JSON: the document, or the check that
// failed on the way to it.
type reading struct {
	document any
	failed   *CheckResult
}

// read gives the document of a file.
func (v *visit) read(ctx context.Context, name string, size int64) (*reading, error) {
	if known := v.documents[name]; known != nil {
		return known, nil
	}
	document, failed, err := readJSON(ctx, v.st, name, size)
	if err != nil {
		return nil, err
	}
	v.documents[name] = &reading{document, failed}
	return v.documents[name], nil
}

// readJSON gives the document, or the check that failed on the way to it.
func readJSON(ctx context.Context, st workspace.Storage, name string, size int64) (any, *CheckResult, error) {
	tooLarge := func(size int64) *CheckResult {
		return &CheckResult{
			CheckType: CheckFileSize, Expected: fmt.Sprintf("at most %d bytes", MaxJSONBytes), Actual: fmt.Sprintf("%d bytes", size),
			ErrorMsg: fmt.Sprintf("the file has %d bytes, which is too large for JSON checks (at most %d): split it, or write a smaller summary file",
				size, MaxJSONBytes),
		}
	}
	if size > MaxJSONBytes {
		return nil, tooLarge(size), nil
	}
	data, err := st.ReadFile(ctx, name)
	switch {
	case err != nil && stepCanCause(ctx, st, name, err):
		return nil, &CheckResult{
			CheckType: CheckFileRead, Expected: "a file that can be read", Actual: "not readable",
			ErrorMsg: fmt.Sprintf("the file cannot be read: %v", err),
		}, nil
	case err != nil:
		return nil, nil, err
	case len(data) > MaxJSONBytes:
		return nil, tooLarge(int64(len(data))), nil
	}
	document, err := parseFile(name, data)
	if err != nil {
		return nil, &CheckResult{
			CheckType: CheckJSONParse, Expected: "one JSON value", Actual: "not JSON",
			ErrorMsg: fmt.Sprintf("the file is not valid JSON: %v", err),
		}, nil
	}
	return document, nil, nil
}

// stepCanCause tells a file that a step has made unreadable, or has replaced by a
// folder since the first look, from a storage that does not work.
func stepCanCause(ctx context.Context, st workspace.Storage, name string, err error) bool {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
		return true
	}
	now, lookErr := look(ctx, st, name)
	return lookErr == nil && (now.info == nil || !now.info.Mode().IsRegular())
}
