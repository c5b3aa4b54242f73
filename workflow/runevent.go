package workflow

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// RunEventKind says what a [RunEvent] tells.
type RunEventKind string

// The kinds of run events.
const (
	RunStarted    RunEventKind = "run_started"
	RunResumed    RunEventKind = "run_resumed"
	RunEnded      RunEventKind = "run_ended"
	StepStarted   RunEventKind = "step_started"
	StepCompleted RunEventKind = "step_completed"
	StepFailed    RunEventKind = "step_failed"
	AttemptFailed RunEventKind = "attempt_failed"
	ModelReplied  RunEventKind = "model_replied"
	ToolCalled    RunEventKind = "tool_called"
	ModelFailed   RunEventKind = "model_failed" // a model call; Retrying says whether another one follows
)

// RunEvent is one thing that happened in a run. It is plain data.
type RunEvent struct {
	Seq     int64        `json:"seq"` // from 1, without gaps, in this process
	Time    time.Time    `json:"time"`
	Kind    RunEventKind `json:"kind"`
	RunID   string       `json:"run_id,omitempty"`
	Step    string       `json:"step,omitempty"`
	Visit   int          `json:"visit,omitempty"`
	Attempt int          `json:"attempt,omitempty"`
	Turn    int          `json:"turn,omitempty"`
	// Tool is the tool's name, of a ToolCalled.
	Tool string `json:"tool,omitempty"`
	// Usage and Model are of a ModelReplied and a ModelFailed.
	Usage *agent.Usage `json:"usage,omitempty"`
	Model string       `json:"model,omitempty"`
	// Retrying is of a ModelFailed.
	Retrying bool `json:"retrying,omitempty"`
	// Status is of a RunEnded.
	Status Status `json:"status,omitempty"`
	// Replayed says that the reply or result came from the journal: it was neither
	// paid nor done again.
	Replayed bool `json:"replayed,omitempty"`
	// Error says why something failed: the cause of a failed step or run, what a
	// failed validation found, or what a tool reported.
	Error string `json:"error,omitempty"`
}

// FromStart is the position before a run's first event, for [Run.Events].
const FromStart int64 = 0

// eventLog holds a run's events of this process. Appending never waits for a
// reader, and readers keep their own position.
type eventLog struct {
	now func() time.Time

	mu     sync.Mutex
	chunks [][]RunEvent // all full but the last, so that growing copies nothing
	length int64
	ended  bool
	wake   chan struct{} // closed at the next event; nil while nobody waits
}

const eventChunk = 128

func (l *eventLog) append(ev RunEvent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.length%eventChunk == 0 {
		l.chunks = append(l.chunks, make([]RunEvent, 0, eventChunk))
	}
	l.length++
	ev.Seq = l.length
	if ev.Time.IsZero() {
		ev.Time = l.now()
	}
	last := len(l.chunks) - 1
	l.chunks[last] = append(l.chunks[last], ev)
	l.wakeReaders()
}

// end tells readers that no event follows.
func (l *eventLog) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	l.wakeReaders()
}

func (l *eventLog) wakeReaders() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// at returns the event after position, or what to wait for, or neither at the end.
func (l *eventLog) at(position int64) (ev RunEvent, wait chan struct{}, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if position < l.length {
		return l.chunks[position/eventChunk][position%eventChunk], nil, true
	}
	if l.ended {
		return RunEvent{}, nil, false
	}
	if l.wake == nil {
		l.wake = make(chan struct{})
	}
	return RunEvent{}, l.wake, false
}

// read yields the events after a position and follows until the run ends or the
// context does; the context's error is then the last thing it yields.
func (l *eventLog) read(ctx context.Context, position int64) iter.Seq2[RunEvent, error] {
	return func(yield func(RunEvent, error) bool) {
		for position := max(position, 0); ; {
			ev, wait, ok := l.at(position)
			switch {
			case ok:
				position++
				if !yield(ev, nil) {
					return
				}
			case wait == nil:
				return
			default:
				select {
				case <-wait:
				case <-ctx.Done():
					yield(RunEvent{}, ctx.Err())
					return
				}
			}
		}
	}
}
