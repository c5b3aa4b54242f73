package mcp

import (
	"errors"
	"io"
	"sync"
	"time"
)

const (
	// maxQueued is how many bytes may wait for a server that does not read.
	maxQueued = 64 << 20
	// maxOffered is how many may wait for something to be sent that is not
	// important: a server that asks much and reads nothing must not take the room of
	// its calls, whose limits end it.
	maxOffered = 1 << 20
	// stuckTime is how long a write may take before the server counts as one that
	// does not read.
	stuckTime = 500 * time.Millisecond
)

var (
	errQueueFull    = errors.New("the server does not read its input; too much is waiting for it")
	errOutboxClosed = errors.New("the connection is closed")
)

// outbox writes messages to a server's input in order. Sending never waits for
// the server: a pipe that nobody reads holds about 64 KB, and a write to it would
// outlast any timeout.
type outbox struct {
	mu     sync.Mutex
	queue  []*outgoing
	queued int       // bytes
	began  time.Time // of the write that is under way; zero when none is
	closed bool
	wake   chan struct{} // holds one token when there is something to do
}

// outgoing is one message on its way. Its state is guarded by the outbox.
type outgoing struct {
	data    []byte
	started bool // the server may have seen a part of it
	written bool // all of it is in the pipe
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// send queues a message, which must end in a newline.
func (o *outbox) send(data []byte) (*outgoing, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return nil, errOutboxClosed
	}
	// One message may be larger than the limit; it must only not wait behind others.
	if o.queued > 0 && o.queued+len(data) > maxQueued {
		return nil, errQueueFull
	}
	m := &outgoing{data: data}
	o.queue = append(o.queue, m)
	o.queued += len(data)
	o.signal()
	return m, nil
}

// offer sends a message if there is room for what is not important.
func (o *outbox) offer(data []byte) {
	o.mu.Lock()
	full := o.queued > maxOffered
	o.mu.Unlock()
	if !full {
		_, _ = o.send(data) // a connection that is ending needs no more
	}
}

// progress is how far a message got.
type progress int

const (
	unsent  progress = iota // withdrawn: the server will never see it
	partial                 // begun, and stuck in the pipe
	sent
)

// withdraw takes a message back if nothing of it was written, and tells how far
// it got.
func (o *outbox) withdraw(m *outgoing) progress {
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case m.written:
		return sent
	case m.started:
		return partial
	}
	for i, waiting := range o.queue {
		if waiting == m {
			o.queue = append(o.queue[:i], o.queue[i+1:]...)
			o.queued -= len(m.data)
			break
		}
	}
	return unsent
}

// run writes until the outbox is closed, which is no error, or a write fails.
func (o *outbox) run(w io.Writer) error {
	for {
		m, ok := o.next()
		if !ok {
			return nil
		}
		_, err := w.Write(m.data)
		o.finish(m, err == nil)
		if err != nil {
			o.close()
			return err
		}
	}
}

// isStuck reports whether a write has been waiting for the server for so long that
// it has stopped reading. A message that did not leave by its limit proves
// nothing: it may have come a moment before that.
func (o *outbox) isStuck() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.began.IsZero() && time.Since(o.began) >= stuckTime
}

func (o *outbox) next() (*outgoing, bool) {
	for {
		o.mu.Lock()
		if o.closed {
			o.mu.Unlock()
			return nil, false
		}
		if len(o.queue) > 0 {
			m := o.queue[0]
			o.queue = o.queue[1:]
			m.started = true
			o.began = time.Now()
			o.mu.Unlock()
			return m, true
		}
		o.mu.Unlock()
		<-o.wake
	}
}

func (o *outbox) finish(m *outgoing, written bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	m.written = written
	o.began = time.Time{}
	o.queued -= len(m.data)
	m.data = nil
}

func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}
