package workflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// recentEdit is the last edit of the plan. It is written before the edit is made. The
// texts are bytes because a file may hold what is no text.
type recentEdit struct {
	Entry *ChangelogEntry `json:"entry"`
	// Unlogged are earlier entries that could not be written to the changelog yet.
	Unlogged     []*ChangelogEntry `json:"unlogged,omitempty"`
	PlanBefore   []byte            `json:"plan_before"`
	PlanAfter    []byte            `json:"plan_after"`
	ConfigBefore []byte            `json:"config_before,omitempty"`
	ConfigStaged []byte            `json:"config_staged,omitempty"`
	ConfigAfter  []byte            `json:"config_after,omitempty"`
}

// since is before any changelog file that the entries may be in was begun.
func (r *recentEdit) since() time.Time {
	earliest := r.Entry.Timestamp
	for _, entry := range r.Unlogged {
		if entry.Timestamp.Before(earliest) {
			earliest = entry.Timestamp
		}
	}
	return earliest.Truncate(time.Hour)
}

// remember writes the last edit down, and reports whether it could.
func (l *changelog) remember(ctx context.Context, recent *recentEdit) bool {
	text, err := encodeEntry(recent)
	if err == nil {
		err = l.st.WriteFile(ctx, workspace.RecentEditFile, append(text, '\n'), workspace.Durable)
	}
	if err != nil {
		l.note(fmt.Errorf("note down the edit of the plan: %w", err))
	}
	return err == nil
}

// recent is the last edit, nil when none is known.
func (l *changelog) recent(ctx context.Context) *recentEdit {
	data, err := readIfExists(ctx, l.st, workspace.RecentEditFile)
	if err != nil || data == nil {
		l.note(err)
		return nil
	}
	recent := &recentEdit{}
	if err := json.Unmarshal(data, recent); err != nil || recent.Entry == nil {
		l.note(fmt.Errorf("%s cannot be read, so changes by hand since the last edit are not known", workspace.RecentEditFile))
		return nil
	}
	return recent
}

// settle brings an interrupted edit to its end, and logs what was changed in the plan
// since the last entry of the changelog.
func (t *planTransaction) settle(ctx context.Context) (*ChangelogEntry, error) {
	plan, err := readIfExists(ctx, t.ws.Storage(), workspace.PlanFile)
	if err != nil {
		return nil, err
	}
	recent := t.log.recent(ctx)
	logged, unread := t.log.tail(ctx, recent)
	if recent != nil && (unread != nil || !logged.recent) {
		if err := t.settleConfig(ctx, recent, plan); err != nil {
			return nil, err
		}
	}
	if unread != nil {
		t.log.note(unread) // without the entries nothing can be said of what came after them
		return nil, ctx.Err()
	}
	t.previous = logged.last
	if recent != nil {
		for _, entry := range recent.Unlogged {
			if !logged.ids[entry.ID] {
				t.unlogged = append(t.unlogged, entry)
			}
		}
	}
	entry, base := t.missing(recent, logged, plan)
	if entry == nil {
		t.flush(ctx)
		return nil, nil
	}
	earlier := t.unlogged
	t.unlogged = append(slices.Clip(earlier), entry)
	t.previous = entry
	// An entry is logged once it is known what the next one begins with. Until then the
	// next edit finds it again.
	if recent != nil && entry == recent.Entry ||
		t.log.remember(ctx, &recentEdit{Entry: entry, Unlogged: earlier, PlanBefore: base, PlanAfter: plan}) {
		t.flush(ctx)
	}
	return entry, nil
}

// flush writes the entries that the changelog lacks, in their order. Those that cannot be
// written stay for the next edit.
func (t *planTransaction) flush(ctx context.Context) {
	for len(t.unlogged) > 0 {
		t.previous = t.unlogged[len(t.unlogged)-1]
		if err := t.log.write(ctx, t.unlogged[0]); err != nil {
			t.log.note(fmt.Errorf("log the edit of the plan: %w", err))
			return
		}
		t.unlogged = t.unlogged[1:]
	}
}

// settleConfig gives the step configuration what belongs to the plan that is there.
func (t *planTransaction) settleConfig(ctx context.Context, recent *recentEdit, plan []byte) error {
	if recent.ConfigStaged == nil {
		return nil
	}
	config, err := readIfExists(ctx, t.ws.Storage(), workspace.StepConfigFile)
	if err != nil || !bytes.Equal(config, recent.ConfigStaged) {
		return err
	}
	switch {
	case bytes.Equal(plan, recent.PlanAfter):
		return t.replace(ctx, workspace.StepConfigFile, config, recent.ConfigAfter)
	case bytes.Equal(plan, recent.PlanBefore):
		return t.replace(ctx, workspace.StepConfigFile, config, recent.ConfigBefore)
	}
	return nil
}

// logTail is what an edit needs to know of the changelog.
type logTail struct {
	last     *ChangelogEntry // nil when there is none
	revision string          // of the plan after the last entry that says one
	recent   bool            // the recent edit has its entry
	ids      map[string]bool // of the entries since the earliest that may be lacking
}

func (l *changelog) tail(ctx context.Context, recent *recentEdit) (*logTail, error) {
	names, err := l.files(ctx)
	if err != nil {
		return nil, err
	}
	tail := &logTail{ids: map[string]bool{}}
	for _, name := range slices.Backward(names) {
		file, err := l.read(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, entry := range slices.Backward(file.entries) {
			if tail.last == nil {
				tail.last = &entry
			}
			if tail.revision == "" {
				tail.revision = entry.RevisionAfter
			}
			tail.ids[entry.ID] = true
		}
		if tail.revision != "" && (recent == nil || begunOf(name).Before(recent.since())) {
			break
		}
	}
	tail.recent = recent != nil && tail.ids[recent.Entry.ID]
	return tail, nil
}

// missing is the entry that the changelog lacks about how the plan came to be what it is,
// nil when it lacks none, and the plan that the entry begins with.
func (t *planTransaction) missing(recent *recentEdit, logged *logTail, plan []byte) (*ChangelogEntry, []byte) {
	revision := PlanRevision(plan)
	// Entries that came after the recent edit say that it could not be noted down.
	stale := recent != nil && logged.recent && logged.last.ID != recent.Entry.ID
	if recent == nil || stale && len(t.unlogged) == 0 {
		if logged.revision == "" || logged.revision == revision {
			return nil, nil
		}
		entry := newEntry(t.previous, t.why.Now(), OutsideTool, "the plan is not the one of the last entry; what has changed is not known", nil, plan, &planDiff{}, nil)
		entry.RevisionBefore = logged.revision
		return entry, plan
	}
	if !logged.recent && revision == recent.Entry.RevisionAfter {
		return recent.Entry, recent.PlanBefore // made, and not logged
	}
	if logged.revision == revision && len(t.unlogged) == 0 {
		return nil, nil
	}
	base, reason := recent.PlanAfter, "the plan was changed without an edit"
	if !logged.recent {
		if revision == recent.Entry.RevisionBefore {
			return nil, nil // not made
		}
		base, reason = recent.PlanBefore, fmt.Sprintf("the plan was changed without an edit, and perhaps by an edit that was interrupted (%s: %s)", recent.Entry.Tool, recent.Entry.Reason)
	}
	diff := comparePlans(base, plan, nil)
	if diff.empty() {
		return nil, nil
	}
	return newEntry(t.previous, t.why.Now(), OutsideTool, reason, base, plan, diff, nil), base
}

// unreadable is the error of findings about a changelog.
func unreadable(found workspace.Diagnostics) error {
	lines := make([]string, len(found))
	for i, d := range found {
		lines[i] = d.String()
	}
	return errors.New(strings.Join(lines, "\n"))
}
