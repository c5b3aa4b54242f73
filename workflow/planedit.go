package workflow

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/internal/fileedit"
	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// Reasons why a plan is not edited at all.
var (
	// ErrNoReason refuses an edit that does not say who makes it and why.
	ErrNoReason = errors.New("an edit of the plan needs a tool and a reason")
	// ErrPlanConflict refuses an edit of a plan that is not the one its author saw; the
	// error is a [*PlanConflictError].
	ErrPlanConflict = errors.New("the plan is not the one that the edit was made for")
)

// PlanConflictError says which plan an edit was made for and which one is there.
type PlanConflictError struct {
	Expected, Found string // revisions
}

func (e *PlanConflictError) Error() string {
	return fmt.Sprintf("%v: expected revision %s, found %s; read the plan again and repeat the edit", ErrPlanConflict, e.Expected, e.Found)
}

// Is reports whether target is [ErrPlanConflict].
func (e *PlanConflictError) Is(target error) bool { return target == ErrPlanConflict }

// PlanEdit says who edits a plan and why.
type PlanEdit struct {
	// Tool is what makes the edit, such as the name of a builder's tool. Required.
	Tool string
	// Reason is why, in words for people. Required.
	Reason string
	// Revision, when it is not empty, is that of the plan that the edit is made for; see
	// [PlanRevision]. Another plan is an error that matches [ErrPlanConflict].
	Revision string
	// StepTypes are the host's own, as in [CompileOptions].
	StepTypes []*StepType
	// Now is the clock of the changelog. Nil is [time.Now].
	Now func() time.Time
}

// EditedPlan is what an edit has done.
type EditedPlan struct {
	// Entry is what stands in the changelog about it; nil when nothing was changed.
	Entry *ChangelogEntry
	// Revision is that of the plan as it is now.
	Revision string
	// Dependents are what hangs on the changed steps and may need a look.
	Dependents []Dependent
	// Outside is what was found to have changed since the last edit without one: by
	// hand, or by an edit that was interrupted before it could be logged. It stands in
	// the changelog too. Nil is nothing.
	Outside *ChangelogEntry
	// LogError is why the changelog is not complete. The edit was made all the same, and
	// the next one logs it where it can.
	LogError error
}

// EditPlan changes planning/plan.json, and planning/step_config.json with it: a
// configuration goes with its step when that is renamed or removed, and a step whose work
// has changed is no longer reviewed (description_reviewed) and its learnings are no
// longer locked (lock_learnings). What was changed goes to planning/changelog. A plan
// that does not exist is made.
//
// Nothing is written when edit returns an error, when it changes nothing, when one of the
// files is a symbolic link, and when the workflow would have errors that it did not have: those are [workspace.Diagnostics].
// Errors that it has already do not matter. The plan is replaced whole and durably; a
// process that dies on the way, or a storage that fails, leaves the old plan or the new
// one, each with the configurations that belong to it, and the next edit ends what that
// one has begun.
//
// Edits of one workflow come one after the other, also in several processes. One that
// waits longer than [EditWait] gives up with an error that matches [workspace.ErrHeld].
func EditPlan(ctx context.Context, ws *workspace.Workspace, why PlanEdit, edit func(*PlanEditor) error) (edited *EditedPlan, err error) {
	if strings.TrimSpace(why.Tool) == "" || strings.TrimSpace(why.Reason) == "" {
		return nil, ErrNoReason
	}
	if why.Now == nil {
		why.Now = time.Now
	}
	lock, err := lockFile(ctx, ws.Storage(), workspace.PlanningLock)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	t := &planTransaction{ws: ws, why: why, log: &changelog{st: ws.Storage()}}
	if err := t.begin(ctx); err != nil {
		return nil, err
	}
	if err := t.change(edit); err != nil {
		return nil, err
	}
	return t.commit(ctx)
}

// PlanRevision names a plan by what it says, whatever its white space and the order of
// its keys. It is the revision of the program that the plan compiles to. Nil data, a
// plan that does not exist, has the empty revision.
func PlanRevision(plan []byte) string {
	if plan == nil {
		return ""
	}
	sum := sha256.Sum256(jsonedit.Canonical(plan))
	return hex.EncodeToString(sum[:8])
}

// planTransaction is one edit under the lock.
type planTransaction struct {
	ws  *workspace.Workspace
	why PlanEdit
	log *changelog

	before, after *Source
	renamed       []rename
	diff          *planDiff
	config        *configEdit
	outside       *ChangelogEntry
	previous      *ChangelogEntry   // the last one; nil when there is none
	unlogged      []*ChangelogEntry // that the changelog lacks, in their order
}

// begin ends what an interrupted edit has begun and reads the files.
func (t *planTransaction) begin(ctx context.Context) error {
	var err error
	if t.outside, err = t.settle(ctx); err != nil {
		return err
	}
	for _, name := range []string{workspace.PlanFile, workspace.StepConfigFile} {
		if err := fileedit.RefuseLink(ctx, t.ws.Storage(), name); err != nil {
			return err
		}
	}
	if t.before, err = LoadSource(ctx, t.ws, ""); err != nil {
		return err
	}
	found := PlanRevision(t.before.Plan)
	if t.why.Revision != "" && t.why.Revision != found {
		return &PlanConflictError{Expected: t.why.Revision, Found: found}
	}
	return nil
}

// change makes the edit in memory and checks it.
func (t *planTransaction) change(edit func(*PlanEditor) error) error {
	editor := newPlanEditor(t.before.Plan)
	if err := edit(editor); err != nil {
		return err
	}
	after := *t.before
	t.after, t.renamed = &after, editor.renamed
	after.Plan = editor.result()
	t.diff = comparePlans(t.before.Plan, after.Plan, t.renamed)
	if t.diff.empty() {
		after.Plan = t.before.Plan
		t.config = &configEdit{}
		return nil
	}
	var err error
	t.config, err = editConfig(t.before.StepConfig, t.renamed, staleSteps(t.before.Plan, after.Plan, t.renamed))
	if err != nil {
		return err
	}
	after.StepConfig = t.config.final
	return worse(t.before, t.after, t.why.StepTypes, t.renamed).Err()
}

// commit writes what was changed. The texts before and after go first, so that whoever
// finds the edit half made can end it and log it; the plan is the commit point.
func (t *planTransaction) commit(ctx context.Context) (*EditedPlan, error) {
	edited := &EditedPlan{Revision: PlanRevision(t.after.Plan), Outside: t.outside}
	if t.diff.empty() {
		edited.LogError = t.log.problem()
		return edited, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // what is begun is ended
	edited.Entry = t.entry()
	recent := &recentEdit{
		Entry: edited.Entry, Unlogged: t.unlogged, PlanBefore: t.before.Plan, PlanAfter: t.after.Plan,
		ConfigBefore: t.config.before, ConfigStaged: t.config.staged, ConfigAfter: t.config.final,
	}
	noted := t.log.remember(ctx, recent)
	if err := t.replace(ctx, workspace.StepConfigFile, t.config.before, t.config.staged); err != nil {
		return nil, err
	}
	if err := t.replace(ctx, workspace.PlanFile, t.before.Plan, t.after.Plan); err != nil {
		return nil, err
	}
	if err := t.replace(ctx, workspace.StepConfigFile, t.config.staged, t.config.final); err != nil {
		// The next edit ends this one, which it knows by its missing entry.
		t.log.note(fmt.Errorf("the plan was edited, and configurations of its former steps stay: %w", err))
	} else {
		if !noted {
			t.log.remember(ctx, recent) // so that a change by hand can be told from this one
		}
		t.unlogged = append(t.unlogged, edited.Entry)
		t.flush(ctx)
	}
	edited.Dependents = t.dependents(ctx)
	edited.LogError = t.log.problem()
	return edited, nil
}

func (t *planTransaction) replace(ctx context.Context, name string, before, after []byte) error {
	if before != nil && bytes.Equal(before, after) || after == nil {
		return nil
	}
	if err := t.ws.Storage().WriteFile(ctx, name, after, workspace.Durable); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (t *planTransaction) entry() *ChangelogEntry {
	return newEntry(t.previous, t.why.Now(), t.why.Tool, t.why.Reason, t.before.Plan, t.after.Plan, t.diff, t.config.changes)
}
