package feedback

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// DefaultAskTimeout is how long people have for a question of an [Asker].
const DefaultAskTimeout = 10 * time.Minute

// Asker asks people and returns what they said. It is safe for concurrent use.
//
// Its methods fill in what their kind of question needs; the question must say RunID,
// Run, Key and Text. They return the errors of [Inbox.Ask] and [Inbox.Wait], and, when
// Leave is set and nobody has answered yet, the error of [agent.Suspend]: the caller
// unwinds, and asks the same again when the run is resumed.
type Asker struct {
	Inbox *Inbox
	// Leave says not to stay while a person thinks.
	Leave bool
	// Timeout is for questions that have none and no deadline; 0 is
	// [DefaultAskTimeout], below 0 is no end.
	Timeout time.Duration
}

// Ask asks any question and returns it with its answer.
func (a *Asker) Ask(ctx context.Context, q *Question) (*Entry, error) {
	limited := *q
	if limited.Timeout == 0 && limited.Deadline.IsZero() {
		limited.Timeout = a.Timeout
		if a.Timeout == 0 {
			limited.Timeout = DefaultAskTimeout
		}
	}
	e, err := a.Inbox.Ask(ctx, &limited)
	if err == nil && e.State == Expired {
		// By this clock. The file decides, so that all agree: somebody with another one
		// may answer yet, or have answered.
		e, err = a.Inbox.look(ctx, e.Run, e.ID)
	}
	switch {
	case err != nil:
		return nil, err
	case e.State == Answered:
		return e, nil
	case e.State != Open:
		return nil, e.closedError()
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case a.Leave:
		return nil, agent.Suspend("question " + e.ID + " waits for a person")
	}
	return a.Inbox.wait(ctx, e)
}

// Text asks for a text.
func (a *Asker) Text(ctx context.Context, q *Question) (string, error) {
	e, err := a.ask(ctx, q, KindText, nil)
	if err != nil {
		return "", err
	}
	return e.Answer.Value, nil
}

// YesNo asks for yes or no. The options of the question, if it has any, are the labels
// for yes and no.
func (a *Asker) YesNo(ctx context.Context, q *Question) (bool, error) {
	e, err := a.ask(ctx, q, KindYesNo, q.Options)
	if err != nil {
		return false, err
	}
	return e.Answer.Value == "yes", nil
}

// Choice asks for one of the question's options and returns its place, from 0.
func (a *Asker) Choice(ctx context.Context, q *Question) (int, error) {
	e, err := a.ask(ctx, q, KindChoice, q.Options)
	if err != nil {
		return 0, err
	}
	return e.Answer.Option - 1, nil
}

// Approval asks for an approval, which is a word such as yes, ok or approve. Any other
// text is a refusal: what should be different.
func (a *Asker) Approval(ctx context.Context, q *Question) (approved bool, remarks string, err error) {
	e, err := a.ask(ctx, q, KindText, nil)
	if err != nil {
		return false, "", err
	}
	word := strings.ToLower(strings.TrimRight(e.Answer.Value, ".! "))
	if slices.Contains(yesWords, word) {
		return true, "", nil
	}
	if slices.Contains(noWords, word) {
		return false, "", nil
	}
	return false, e.Answer.Value, nil
}

// Secret asks for a text that is written nowhere. What was given before, or elsewhere,
// and is not held here is asked for again.
func (a *Asker) Secret(ctx context.Context, q *Question) (string, error) {
	_, value, err := a.secret(ctx, q)
	return value, err
}

// secret also tells the question that was answered.
func (a *Asker) secret(ctx context.Context, q *Question) (e *Entry, value string, err error) {
	for {
		e, err = a.ask(ctx, q, KindSecret, nil)
		if err != nil {
			return nil, "", err
		}
		value, err = a.Inbox.TakeSecret(e.ID)
		if !errors.Is(err, ErrSecretGone) {
			return e, value, err
		}
	}
}

func (a *Asker) ask(ctx context.Context, q *Question, kind Kind, options []string) (*Entry, error) {
	asked := *q
	asked.Kind, asked.Options = kind, options
	return a.Ask(ctx, &asked)
}

// noAnswer reports whether an error says that a question was closed without an answer.
func noAnswer(err error) bool {
	expired, withdrawn := (*ExpiredError)(nil), (*WithdrawnError)(nil)
	return errors.As(err, &expired) || errors.As(err, &withdrawn)
}
