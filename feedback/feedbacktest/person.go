package feedbacktest

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/treadle-dev/treadle/feedback"
)

// Rule says what a person answers to some questions.
type Rule struct {
	// About is in the text of the questions; empty is in every text.
	About string
	// Say is the answer.
	Say string
	// Times is how often the rule is used; 0 is always.
	Times int
}

// Person answers questions by the first rule that fits; a question that none fits is left
// open. It is a [feedback.Source] of its own, and serves as who stands behind another
// one in [TestSource]. Set the fields before the first use; its methods are then safe for
// concurrent use.
type Person struct {
	Name  string // becomes the answer's By
	Rules []Rule

	mu    sync.Mutex
	used  map[int]int
	heard []string
}

var _ feedback.Source = (*Person)(nil)

// Reply is what the person says to a text; ok is false when they say nothing.
func (p *Person) Reply(text string) (answer string, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard = append(p.heard, text)
	for i, rule := range p.Rules {
		if !strings.Contains(text, rule.About) || rule.Times > 0 && p.used[i] >= rule.Times {
			continue
		}
		if p.used == nil {
			p.used = map[int]int{}
		}
		p.used[i]++
		return rule.Say, true
	}
	return "", false
}

// Heard are the texts that the person was asked to reply to, in order.
func (p *Person) Heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.heard...)
}

// Run implements [feedback.Source]. A question that somebody else has answered first, or
// that takes another answer than the person gives, is left.
func (p *Person) Run(ctx context.Context, in *feedback.Inbox) error {
	for e, err := range in.Follow(ctx, feedback.Filter{}) {
		if err != nil {
			return err
		}
		said, ok := p.Reply(e.Text)
		if !ok {
			continue
		}
		_, err = in.Answer(ctx, e.ID, feedback.Answer{Value: said, By: p.Name, Source: "person"})
		if err != nil && !harmless(err) && ctx.Err() == nil {
			return err
		}
	}
	return ctx.Err()
}

// harmless reports whether an error says only that this answer is not taken.
func harmless(err error) bool {
	var answered *feedback.AnsweredError
	var expired *feedback.ExpiredError
	var withdrawn *feedback.WithdrawnError
	var wrong *feedback.AnswerError
	return errors.As(err, &answered) || errors.As(err, &expired) || errors.As(err, &withdrawn) || errors.As(err, &wrong) ||
		errors.Is(err, feedback.ErrNotFound) || errors.Is(err, feedback.ErrSecretElsewhere)
}
