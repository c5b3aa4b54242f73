package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// write adds an entry to the file of its hour.
func (l *changelog) write(ctx context.Context, entry *ChangelogEntry) error {
	text, err := encodeEntry(entry)
	if err != nil {
		return err
	}
	name, file, err := l.current(ctx, entry.Timestamp)
	if err != nil {
		return err
	}
	return l.st.WriteFile(ctx, name, file.with(text), workspace.Durable)
}

// current is the file that an entry belongs in: the latest one of its hour that can be
// read, or else a new one.
func (l *changelog) current(ctx context.Context, at time.Time) (string, *changelogFile, error) {
	names, err := l.files(ctx)
	if err != nil {
		return "", nil, err
	}
	for _, name := range slices.Backward(names) {
		if !begunOf(name).Truncate(time.Hour).Equal(at.Truncate(time.Hour)) {
			continue
		}
		file, err := l.read(ctx, name)
		if err != nil {
			return "", nil, err
		}
		if file.list.End > 0 {
			return name, file, nil
		}
		l.note(unreadable(file.found))
	}
	name := workspace.ChangelogFile(at)
	for slices.Contains(names, name) { // one that cannot be read, which is kept
		at = at.Add(time.Second)
		name = workspace.ChangelogFile(at)
	}
	return name, nil, nil
}

// begunOf is when a file of the changelog was begun.
func begunOf(name string) time.Time {
	begun, _ := workspace.ChangelogBegun(name[len(workspace.ChangelogDir)+1:]) // files has seen to it
	return begun
}

// with is the text of a file with one more entry; that of a new file where there is none.
func (f *changelogFile) with(entry []byte) []byte {
	const indent = "    "
	entry = append([]byte("\n"+indent), jsonedit.Indent(entry, indent)...)
	if f == nil {
		return slices.Concat([]byte("{\n  \"entries\": ["), entry, []byte("\n  ]\n}\n"))
	}
	list := f.text[f.list.Start:f.list.End]
	at, tail := f.list.Start+1, []byte("\n  ")
	if spans := jsonedit.Elements(list); len(spans) > 0 {
		at = f.list.Start + spans[len(spans)-1].End
		entry, tail = append([]byte(","), entry...), f.text[at:f.list.End-1]
	}
	return slices.Concat(f.text[:at], entry, tail, f.text[f.list.End-1:])
}

func encodeEntry(value any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(value); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}

// ErrEntryNotFound is what [ReviewChangelogEntry] gives for an id that no entry has.
var ErrEntryNotFound = errors.New("the changelog has no such entry")

// ReviewChangelogEntry records that somebody has looked at what hangs on the steps of an
// entry. The rest of the entry's file stays as it was.
func ReviewChangelogEntry(ctx context.Context, ws *workspace.Workspace, id string, review ArtifactReview) (err error) {
	lock, err := lockFile(ctx, ws.Storage(), workspace.PlanningLock)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	log := &changelog{st: ws.Storage()}
	names, err := log.files(ctx)
	if err != nil {
		return err
	}
	text, err := encodeEntry(review)
	if err != nil {
		return err
	}
	for _, name := range slices.Backward(names) {
		file, err := log.read(ctx, name)
		if err != nil {
			return err
		}
		if changed := file.reviewed(id, text); changed != nil {
			return ws.Storage().WriteFile(ctx, name, changed, workspace.Durable)
		}
	}
	return fmt.Errorf("%w: %q", ErrEntryNotFound, id)
}

// reviewed is the text of a file with the review of an entry, nil when it has no such
// entry.
func (f *changelogFile) reviewed(id string, review json.RawMessage) []byte {
	if id == "" || f.list.End == 0 {
		return nil
	}
	list := f.text[f.list.Start:f.list.End]
	for _, span := range jsonedit.Elements(list) {
		entry := list[span.Start:span.End]
		if !jsonedit.IsObject(entry) || stepIDOf(entry) != id {
			continue
		}
		changed, err := jsonedit.Set(compactText(entry), []string{"artifact_review"}, review)
		if err != nil {
			return nil
		}
		return slices.Concat(f.text[:f.list.Start+span.Start], jsonedit.Indent(changed, "    "), f.text[f.list.Start+span.End:])
	}
	return nil
}
