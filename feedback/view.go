package feedback

import (
	"slices"
	"time"
)

// view is the list of open questions, folded. Questions stand in the order in which they
// were first named.
//
// Whoever is about to change a question writes a record asking or touched with a mark,
// and afterwards one that is open or closed with the same mark. So a question that is
// open and has no pending mark is open, whoever died when; of one with a pending mark
// its own file tells. A record gone says that there is no such file any more.
type view struct {
	order []string
	byID  map[string]*listed
}

// listed is what the list says of one question.
type listed struct {
	place    int // in the order, while records are added
	run      string
	question *Question // nil until it is known to be asked
	closed   bool
	pending  []touch
}

// touch is a change that may be under way.
type touch struct {
	mark string
	at   time.Time
}

// sure reports whether the question is open for certain.
func (l *listed) sure() bool { return l.question != nil && !l.closed && len(l.pending) == 0 }

func foldIndex(records []record) *view {
	v := &view{byID: map[string]*listed{}}
	for i := range records {
		v.add(&records[i])
	}
	order := v.order[:0]
	for place, id := range v.order {
		// One that left the list and came back stands where it came back.
		if at := v.byID[id]; at != nil && at.place == place {
			order = append(order, id)
		}
	}
	v.order = order
	return v
}

func (v *view) add(r *record) {
	switch r.Kind {
	case recordAsking, recordTouched:
		at := v.at(r.ID)
		at.run = r.Run
		at.pending = append(at.pending, touch{mark: r.Write, at: r.At})
		if r.Kind == recordAsking { // perhaps after the file of a closed one was removed
			at.closed = false
		}
	case recordOpen:
		if r.Question != nil {
			v.open(r)
		}
	case recordGone:
		// Somebody may be asking it anew: their own record then tells.
		if at := v.byID[r.ID]; at != nil {
			if at.settle(r.Write); len(at.pending) == 0 {
				delete(v.byID, r.ID)
			}
		}
	case recordClosed:
		at := v.byID[r.ID]
		if at == nil {
			return
		}
		at.settle(r.Write)
		at.closed = true
		if len(at.pending) == 0 {
			delete(v.byID, r.ID)
		}
	}
}

// open lets "closed" stand: who asked may be late to write "open".
func (v *view) open(r *record) {
	id := r.Question.ID
	known := v.byID[id] != nil
	at := v.at(id)
	at.run, at.question = r.Question.Run, r.Question
	if !known && r.Write != "" {
		// Its beginning was lost with a list that was made anew.
		at.pending = append(at.pending, touch{at: r.At})
		return
	}
	at.settle(r.Write)
	if at.closed && len(at.pending) == 0 {
		delete(v.byID, id)
	}
}

func (l *listed) settle(mark string) {
	l.pending = slices.DeleteFunc(l.pending, func(t touch) bool { return t.mark == mark })
}

// at is the entry of an id, made if need be.
func (v *view) at(id string) *listed {
	at := v.byID[id]
	if at == nil {
		at = &listed{place: len(v.order)}
		v.byID[id] = at
		v.order = append(v.order, id)
	}
	return at
}

// records writes the view down again, without what is closed.
func (v *view) records() []record {
	var list []record
	for _, id := range v.order {
		at := v.byID[id]
		if at.question != nil {
			list = append(list, record{Kind: recordOpen, Question: at.question})
		}
		for _, t := range at.pending {
			list = append(list, record{Kind: recordTouched, ID: id, Run: at.run, Write: t.mark, At: t.at})
		}
		if at.closed {
			list = append(list, record{Kind: recordClosed, ID: id})
		}
	}
	return list
}
