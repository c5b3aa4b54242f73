package stepconfig

import (
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// Result is the text of the file with its edits, and what they have changed. Without a
// change the text is the old one, whatever legacy forms or duplicate ids it has. With
// one, entries whose id a later entry has are left out, and are among the changes.
//
// An entry without an id, or a fault that the file did not have before, is refused with
// [workspace.Diagnostics] as the error; their pointers are places in the new text.
func (e *Editor) Result() ([]byte, []Change, error) {
	if len(e.changes()) == 0 {
		return e.text, nil, nil
	}
	e.dropDuplicates()
	if err := e.check(); err != nil {
		return nil, nil, err
	}
	return jsonedit.LineEnds(e.write(), e.text), e.changes(), nil
}

// dropDuplicates removes the entries that do not count since a later one has their id.
func (e *Editor) dropDuplicates() {
	seen := map[string]bool{}
	for _, n := range slices.Backward(e.entries) {
		if n.after == nil || strings.TrimSpace(n.id) == "" {
			continue
		}
		if seen[n.id] {
			n.after = nil
		}
		seen[n.id] = true
	}
}

// check finds the faults that edits have made, and entries without an id.
func (e *Editor) check() error {
	var found workspace.Diagnostics
	index := 0
	for _, n := range e.entries {
		if n.after == nil {
			continue
		}
		at := "/steps/" + strconv.Itoa(index)
		index++
		if strings.TrimSpace(n.id) == "" {
			found = append(found, codes.Finding(codeIDMissing, e.name, at+"/id", "an entry without an id is not written", ""))
			continue
		}
		if n.changed() {
			found = append(found, e.made(n, at)...)
		}
	}
	return found.Err()
}

// made are the faults of an entry that its former text did not have.
func (e *Editor) made(n *entry, at string) workspace.Diagnostics {
	type fault struct{ code, pointer string }
	had := map[fault]bool{}
	for _, d := range faultsOf(e.name, n.before) {
		had[fault{d.Code, d.Pointer}] = true
	}
	var made workspace.Diagnostics
	for _, d := range faultsOf(e.name, n.after) {
		if d.Severity == workspace.SeverityError && !had[fault{d.Code, d.Pointer}] {
			d.Pointer = at + strings.TrimPrefix(d.Pointer, "/0")
			made = append(made, d)
		}
	}
	return made
}

// faultsOf are the diagnostics of one entry, with pointers below /0.
func faultsOf(name string, text []byte) workspace.Diagnostics {
	if text == nil {
		return nil
	}
	steps := []StepConfig{{}}
	_ = steps[0].UnmarshalJSON(text) // the text is a JSON object
	r := &reader{file: name}
	r.steps(steps, "")
	return r.found
}

func (n *entry) changed() bool {
	switch {
	case n.before == nil:
		return n.after != nil
	case n.after == nil:
		return true
	}
	return !jsonedit.Equal(n.before, n.after)
}

// changes compares every entry with what it was.
func (e *Editor) changes() []Change {
	var changes []Change
	for _, n := range e.entries {
		switch {
		case !n.changed():
		case n.before == nil:
			changes = append(changes, Change{Step: n.id, After: n.after})
		case n.after == nil:
			changes = append(changes, Change{Step: idOf(n.before), Before: n.before})
		default:
			changes = compare(changes, n.id, "", n.before, n.after)
		}
	}
	return changes
}

// compare adds one change for every key that differs, of the entry and of its
// agent_configs.
func compare(changes []Change, step, pointer string, before, after []byte) []Change {
	was, is := jsonedit.Members(before), jsonedit.Members(after)
	seen := map[string]bool{}
	for _, m := range append(slices.Clip(was), is...) {
		if seen[m.Key] {
			continue
		}
		seen[m.Key] = true
		old, now, at := jsonedit.Get(before, m.Key), jsonedit.Get(after, m.Key), pointer+"/"+workspace.PointerEscape(m.Key)
		switch {
		case old != nil && now != nil && jsonedit.Equal(old, now):
		case at == "/agent_configs" && jsonedit.IsObject(old) && jsonedit.IsObject(now):
			changes = compare(changes, step, at, old, now)
		default:
			changes = append(changes, Change{Step: step, Pointer: at, Before: old, After: now})
		}
	}
	return changes
}

// write is the text with the changed entries in place of the old ones.
func (e *Editor) write() []byte {
	if e.legacy {
		return e.writeObject()
	}
	out := append([]byte(nil), e.text[:e.list.Start+1]...)
	out = append(out, e.writeEntries()...)
	return append(out, e.text[e.list.End-1:]...)
}

// writeEntries is what stands between the brackets of the list.
func (e *Editor) writeEntries() []byte {
	const indent = "    "
	var out []byte
	end, lead := e.list.Start+1, []byte(nil) // of what has been looked at; before the first entry
	for i, n := range e.entries {
		gap := []byte(",\n" + indent)
		if n.before != nil {
			gap = e.text[end:n.span.Start]
			end = n.span.End
		}
		if i == 0 {
			lead = []byte("\n" + indent)
			if n.before != nil {
				lead = gap
			}
		}
		switch {
		case n.after == nil:
			continue
		case len(out) == 0:
			out = append(out, lead...)
		default:
			out = append(out, gap...)
		}
		if n.changed() {
			out = append(out, jsonedit.Indent(n.after, indent)...)
		} else {
			out = append(out, e.text[n.span.Start:n.span.End]...)
		}
	}
	switch {
	case len(out) == 0:
		return nil
	case e.entries[0].before == nil: // the list was empty
		return append(out, "\n  "...)
	}
	return append(out, e.text[end:e.list.End-1]...)
}

// writeObject is the present form of a file that was a bare list, laid out anew.
func (e *Editor) writeObject() []byte {
	out := []byte(`{"steps":[`)
	for _, n := range e.entries {
		if n.after == nil {
			continue
		}
		if out[len(out)-1] != '[' {
			out = append(out, ',')
		}
		out = append(out, n.after...)
	}
	return append(jsonedit.Indent(append(out, "]}"...), ""), '\n')
}
