package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// DependentKind is a kind of thing that hangs on a step.
type DependentKind string

// The kinds of artifacts that an edit names.
const (
	DependentValidation DependentKind = "validation"
	DependentLearnings  DependentKind = "learnings"
	DependentScript     DependentKind = "script"
	DependentDB         DependentKind = "db"
	DependentKnowledge  DependentKind = "knowledgebase"
	DependentDownstream DependentKind = "downstream"
	DependentReport     DependentKind = "report"
	DependentEvaluation DependentKind = "evaluation"
)

// Dependent is something that may no longer fit a step after an edit.
type Dependent struct {
	Kind DependentKind `json:"kind"`
	// Step is the step that was edited; empty when it is about all of them.
	Step string `json:"step_id,omitempty"`
	// Path is the file or folder, and Pointer the place in it, where there is one.
	Path    string `json:"path"`
	Pointer string `json:"pointer,omitempty"`
	// Why says what the two have to do with each other.
	Why string `json:"why"`
}

// checklist collects the artifacts of one edit.
type checklist struct {
	st       workspace.Storage
	problems func(error)
	before   *planText
	after    *planText
	config   *stepconfig.File
	found    []Dependent
}

// dependents are what hangs on the steps of an edit, from the plan and the files that
// exist. What cannot be read is left out and noted.
func (t *planTransaction) dependents(ctx context.Context) []Dependent {
	c := &checklist{
		st: t.ws.Storage(), problems: t.log.note,
		before: takeApart(t.before.Plan), after: takeApart(t.after.Plan), config: &stepconfig.File{},
	}
	if t.after.StepConfig != nil {
		if file, _ := stepconfig.Parse(workspace.StepConfigFile, t.after.StepConfig); file != nil {
			c.config = file
		}
	}
	ids := t.worked()
	for _, id := range ids {
		c.step(ctx, id, t.formerID(id))
	}
	if len(ids) > 0 {
		c.shared(ctx, ids)
	}
	if t.config.unreadable {
		c.add(DependentLearnings, "", workspace.StepConfigFile, "", "it cannot be read, so the review and the locks of the edited steps still stand")
	}
	return c.found
}

// worked are the steps of the plan that the edit has to do with.
func (t *planTransaction) worked() []string {
	var ids []string
	note := func(id string) {
		if id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, change := range t.diff.changes {
		note(change.Step)
	}
	for _, step := range slices.Concat(t.diff.added, t.diff.deleted) {
		note(stepIDOf(step))
	}
	return ids
}

// formerID is the id that a step had before the edit.
func (t *planTransaction) formerID(id string) string {
	for _, r := range slices.Backward(t.renamed) {
		if r.to == id {
			id = r.from
		}
	}
	return id
}

func (c *checklist) add(kind DependentKind, step, path, pointer, why string) {
	c.found = append(c.found, Dependent{Kind: kind, Step: step, Path: path, Pointer: pointer, Why: why})
}

func (c *checklist) exists(ctx context.Context, name string) bool {
	_, err := c.st.Stat(ctx, name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.problems(fmt.Errorf("look for %s: %w", name, err))
	}
	return err == nil
}

// step is what hangs on one step, which may be gone.
func (c *checklist) step(ctx context.Context, id, former string) {
	text := c.after.byID[id]
	if schema := jsonedit.Get(text, "validation_schema"); jsonedit.IsObject(schema) {
		c.add(DependentValidation, id, workspace.PlanFile, c.pointer(id)+"/validation_schema", "the step's outputs are checked by it")
	}
	for i := range c.config.Steps {
		if s := &c.config.Steps[i]; s.ID == id && jsonedit.IsObject(s.ValidationSchema) {
			c.add(DependentValidation, id, workspace.StepConfigFile, c.config.Pointer(i)+"/validation_schema", "the step's outputs are checked by it")
		}
	}
	for _, name := range distinct(id, former) {
		if !stepID.MatchString(name) {
			continue // no folder can have such a name
		}
		why := "what was learned about the step as it was"
		if name != id {
			why = fmt.Sprintf("what was learned about the step when it was called %q; it is not found under the new id", former)
		}
		if folder := workspace.LearningsDir + "/" + name; c.exists(ctx, folder) {
			c.add(DependentLearnings, id, folder, "", why)
			if c.exists(ctx, folder+"/main.py") {
				c.add(DependentScript, id, folder+"/main.py", "", "the saved script does the work of the step as it was")
			}
		}
	}
	c.downstream(id, former)
}

func distinct(id, former string) []string {
	if id == former {
		return []string{id}
	}
	return []string{id, former}
}

// downstream are the steps that take something from a step or come after it by name.
func (c *checklist) downstream(id, former string) {
	outputs := slices.Concat(outputsOf(c.before.byID[former]), outputsOf(c.after.byID[id]))
	for i := range listKeys {
		for _, other := range c.after.ids[i] {
			if other == id {
				continue
			}
			step := c.after.byID[other]
			if refs := refsOf(step, id); len(refs) > 0 {
				c.add(DependentDownstream, id, workspace.PlanFile, c.pointer(other)+refs[0], fmt.Sprintf("step %q refers to it", other))
				continue
			}
			for k, dependency := range dependenciesOf(step) {
				if slices.Contains(outputs, dependency) {
					c.add(DependentDownstream, id, workspace.PlanFile, fmt.Sprintf("%s/context_dependencies/%d", c.pointer(other), k), fmt.Sprintf("step %q reads %s", other, dependency))
					break
				}
			}
		}
	}
}

func (c *checklist) pointer(id string) string {
	for i, key := range listKeys {
		if at := slices.Index(c.after.ids[i], id); at >= 0 {
			return fmt.Sprintf("/%s/%d", key, at)
		}
	}
	return ""
}

func outputsOf(step json.RawMessage) []string {
	var base struct {
		Outputs Outputs `json:"context_output"`
	}
	_ = json.Unmarshal(step, &base) // what has another form has no outputs
	return base.Outputs
}

func dependenciesOf(step json.RawMessage) []string {
	var base struct {
		Dependencies []string `json:"context_dependencies"`
	}
	_ = json.Unmarshal(step, &base)
	return base.Dependencies
}

// shared is what hangs on the workflow as a whole.
func (c *checklist) shared(ctx context.Context, ids []string) {
	for _, store := range []struct {
		kind      DependentKind
		path, why string
	}{
		{DependentLearnings, workspace.LearningsDir + "/_global/SKILL.md", "the shared skill may speak of the steps as they were"},
		{DependentDB, workspace.DBDir, "its tables hold what the steps wrote as they were"},
		{DependentReport, workspace.DBDir + "/reports/index.html", "the report shows what the steps wrote as they were"},
		{DependentKnowledge, workspace.KnowledgebaseDir, "its notes hold what the steps found as they were"},
	} {
		if c.exists(ctx, store.path) {
			c.add(store.kind, "", store.path, "", store.why)
		}
	}
	c.evaluation(ctx, ids)
}

// evaluation names the evaluation plan, and the steps that it speaks of.
func (c *checklist) evaluation(ctx context.Context, ids []string) {
	plan, err := readIfExists(ctx, c.st, workspace.EvaluationPlanFile)
	if err != nil || plan == nil {
		c.problems(err)
		return
	}
	why := "it judges what the steps produce"
	var named []string
	for _, id := range ids {
		if strings.Contains(string(plan), `"`+id+`"`) || strings.Contains(string(plan), id+"/") {
			named = append(named, id)
		}
	}
	if len(named) > 0 {
		why = "it names " + strings.Join(named, ", ")
	}
	c.add(DependentEvaluation, "", workspace.EvaluationPlanFile, "", why)
}
