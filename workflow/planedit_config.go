package workflow

import (
	"bytes"
	"errors"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// configEdit is what an edit of the plan does to the step configuration.
type configEdit struct {
	before []byte // nil when there is no file
	// staged is written before the plan, final after it: between the two the file has
	// the entries of both plans, so that whoever reads it then finds what belongs to
	// each step. Either may be equal to what is there.
	staged, final []byte
	changes       []PlanChange
	// unreadable says that the file could not be read, so nothing was done to it.
	unreadable bool
}

// editConfig follows an edit of the plan: configurations go with renamed and removed
// steps, and what was said of a step's former contract is taken back.
func editConfig(before []byte, renamed []rename, stale []string) (*configEdit, error) {
	c := &configEdit{before: before, staged: before, final: before}
	if before == nil {
		return c, nil
	}
	editor, err := stepconfig.NewEditor(workspace.StepConfigFile, before)
	if err != nil {
		if slices.ContainsFunc(renamed, func(r rename) bool { return r.to != "" }) {
			return nil, err
		}
		c.unreadable = true
		return c, nil
	}
	if err := followRenames(editor, before, renamed); err != nil {
		return nil, err
	}
	for _, id := range stale {
		if err := ifStep(editor.Change(id, takeBackReview)); err != nil {
			return nil, err
		}
	}
	text, changes, err := editor.Result()
	if err != nil || len(changes) == 0 {
		return c, err
	}
	c.final = text
	for _, change := range changes {
		c.changes = append(c.changes, PlanChange{
			Step: change.Step, Field: fieldOf(change.Pointer), Old: change.Before, New: change.After, File: workspace.StepConfigFile,
		})
	}
	c.staged, err = withEntriesOf(c.final, before)
	return c, err
}

// ifStep lets an edit of a step without a configuration pass.
func ifStep(err error) error {
	if errors.Is(err, stepconfig.ErrNoStep) {
		return nil
	}
	return err
}

func followRenames(editor *stepconfig.Editor, before []byte, renamed []rename) error {
	for _, r := range renamed {
		if r.to == "" {
			if err := ifStep(editor.Remove(r.from)); err != nil {
				return err
			}
			continue
		}
		// A configuration that was left behind under the new id is of another step.
		if err := ifStep(editor.Remove(r.to)); err != nil {
			return err
		}
		if err := ifStep(editor.Rename(r.from, r.to)); err != nil {
			return err
		}
	}
	file, _ := stepconfig.Parse(workspace.StepConfigFile, before)
	for i := range file.Steps {
		id := follow(renamed, file.Steps[i].ID)
		if err := ifStep(editor.Change(id, func(s *stepconfig.StepConfig) error {
			renamePrerequisites(s.AgentConfigs, renamed)
			return nil
		})); err != nil {
			return err
		}
	}
	return nil
}

func renamePrerequisites(configs *stepconfig.AgentConfigs, renamed []rename) {
	if configs == nil {
		return
	}
	for i := range configs.PrerequisiteRules {
		rule := &configs.PrerequisiteRules[i]
		if now := follow(renamed, rule.DependsOnStep); now != "" {
			rule.DependsOnStep = now
		}
	}
}

// takeBackReview clears what was decided about a step as it was: that its description
// was reviewed, and that its learnings are final.
func takeBackReview(s *stepconfig.StepConfig) error {
	c := s.AgentConfigs
	if c == nil {
		return nil
	}
	if c.DescriptionReviewed != nil && *c.DescriptionReviewed {
		c.DescriptionReviewed = new(false)
	}
	if c.LockLearnings != nil && *c.LockLearnings {
		c.LockLearnings, c.LockLearningsReason = new(false), ""
	}
	return nil
}

// withEntriesOf is a file with the entries of another one that it does not have.
func withEntriesOf(text, other []byte) ([]byte, error) {
	file, _ := stepconfig.Parse(workspace.StepConfigFile, other)
	editor, err := stepconfig.NewEditor(workspace.StepConfigFile, text)
	if err != nil {
		return nil, err
	}
	for i := range file.Steps {
		step := &file.Steps[i]
		if strings.TrimSpace(step.ID) == "" || file.Step(step.ID) != step {
			continue
		}
		if err := editor.Add(step); err != nil && !errors.Is(err, stepconfig.ErrStepExists) {
			return nil, err
		}
	}
	staged, _, err := editor.Result()
	return staged, err
}

// contractKeys are what a step may change without becoming another piece of work: what
// it is called and who comes after it.
var contractKeys = []string{"id", "title", "next_step_id", "shared_with"}

// staleSteps are the steps whose work is no longer what it was, in no order.
func staleSteps(before, after []byte, renamed []rename) []string {
	is := takeApart(after).steps()
	var stale []string
	for id, old := range takeApart(before).steps() {
		now := follow(renamed, id)
		text := is[now]
		if text == nil || now == "" {
			continue
		}
		if bytes.Equal(old, text) {
			continue
		}
		for _, r := range renamed {
			if r.to != "" {
				old = renameRefs(old, r.from, r.to)
			}
		}
		if !jsonedit.Equal(contractOf(old), contractOf(text)) {
			stale = append(stale, now)
		}
	}
	slices.Sort(stale)
	return stale
}

// contractOf is a step without what does not change its work. A step changes with those
// that it holds in its routes.
func contractOf(step []byte) []byte {
	for _, m := range jsonedit.Members(step) {
		if slices.ContainsFunc(contractKeys, foldTo(m.Key)) {
			step = jsonedit.Unset(step, []string{m.Key})
		}
	}
	return step
}
