package feedback

import (
	"context"
	"fmt"
	"sync"
)

// secrets holds the answers to secret questions until they are taken. It is the only
// place where their values are.
type secrets struct {
	mu       sync.Mutex
	expected map[string]bool   // asked through this inbox
	values   map[string]string // given, not taken
}

func newSecrets() *secrets {
	return &secrets{expected: map[string]bool{}, values: map[string]string{}}
}

func (s *secrets) expect(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expected[id] = true
}

func (s *secrets) expects(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.expected[id]
}

func (s *secrets) holds(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, held := s.values[id]
	return held
}

func (s *secrets) take(id string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, held := s.values[id]
	delete(s.values, id)
	delete(s.expected, id)
	return value, held
}

func (s *secrets) forget(id string) { _, _ = s.take(id) }

// answerSecret records that the answer was given, and keeps its value in memory. Two
// answers at once are kept apart here, so that the value that is held belongs to the
// answer that is recorded.
func (in *Inbox) answerSecret(ctx context.Context, e *Entry, a Answer) (*Entry, error) {
	if !in.secrets.expects(e.ID) {
		return nil, fmt.Errorf("question %s: %w: resume run %s there and answer when it asks", e.ID, ErrSecretElsewhere, e.Run)
	}
	value := a.Value
	a.Value = ""
	after, changed, err := in.recordSecret(ctx, e, a, value)
	if changed {
		if err != nil { // its time is over
			in.secrets.forget(e.ID)
		}
		in.announce(after)
	}
	if err != nil {
		return nil, err
	}
	return after, nil
}

func (in *Inbox) recordSecret(ctx context.Context, e *Entry, a Answer, value string) (*Entry, bool, error) {
	in.secrets.mu.Lock()
	defer in.secrets.mu.Unlock()
	after, changed, err := in.record(ctx, e, a)
	if err == nil {
		in.secrets.values[e.ID] = value
	}
	return after, changed, err
}

// TakeSecret hands out the answer to a secret question, once. The error matches
// [ErrSecretGone] when it is not held here.
func (in *Inbox) TakeSecret(id string) (string, error) {
	value, held := in.secrets.take(id)
	if !held {
		return "", fmt.Errorf("question %s: %w", id, ErrSecretGone)
	}
	return value, nil
}
