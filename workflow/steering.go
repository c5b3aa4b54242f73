package workflow

import (
	"fmt"
	"sync"

	"github.com/treadle-dev/treadle/agent"
)

// steering is the queues to the agents that run, by step.
type steering struct {
	mu     sync.Mutex
	queues map[string]*agent.Steering
}

func (s *steering) open(step string) *agent.Steering {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queues == nil {
		s.queues = map[string]*agent.Steering{}
	}
	queue := &agent.Steering{}
	s.queues[step] = queue
	return queue
}

func (s *steering) close(step string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.queues, step)
}

// Steer queues a message to the agent of a step that runs. It enters the
// conversation before the agent's next model call, and is recorded then; see
// [agent.Steering]. The error matches [agent.ErrNoActiveAgent] when no agent of
// that step runs.
func (r *Run) Steer(step, text string) error {
	r.steering.mu.Lock()
	queue := r.steering.queues[step]
	r.steering.mu.Unlock()
	if queue == nil {
		return fmt.Errorf("step %s: %w", step, agent.ErrNoActiveAgent)
	}
	if err := queue.Send(agent.UserMessage(text)); err != nil {
		return fmt.Errorf("step %s: %w", step, err)
	}
	return nil
}
