package workflow

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
)

// PlanChange is one value that an edit of a plan has changed, computed from the texts
// before and after.
type PlanChange struct {
	// Step is the id of the step, of a renamed one the new id. It is empty for what is
	// of the plan as a whole.
	Step string `json:"step_id"`
	// Field is the key of the value in the step, or the keys that lead to it, joined by
	// slashes and escaped as in a JSON pointer. An empty key begins with a slash. Lists
	// change as a whole.
	//
	// Of the plan as a whole the fields steps and orphan_steps are the order of the ids;
	// where steps have no ids of their own they are the lists themselves.
	Field string `json:"field"`
	// Old and New are the values without white space. Nil is absent, which null is not.
	Old json.RawMessage `json:"old_value,omitempty"`
	New json.RawMessage `json:"new_value,omitempty"`
	// File is where the value stands when that is not the plan.
	File string `json:"file,omitempty"`
}

// planDiff is how two plans differ.
type planDiff struct {
	changes        []PlanChange
	added, deleted []json.RawMessage // whole steps
}

func (d *planDiff) empty() bool {
	return len(d.changes) == 0 && len(d.added) == 0 && len(d.deleted) == 0
}

// planText is a plan taken apart.
type planText struct {
	text  []byte
	lists [2]json.RawMessage // nil when absent
	ids   [2][]string
	byID  map[string]json.RawMessage
	plain bool // every step is an object with an id of its own
}

func takeApart(plan []byte) *planText {
	p := &planText{text: plan, byID: map[string]json.RawMessage{}, plain: true}
	if !json.Valid(plan) {
		p.text = []byte("{}")
		return p
	}
	for i, key := range listKeys {
		p.lists[i] = jsonedit.Get(plan, memberKey(plan, key))
		if p.lists[i] == nil {
			continue
		}
		p.plain = p.plain && jsonedit.IsList(p.lists[i])
		for _, step := range elementsOf(p.lists[i]) {
			id := stepIDOf(step)
			p.plain = p.plain && id != "" && p.byID[id] == nil
			p.ids[i] = append(p.ids[i], id)
			p.byID[id] = compactText(step)
		}
	}
	return p
}

// steps are all steps of a plan by id, also those that are nested in others.
func (p *planText) steps() map[string]json.RawMessage {
	all := map[string]json.RawMessage{}
	for _, step := range p.byID {
		for _, inner := range stepsIn(step, nil) {
			all[inner.id] = inner.text
		}
	}
	return all
}

// follow is the id that a step has after renames; empty when it was removed.
func follow(renamed []rename, id string) string {
	for _, r := range renamed {
		if id == r.from && id != "" {
			id = r.to
		}
	}
	return id
}

// comparePlans finds what has changed. A nil plan is one that does not exist.
func comparePlans(before, after []byte, renamed []rename) *planDiff {
	was, is := takeApart(before), takeApart(after)
	d := &planDiff{changes: rootChanges(was.text, is.text)}
	if !was.plain || !is.plain {
		for i, key := range listKeys {
			if !sameValue(was.lists[i], is.lists[i]) {
				d.changes = append(d.changes, PlanChange{Field: key, Old: plainValue(was.lists[i]), New: plainValue(is.lists[i])})
			}
		}
		return d
	}
	former := map[string]string{} // ids before, by those after
	for _, ids := range was.ids {
		for _, id := range ids {
			now := follow(renamed, id)
			if is.byID[now] == nil || now == "" {
				d.deleted = append(d.deleted, was.byID[id])
				continue
			}
			former[now] = id
		}
	}
	for i, key := range listKeys {
		for _, id := range is.ids[i] {
			old, kept := former[id]
			if !kept {
				d.added = append(d.added, is.byID[id])
				continue
			}
			if bytes.Equal(was.byID[old], is.byID[id]) {
				continue
			}
			for _, c := range compareTexts(nil, "", was.byID[old], is.byID[id]) {
				d.changes = append(d.changes, PlanChange{Step: id, Field: fieldOf(c.Pointer), Old: c.Before, New: c.After})
			}
		}
		if c := orderChange(key, was, is, i, renamed); c != nil {
			d.changes = append(d.changes, *c)
		}
	}
	return d
}

// orderChange is the change of the ids of a list, nil when renames alone explain it.
func orderChange(key string, was, is *planText, list int, renamed []rename) *PlanChange {
	moved := make([]string, len(was.ids[list]))
	for i, id := range was.ids[list] {
		moved[i] = follow(renamed, id)
	}
	if slices.Equal(moved, is.ids[list]) && (was.lists[list] == nil) == (is.lists[list] == nil) {
		return nil
	}
	return &PlanChange{Field: key, Old: idList(was, list), New: idList(is, list)}
}

func idList(p *planText, list int) json.RawMessage {
	if p.lists[list] == nil {
		return nil
	}
	ids := p.ids[list]
	if ids == nil {
		ids = []string{}
	}
	text, _ := json.Marshal(ids) // a list of strings
	return text
}

// rootChanges are the changes beside the lists of steps.
func rootChanges(before, after []byte) []PlanChange {
	var changes []PlanChange
	for _, c := range compareTexts(nil, "", withoutLists(before), withoutLists(after)) {
		changes = append(changes, PlanChange{Field: fieldOf(c.Pointer), Old: c.Before, New: c.After})
	}
	return changes
}

func withoutLists(plan []byte) json.RawMessage {
	rest := compactText(plan)
	for _, m := range jsonedit.Members(plan) {
		if strings.EqualFold(m.Key, listKeys[mainList]) || strings.EqualFold(m.Key, listKeys[orphanList]) {
			rest = jsonedit.Unset(rest, []string{m.Key})
		}
	}
	return rest
}

// fieldOf is the field of a change from its JSON pointer.
func fieldOf(pointer string) string {
	field := strings.TrimPrefix(pointer, "/")
	if pointer != "" && (field == "" || strings.HasPrefix(field, "/")) {
		return pointer
	}
	return field
}

func sameValue(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	return jsonedit.Equal(a, b)
}

func plainValue(text json.RawMessage) json.RawMessage {
	if text == nil {
		return nil
	}
	return compactText(text)
}
