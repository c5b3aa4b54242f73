package feedback

import "time"

// State says what became of a question.
type State string

// The states of a question. Only an open one changes, once.
const (
	Open      State = "open"
	Answered  State = "answered"
	Expired   State = "expired"
	Withdrawn State = "withdrawn"
)

// Entry is a question with what became of it.
type Entry struct {
	Question
	State State `json:"state"`
	// Answer is set when the state is Answered.
	Answer *Answer `json:"answer,omitempty"`
	// ClosedAt is when the question ceased to be open; zero while it is. Reason says why
	// it was withdrawn, or why it expired before its deadline.
	ClosedAt time.Time `json:"closed_at,omitzero"`
	Reason   string    `json:"reason,omitempty"`
	// Receipts tell whom the notifications of the question have reached. A listing of
	// open questions leaves them out.
	Receipts []Receipt `json:"receipts,omitempty"`
}

// seen is the entry as a reader sees it: past its deadline a question is expired, also
// when nobody has written that down yet.
func (e *Entry) seen(now time.Time) *Entry {
	if e.State == Open && e.due(now) {
		e.State, e.ClosedAt = Expired, e.Deadline
	}
	return e
}

// closedError says why a question takes no answer; nil when it is open.
func (e *Entry) closedError() error {
	switch e.State {
	case Answered:
		return &AnsweredError{ID: e.ID, By: e.Answer.By, At: e.Answer.At, Source: e.Answer.Source}
	case Expired:
		return &ExpiredError{ID: e.ID, At: e.ClosedAt, Reason: e.Reason}
	case Withdrawn:
		return &WithdrawnError{ID: e.ID, At: e.ClosedAt, Reason: e.Reason}
	}
	return nil
}

// fold makes the entry of a question's records; nil when it was never asked. The first
// end counts: a file with two comes from nobody who keeps the rules.
func fold(records []record) *Entry {
	var e *Entry
	for i := range records {
		r := &records[i]
		switch {
		case r.Kind == recordAsked && e == nil && r.Question != nil:
			e = &Entry{Question: *r.Question, State: Open}
		case e == nil:
		case r.Kind == recordReceipt && r.Receipt != nil:
			e.Receipts = append(e.Receipts, *r.Receipt)
		case e.State != Open:
		case r.Kind == recordAnswered && r.Answer != nil:
			e.State, e.Answer, e.ClosedAt = Answered, r.Answer, r.At
		case r.Kind == recordExpired:
			e.State, e.ClosedAt, e.Reason = Expired, r.At, r.Reason
		case r.Kind == recordWithdrawn:
			e.State, e.ClosedAt, e.Reason = Withdrawn, r.At, r.Reason
		}
	}
	return e
}
