package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
)

// Steering is a queue of messages to a loop that runs. A message enters the
// conversation at the next safe boundary: before the next model call, when every
// tool call of the last reply has its result. A loop whose model has just given
// its answer goes on for another turn when a message waits.
//
// It serves one loop at a time and may serve several after another, such as the
// attempts of a step. The zero value is ready to use; it is safe for concurrent
// use and must not be copied after its first use.
type Steering struct {
	mu      sync.Mutex
	running bool
	queue   []Message
}

// Send queues messages. It does not wait: the loop's OnSteer tells when they have
// entered and are recorded. Without a loop that runs the error is
// [ErrNoActiveAgent] and nothing is queued.
func (s *Steering) Send(messages ...Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.running {
		return ErrNoActiveAgent
	}
	s.queue = append(s.queue, messages...)
	return nil
}

// Pending returns the messages that were queued and have not entered. A loop that
// ends with an error leaves them here for the next one.
func (s *Steering) Pending() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.queue)
}

var errSteered = errors.New("this Steering already serves a loop that runs; give each loop its own")

func (s *Steering) start() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		return errSteered
	}
	s.running = true
	return nil
}

func (s *Steering) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
}

// stopIfEmpty ends the taking of messages unless one waits.
func (s *Steering) stopIfEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue) > 0 {
		return false
	}
	s.running = false
	return true
}

// entered forgets the first n messages.
func (s *Steering) entered(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = slices.Clone(s.queue[n:])
}

var errNothingQueued = errors.New("no message is queued")

func steerKey(turn int) string { return "turn/" + strconv.Itoa(turn) + "/steer" }

// steer lets messages enter before the model call of a turn: those that the
// journal has for it, else those that wait. It is called inside the call's own Do,
// so it never adds to a turn whose reply is recorded.
func (r *run) steer(ctx context.Context, turn int) (bool, error) {
	var waiting []Message
	if r.Steering != nil {
		waiting = r.Steering.Pending()
	}
	if len(waiting) == 0 && (r.live || r.Journal == nil) {
		// Behind a reply that this process was given nothing can be recorded.
		return false, nil
	}
	took := 0
	record, err := do(ctx, r.Journal, steerKey(turn), r.conv.Digest(), func(context.Context) ([]byte, error) {
		if len(waiting) == 0 {
			return nil, errNothingQueued
		}
		took = len(waiting)
		return json.Marshal(waiting)
	})
	switch {
	case errors.Is(err, errNothingQueued):
		return false, nil
	case err != nil:
		return false, err
	}
	if took > 0 {
		r.Steering.entered(took)
	}
	return true, r.enter(turn, record, took == 0)
}

// steerRecorded lets the recorded messages of a turn enter. Without any it
// reports false.
func (r *run) steerRecorded(ctx context.Context, turn int) (bool, error) {
	record, err := r.steerRecord(ctx, turn)
	if err != nil || record == nil {
		return false, err
	}
	return true, r.enter(turn, record, true)
}

// steerRecord returns the record of a turn's messages; nil when there is none.
func (r *run) steerRecord(ctx context.Context, turn int) ([]byte, error) {
	if r.Journal == nil {
		return nil, nil
	}
	record, err := r.Journal.Do(ctx, steerKey(turn), r.conv.Digest(), func(context.Context) ([]byte, error) {
		return nil, errNothingQueued
	})
	if errors.Is(err, errNothingQueued) {
		return nil, nil
	}
	return record, err
}

// enter appends recorded messages to the conversation.
func (r *run) enter(turn int, record []byte, replayed bool) error {
	var messages []Message
	if err := json.Unmarshal(record, &messages); err != nil {
		return fmt.Errorf("record %s: %w", steerKey(turn), err)
	}
	for i := range messages {
		r.conv.appendRecorded(messages[i], record)
	}
	r.result.Steered += len(messages)
	if r.OnSteer != nil {
		r.OnSteer(turn, messages, replayed)
	}
	return nil
}

// maySteerOn reports whether the loop goes on although the model has answered: a
// message waits, or one was taken at this place before an interruption. An
// answer that comes from the journal is final when nothing is recorded after it,
// because what follows the loop may be recorded already.
func (r *run) maySteerOn(ctx context.Context, turn int, answer *Reply) (bool, error) {
	if answer.Replayed {
		record, err := r.steerRecord(ctx, turn+1)
		return record != nil, err
	}
	return r.Steering != nil && !r.Steering.stopIfEmpty(), nil
}
