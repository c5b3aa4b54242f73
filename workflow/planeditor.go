package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// Reasons why an edit of a plan is refused; see [PlanEditError]. An edit after which the
// plan would have errors that it did not have is refused with [workspace.Diagnostics].
var (
	ErrStepNotFound   = errors.New("the plan has no such step")
	ErrStepExists     = errors.New("the plan has such a step already")
	ErrStepID         = errors.New(`not the id of a step: use at most 100 letters, digits, "_", "-" and ".", starting with a letter or digit`)
	ErrStepIDFixed    = errors.New("the id of a step is changed by RenameStep")
	ErrStepReferenced = errors.New("other steps refer to the step")
	ErrStepNested     = errors.New("the step is part of another one; edit the route of that one")
	ErrNotObject      = errors.New("not a JSON object")
	ErrNotJSON        = errors.New("not JSON")
	ErrPlanUnreadable = errors.New("the plan is not an object with lists of steps; only ReplacePlan can edit it")
)

// PlanEditError says which edit of a plan was refused. It unwraps to the reason.
type PlanEditError struct {
	Step    string // the id that the edit named
	Pointer string // within the step; empty when the edit is about the whole step
	Err     error
}

func (e *PlanEditError) Error() string {
	at := workspace.PlanFile
	if e.Step != "" {
		at += fmt.Sprintf(": step %q", e.Step)
	}
	if e.Pointer != "" {
		at += " at " + e.Pointer
	}
	return at + ": " + e.Err.Error()
}

// Unwrap returns the reason.
func (e *PlanEditError) Unwrap() error { return e.Err }

// Place is where a step goes in the list that it is put in: behind the step After, in
// front of the step Before, or First. The zero value is the end of the list. First goes
// before After, which goes before Before.
type Place struct {
	After, Before string // ids of steps of that list
	First         bool
}

// PlanEditor changes one plan.json in memory. What an edit does not name stays as it
// was: unknown keys, the order of keys, the spelling of numbers and texts. Steps that
// are not edited stay byte for byte; an edited one is laid out with two spaces a level.
// Where an id stands twice, the last step of that id in the file is meant.
//
// [EditPlan] makes one and checks what comes out. It is not for concurrent use.
type PlanEditor struct {
	text    []byte
	lists   [2]stepList // steps, orphan_steps
	renamed []rename    // in the order of the edits
	broken  error
}

// rename is that of a step, or the removal of one, where it is given no id.
type rename struct{ from, to string }

const (
	mainList   = 0
	orphanList = 1
)

var listKeys = [2]string{"steps", "orphan_steps"}

func newPlanEditor(plan []byte) *PlanEditor {
	e := &PlanEditor{text: plan}
	if plan == nil {
		e.text = []byte("{\n  \"steps\": []\n}\n")
	}
	e.broken = e.read()
	return e
}

// StepIDs are the ids of the steps that run and those of the orphan steps, in plan
// order. A step without an id has an empty one.
func (e *PlanEditor) StepIDs() (steps, orphans []string) {
	return e.lists[mainList].ids(), e.lists[orphanList].ids()
}

// Step is the text of a step without white space, nil when there is none of that id.
func (e *PlanEditor) Step(id string) json.RawMessage {
	found, err := e.find(id)
	if err != nil {
		return nil
	}
	return slices.Clone(found.text())
}

// AddStep puts a step among those that run. The step is a JSON object with an id that no
// step has.
func (e *PlanEditor) AddStep(step json.RawMessage, at Place) error {
	return e.add(mainList, step, at)
}

// AddOrphan puts a step at the end of the orphan steps, as [PlanEditor.AddStep] does.
func (e *PlanEditor) AddOrphan(step json.RawMessage) error {
	return e.add(orphanList, step, Place{})
}

func (e *PlanEditor) add(list int, step json.RawMessage, at Place) error {
	if e.broken != nil {
		return e.broken
	}
	if !json.Valid(step) || !jsonedit.IsObject(step) {
		return refuse("", "", ErrNotObject)
	}
	for _, inner := range stepsIn(step, nil) {
		if err := e.free(inner.id); err != nil {
			return err
		}
	}
	return e.lists[list].insert(&stepEntry{after: compactText(step)}, at)
}

// Set gives the value at a JSON pointer within a step, such as /description or
// /routes/0/next_step_id. The step may be nested in another one. Objects on the way that
// are absent or null are made, and "-" is the place behind the last element of a list.
func (e *PlanEditor) Set(id, pointer string, value json.RawMessage) error {
	return e.change(id, pointer, func(step json.RawMessage, path []string) (json.RawMessage, error) {
		if !json.Valid(value) {
			return nil, ErrNotJSON
		}
		return setAt(step, path, compactText(value))
	})
}

// Unset takes away the key or the list element at a JSON pointer within a step. What is
// not there is no error.
func (e *PlanEditor) Unset(id, pointer string) error {
	return e.change(id, pointer, func(step json.RawMessage, path []string) (json.RawMessage, error) {
		return unsetAt(step, path), nil
	})
}

// SetValidationSchema gives the step's schema in the plan; nil takes it away. A schema
// in the step's configuration still goes before it.
func (e *PlanEditor) SetValidationSchema(id string, schema json.RawMessage) error {
	if schema == nil {
		return e.Unset(id, "/validation_schema")
	}
	return e.Set(id, "/validation_schema", schema)
}

// ReplaceStep puts an object in the place of a step, which keeps its id. What both have
// stays as the plan spells it.
func (e *PlanEditor) ReplaceStep(id string, step json.RawMessage) error {
	found, err := e.find(id)
	switch {
	case err != nil:
		return err
	case !json.Valid(step) || !jsonedit.IsObject(step):
		return refuse(id, "", ErrNotObject)
	case stepIDOf(step) != id:
		return refuse(id, "/id", ErrStepIDFixed)
	}
	found.put(jsonedit.Merge(found.text(), compactText(step)))
	return nil
}

// RemoveSteps takes steps or orphan steps out of the plan, with their configurations. All
// of them go or none: a step that stays and refers to one of them is [ErrStepReferenced].
func (e *PlanEditor) RemoveSteps(ids ...string) error {
	gone := map[*stepEntry]bool{}
	var removed []rename
	for _, id := range ids {
		found, err := e.topLevel(id)
		if err != nil {
			return err
		}
		gone[found.entry] = true
		for _, inner := range stepsIn(found.entry.after, nil) {
			removed = append(removed, rename{from: inner.id})
		}
	}
	for i := range e.lists {
		for _, n := range e.lists[i].entries {
			if gone[n] {
				continue
			}
			for _, r := range removed {
				if refs := refsOf(n.after, r.from); r.from != "" && len(refs) > 0 {
					return refuse(r.from, "", fmt.Errorf("%w: step %q at %s", ErrStepReferenced, stepIDOf(n.after), strings.Join(refs, ", ")))
				}
			}
		}
	}
	for i := range e.lists {
		l := &e.lists[i]
		l.entries = slices.DeleteFunc(l.entries, func(n *stepEntry) bool { return gone[n] })
	}
	e.renamed = append(e.renamed, removed...)
	return nil
}

// MoveStep gives a step another place in its list.
func (e *PlanEditor) MoveStep(id string, to Place) error {
	found, err := e.topLevel(id)
	if err != nil {
		return err
	}
	return e.move(found, found.list, to)
}

// PromoteStep makes an orphan step one that runs.
func (e *PlanEditor) PromoteStep(id string, to Place) error { return e.transfer(id, mainList, to) }

// DemoteStep makes a step that runs an orphan step, the last one.
func (e *PlanEditor) DemoteStep(id string) error { return e.transfer(id, orphanList, Place{}) }

func (e *PlanEditor) transfer(id string, list int, to Place) error {
	found, err := e.topLevel(id)
	switch {
	case err != nil:
		return err
	case found.list == list:
		return refuse(id, "", fmt.Errorf("the step is in %s already", listKeys[list]))
	}
	return e.move(found, list, to)
}

func (e *PlanEditor) move(found *foundStep, list int, to Place) error {
	if to.After == found.id || to.Before == found.id {
		return refuse(found.id, "", errors.New("a step has no place beside itself"))
	}
	from := &e.lists[found.list]
	was := slices.Clone(from.entries)
	at := slices.Index(from.entries, found.entry)
	from.entries = slices.Delete(from.entries, at, at+1)
	if err := e.lists[list].insert(found.entry, to); err != nil {
		from.entries = was
		return err
	}
	return nil
}

// RenameStep gives a step another id, wherever steps of the plan refer to it and in the
// step configuration. Where the id stands twice, references stay with the other step.
func (e *PlanEditor) RenameStep(id, to string) error {
	found, err := e.find(id)
	if err != nil || id == to {
		return err
	}
	if err := e.free(to); err != nil {
		return err
	}
	name, err := json.Marshal(to)
	if err != nil {
		return refuse(id, "/id", err)
	}
	after, err := jsonedit.Set(found.text(), []string{memberKey(found.text(), "id")}, name)
	if err != nil {
		return refuse(id, "/id", err)
	}
	found.put(after)
	if _, err := e.find(id); err == nil {
		return nil
	}
	for i := range e.lists {
		for _, n := range e.lists[i].entries {
			n.after = renameRefs(n.after, id, to)
		}
	}
	e.renamed = append(e.renamed, rename{from: id, to: to})
	return nil
}

// ReplacePlan puts another plan in the place of all of it, laid out with two spaces a
// level. Steps that keep their id count as edited, not as new.
func (e *PlanEditor) ReplacePlan(plan json.RawMessage) error {
	if !json.Valid(plan) {
		return refuse("", "", ErrNotJSON)
	}
	fresh := &PlanEditor{text: append(jsonedit.Indent(compactText(plan), ""), '\n'), renamed: e.renamed}
	if err := fresh.read(); err != nil {
		return refuse("", "", errors.New("the new plan is not an object with lists of steps"))
	}
	*e = *fresh
	return nil
}

// foundStep is a step of the plan, at any depth.
type foundStep struct {
	id    string
	list  int
	entry *stepEntry
	path  []string // of the step in its entry; nil when it is the entry
}

func (f *foundStep) text() json.RawMessage { return jsonedit.At(f.entry.after, f.path...) }

func (f *foundStep) put(step json.RawMessage) {
	f.entry.after = jsonedit.Replace(f.entry.after, f.path, step)
}

func (e *PlanEditor) find(id string) (*foundStep, error) {
	if e.broken != nil {
		return nil, e.broken
	}
	if id == "" {
		return nil, refuse(id, "", ErrStepNotFound)
	}
	for list := len(e.lists) - 1; list >= 0; list-- {
		for _, n := range slices.Backward(e.lists[list].entries) {
			for _, inner := range slices.Backward(stepsIn(n.after, nil)) {
				if inner.id == id {
					return &foundStep{id: id, list: list, entry: n, path: inner.path}, nil
				}
			}
		}
	}
	return nil, refuse(id, "", ErrStepNotFound)
}

func (e *PlanEditor) topLevel(id string) (*foundStep, error) {
	found, err := e.find(id)
	if err == nil && len(found.path) > 0 {
		return nil, refuse(id, "", ErrStepNested)
	}
	return found, err
}

// free refuses an id that cannot be given to a step.
func (e *PlanEditor) free(id string) error {
	if !stepID.MatchString(id) {
		return refuse(id, "/id", ErrStepID)
	}
	if _, err := e.find(id); err == nil {
		return refuse(id, "/id", ErrStepExists)
	}
	return nil
}

// change gives the text of a step to a function, with the path that a pointer means.
func (e *PlanEditor) change(id, pointer string, change func(step json.RawMessage, path []string) (json.RawMessage, error)) error {
	found, err := e.find(id)
	if err != nil {
		return err
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return refuse(id, pointer, errors.New("the pointer names no key; it has the form /key/key"))
	}
	path := strings.Split(rest, "/")
	for i := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
	}
	if strings.EqualFold(path[len(path)-1], "id") && (len(path) == 1 || path[len(path)-2] == "sub_agent_step") {
		return refuse(id, pointer, ErrStepIDFixed)
	}
	after, err := change(found.text(), path)
	if err != nil {
		return refuse(id, pointer, err)
	}
	found.put(after)
	return nil
}

// setAt is [jsonedit.Set] that also goes through lists.
func setAt(text json.RawMessage, path []string, value json.RawMessage) (json.RawMessage, error) {
	if len(path) == 0 {
		return value, nil
	}
	if jsonedit.IsList(text) {
		return setElement(text, path, value)
	}
	inner := jsonedit.Get(text, path[0])
	if !jsonedit.IsObject(inner) && !jsonedit.IsList(inner) {
		return jsonedit.Set(text, path, value)
	}
	inner, err := setAt(inner, path[1:], value)
	if err != nil {
		return nil, err
	}
	return jsonedit.Set(text, path[:1], inner)
}

func setElement(list json.RawMessage, path []string, value json.RawMessage) (json.RawMessage, error) {
	if path[0] == "-" {
		value, err := setAt(nil, path[1:], value)
		if err != nil {
			return nil, err
		}
		return joinList(append(elementsOf(list), value)), nil
	}
	inner := jsonedit.At(list, path[0])
	if inner == nil {
		return nil, fmt.Errorf("the list has no element %q", path[0])
	}
	inner, err := setAt(inner, path[1:], value)
	if err != nil {
		return nil, err
	}
	return jsonedit.Replace(list, path[:1], inner), nil
}

// unsetAt is [jsonedit.Unset] that also goes through lists.
func unsetAt(text json.RawMessage, path []string) json.RawMessage {
	if jsonedit.IsObject(text) {
		inner := jsonedit.Get(text, path[0])
		if inner == nil || len(path) == 1 {
			return jsonedit.Unset(text, path)
		}
		return jsonedit.Replace(text, path[:1], unsetAt(inner, path[1:]))
	}
	inner := jsonedit.At(text, path[0])
	if inner == nil {
		return text
	}
	if len(path) > 1 {
		return jsonedit.Replace(text, path[:1], unsetAt(inner, path[1:]))
	}
	at, _ := strconv.Atoi(path[0]) // At has found it
	elements := elementsOf(text)
	return joinList(slices.Delete(elements, at, at+1))
}

func elementsOf(list json.RawMessage) []json.RawMessage {
	var elements []json.RawMessage
	for _, span := range jsonedit.Elements(list) {
		elements = append(elements, list[span.Start:span.End])
	}
	return elements
}

func joinList(elements []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, element := range elements {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, element...)
	}
	return append(out, ']')
}

func refuse(step, pointer string, reason error) error {
	return &PlanEditError{Step: step, Pointer: pointer, Err: reason}
}
