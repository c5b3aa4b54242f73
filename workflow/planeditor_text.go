package workflow

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
)

// stepList is one of the lists of a plan.
type stepList struct {
	key     string
	span    jsonedit.Span // of the value in the text; zero when the plan has no such key
	null    bool
	read    []*stepEntry // as they stand in the text
	entries []*stepEntry // as they are to stand
}

// stepEntry is one step of a list.
type stepEntry struct {
	span   jsonedit.Span   // in the text; zero for an added one
	before json.RawMessage // without white space; nil for an added one
	after  json.RawMessage
}

func (n *stepEntry) changed() bool { return n.before == nil || !jsonedit.Equal(n.before, n.after) }

func (l *stepList) ids() []string {
	ids := make([]string, len(l.entries))
	for i, n := range l.entries {
		ids[i] = stepIDOf(n.after)
	}
	return ids
}

func (l *stepList) insert(n *stepEntry, at Place) error {
	index := len(l.entries)
	beside := at.After
	if beside == "" {
		beside = at.Before
	}
	switch {
	case at.First:
		index = 0
	case beside != "":
		index = slices.Index(l.ids(), beside)
		if index < 0 {
			return refuse(beside, "", ErrStepNotFound)
		}
		if at.After != "" {
			index++
		}
	}
	l.entries = slices.Insert(l.entries, index, n)
	return nil
}

// read finds the steps in the text.
func (e *PlanEditor) read() error {
	if !json.Valid(e.text) || !jsonedit.IsObject(e.text) {
		return refuse("", "", ErrPlanUnreadable)
	}
	for i := range e.lists {
		l := &e.lists[i]
		l.key = listKeys[i]
		for _, m := range jsonedit.Members(e.text) {
			if strings.EqualFold(m.Key, l.key) {
				l.span, l.null = m.Span, string(m.Value) == "null" // the last one counts
			}
		}
		if l.span.End == 0 || l.null {
			continue
		}
		list := e.text[l.span.Start:l.span.End]
		if !jsonedit.IsList(list) {
			return refuse("", "/"+l.key, ErrPlanUnreadable)
		}
		for _, span := range jsonedit.Elements(list) {
			text := list[span.Start:span.End]
			if !jsonedit.IsObject(text) {
				return refuse("", "/"+l.key, ErrPlanUnreadable)
			}
			plain := compactText(text)
			l.read = append(l.read, &stepEntry{
				span:   jsonedit.Span{Start: l.span.Start + span.Start, End: l.span.Start + span.End},
				before: plain, after: plain,
			})
		}
		l.entries = slices.Clone(l.read)
	}
	return nil
}

// result is the text with the edits; the old text where nothing was changed.
func (e *PlanEditor) result() []byte {
	if e.broken != nil {
		return e.text
	}
	order := []int{mainList, orphanList}
	if e.lists[mainList].span.Start < e.lists[orphanList].span.Start {
		slices.Reverse(order) // the later one first, so that the place of the other stays
	}
	text := e.text
	for _, i := range order {
		l := &e.lists[i]
		if l.span.End > 0 && l.changed() {
			text = slices.Concat(text[:l.span.Start], e.write(l), text[l.span.End:])
		}
	}
	for i := range e.lists {
		l := &e.lists[i]
		if l.span.End == 0 && len(l.entries) > 0 {
			text = addMember(text, l.key, e.write(l))
		}
	}
	return jsonedit.LineEnds(text, e.text)
}

func (l *stepList) changed() bool {
	return !slices.Equal(l.read, l.entries) || slices.ContainsFunc(l.entries, (*stepEntry).changed)
}

// write is the text of a list.
func (e *PlanEditor) write(l *stepList) []byte {
	const indent = "    "
	if len(l.entries) == 0 {
		return []byte("[]")
	}
	lead, tail := []byte("\n"+indent), []byte("\n  ")
	if n := len(l.read); n > 0 {
		lead = e.text[l.span.Start+1 : l.read[0].span.Start]
		tail = e.text[l.read[n-1].span.End : l.span.End-1]
	}
	out := []byte{'['}
	for i, n := range l.entries {
		if i == 0 {
			out = append(out, lead...)
		} else {
			out = append(out, e.gap(l, n, indent)...)
		}
		if n.changed() {
			out = append(out, jsonedit.Indent(n.after, indent)...)
		} else {
			out = append(out, e.text[n.span.Start:n.span.End]...)
		}
	}
	return append(append(out, tail...), ']')
}

// gap is what stands between a step and the one before it: what stood there, if
// anything did.
func (e *PlanEditor) gap(l *stepList, n *stepEntry, indent string) []byte {
	if at := slices.Index(l.read, n); at > 0 {
		return e.text[l.read[at-1].span.End:n.span.Start]
	}
	return []byte(",\n" + indent)
}

// addMember puts a member at the end of an object that is laid out with two spaces.
func addMember(object []byte, key string, value []byte) []byte {
	members := jsonedit.Members(object)
	text := "\n  \"" + key + "\": " + string(value)
	if len(members) == 0 {
		start, end := bytes.IndexByte(object, '{'), bytes.LastIndexByte(object, '}')
		return slices.Concat(object[:start+1], []byte(text+"\n"), object[end:])
	}
	at := members[len(members)-1].Span.End
	return slices.Concat(object[:at], []byte(","+text), object[at:])
}
