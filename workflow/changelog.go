package workflow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// OutsideTool is the tool of the changelog's entries about what was changed without an
// edit.
const OutsideTool = "outside"

// ChangelogEntry is what the changelog says of one edit of the plan.
type ChangelogEntry struct {
	// ID names the entry.
	ID        string    `json:"id"`
	Timestamp time.Time `json:"timestamp"` // in UTC
	Tool      string    `json:"tool"`
	Reason    string    `json:"reason"`
	// StepIDs are the steps that were changed, added or deleted.
	StepIDs []string     `json:"step_ids"`
	Changes []PlanChange `json:"changes,omitempty"`
	// AddedSteps and DeletedSteps are whole steps.
	AddedSteps   []json.RawMessage `json:"added_steps,omitempty"`
	DeletedSteps []json.RawMessage `json:"deleted_steps,omitempty"`
	// RevisionBefore and RevisionAfter are those of the plan; the first is empty when
	// there was none.
	RevisionBefore string         `json:"revision_before,omitempty"`
	RevisionAfter  string         `json:"revision_after,omitempty"`
	ArtifactReview ArtifactReview `json:"artifact_review"`
}

// ArtifactReview says whether somebody has looked at what hangs on the changed steps.
type ArtifactReview struct {
	Done          bool       `json:"done"`
	ReviewedAt    *time.Time `json:"reviewed_at,omitempty"`
	ReviewedBy    string     `json:"reviewed_by,omitempty"`
	Result        string     `json:"result,omitempty"` // clean, findings or cursor-backfill
	ReportEntryID string     `json:"report_entry_id,omitempty"`
}

// newEntry describes an edit. Its time is not before that of the previous entry, whatever
// the clock says, so that the entries stay in their order. The id is made of what came
// before, so that the same edit at the same moment has another one the next time.
func newEntry(previous *ChangelogEntry, now time.Time, tool, reason string, before, after []byte, diff *planDiff, more []PlanChange) *ChangelogEntry {
	if previous == nil {
		previous = &ChangelogEntry{}
	}
	if now.Before(previous.Timestamp) {
		now = previous.Timestamp
	}
	e := &ChangelogEntry{
		Timestamp: now.UTC(), Tool: tool, Reason: reason, StepIDs: []string{},
		Changes: slices.Concat(diff.changes, more), AddedSteps: diff.added, DeletedSteps: diff.deleted,
		RevisionBefore: PlanRevision(before), RevisionAfter: PlanRevision(after),
	}
	for _, change := range e.Changes {
		e.touch(change.Step)
	}
	for _, step := range slices.Concat(diff.added, diff.deleted) {
		e.touch(stepIDOf(step))
	}
	sum := sha256.Sum256(fmt.Append(nil, previous.ID, "\n", e.Timestamp.Format(time.RFC3339Nano), "\n", e.RevisionBefore, "\n", e.RevisionAfter, "\n", tool, "\n", reason))
	e.ID = hex.EncodeToString(sum[:8])
	return e
}

func (e *ChangelogEntry) touch(id string) {
	if id != "" && !slices.Contains(e.StepIDs, id) {
		e.StepIDs = append(e.StepIDs, id)
	}
}

// ChangelogFilter says which entries of a changelog are wanted. The zero value is all.
type ChangelogFilter struct {
	Step       string    // the id of a step that was changed, added or deleted
	Tool       string    // by its name
	Since      time.Time // at this moment or later; zero is no limit
	Until      time.Time // before this moment; zero is no limit
	Unreviewed bool      // those whose artifacts nobody has looked at
	Limit      int       // at most so many, the latest ones; 0 is no limit
}

func (f *ChangelogFilter) wants(e *ChangelogEntry) bool {
	return (f.Step == "" || slices.Contains(e.StepIDs, f.Step)) &&
		(f.Tool == "" || f.Tool == e.Tool) &&
		(f.Since.IsZero() || !e.Timestamp.Before(f.Since)) &&
		(f.Until.IsZero() || e.Timestamp.Before(f.Until)) &&
		(!f.Unreviewed || !e.ArtifactReview.Done)
}

// ReadChangelog returns the entries of planning/changelog that a filter wants, the latest
// first. A nil filter wants all. Files that cannot be read as a changelog are left as
// they are, and are among the findings. The error is the storage's.
func ReadChangelog(ctx context.Context, ws *workspace.Workspace, filter *ChangelogFilter) ([]ChangelogEntry, workspace.Diagnostics, error) {
	if filter == nil {
		filter = &ChangelogFilter{}
	}
	log := &changelog{st: ws.Storage()}
	names, err := log.files(ctx)
	if err != nil {
		return nil, nil, err
	}
	var entries []ChangelogEntry
	var found workspace.Diagnostics
	for _, name := range names {
		file, err := log.read(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, file.found...)
		for i := range file.entries {
			if filter.wants(&file.entries[i]) {
				entries = append(entries, file.entries[i])
			}
		}
	}
	slices.SortStableFunc(entries, func(a, b ChangelogEntry) int { return a.Timestamp.Compare(b.Timestamp) })
	slices.Reverse(entries)
	if filter.Limit > 0 && len(entries) > filter.Limit {
		entries = entries[:filter.Limit]
	}
	return entries, found, nil
}

// changelog reads and writes the files of a changelog. What goes wrong with it is noted
// and does not stop an edit.
type changelog struct {
	st       workspace.Storage
	problems []error
}

func (l *changelog) note(err error) {
	if err != nil {
		l.problems = append(l.problems, err)
	}
}

func (l *changelog) problem() error { return errors.Join(l.problems...) }

// files are the names of the changelog's files, the earliest first.
func (l *changelog) files(ctx context.Context) ([]string, error) {
	entries, err := l.st.ReadDir(ctx, workspace.ChangelogDir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read %s: %w", workspace.ChangelogDir, err)
	}
	var names []string
	for _, entry := range entries {
		if _, ok := workspace.ChangelogBegun(entry.Name()); ok && !entry.IsDir() {
			names = append(names, workspace.ChangelogDir+"/"+entry.Name())
		}
	}
	return names, nil
}

// changelogFile is one file as it was read.
type changelogFile struct {
	text    []byte
	list    jsonedit.Span // of the entries in the text; zero when it cannot be read
	entries []ChangelogEntry
	found   workspace.Diagnostics
}

// read takes a file apart: an object with a list of entries, or the bare list. An entry
// that cannot be read is reported and passed over.
func (l *changelog) read(ctx context.Context, name string) (*changelogFile, error) {
	data, err := readIfExists(ctx, l.st, name)
	if err != nil {
		return nil, err
	}
	file := &changelogFile{text: data}
	f := &findings{file: name, table: changelogCodes}
	if !json.Valid(data) {
		f.add(codeChangelogSyntax, "", "not valid JSON: "+jsonedit.Problem(data), "")
		file.found = f.found
		return file, nil
	}
	pointer := ""
	if jsonedit.IsList(data) {
		start := bytes.IndexByte(data, '[')
		file.list = jsonedit.Span{Start: start, End: bytes.LastIndexByte(data, ']') + 1}
	}
	for _, m := range jsonedit.Members(data) {
		if m.Key == "entries" && jsonedit.IsList(m.Value) {
			file.list, pointer = m.Span, "/entries"
		}
	}
	if file.list.End == 0 {
		f.add(codeChangelogType, "", "must be an object with a list of entries", "")
	}
	for i, text := range elementsOf(data[file.list.Start:file.list.End]) {
		var entry ChangelogEntry
		if err := json.Unmarshal(text, &entry); err != nil {
			f.add(codeChangelogEntry, fmt.Sprintf("%s/%d", pointer, i), err.Error(), "")
			continue
		}
		file.entries = append(file.entries, entry)
	}
	file.found = f.found
	return file, nil
}

const (
	codeChangelogSyntax = "changelog.json.syntax"
	codeChangelogType   = "changelog.json.type"
	codeChangelogEntry  = "changelog.entry.unreadable"
)

// changelogCodes are notices: a changelog is a record and nothing depends on it.
var changelogCodes = []workspace.Diagnostic{
	{Code: codeChangelogSyntax, Severity: workspace.SeverityNotice, Message: "A changelog file is not JSON. It is kept, and its entries are not read.", Hint: "correct the file, or remove it"},
	{Code: codeChangelogType, Severity: workspace.SeverityNotice, Message: "A changelog file is neither an object with a list of entries nor such a list.", Hint: `write {"entries": [...]}, or remove the file`},
	{Code: codeChangelogEntry, Severity: workspace.SeverityNotice, Message: "An entry of a changelog file has a value of another type than its field. It is kept and passed over.", Hint: "correct the entry, or remove it"},
}
