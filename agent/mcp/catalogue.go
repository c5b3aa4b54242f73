package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// Waits of a list that is read again.
const (
	// quietTime is how long a server must have said nothing of changes before its
	// list is read: changes come in bursts.
	quietTime = 50 * time.Millisecond
	// maxQuietWait ends the wait for a server that is never quiet.
	maxQuietWait = 500 * time.Millisecond
	// maxRelistTime limits a reading where an older list is there to go on with.
	maxRelistTime = 20 * time.Second
	// After a reading that failed, the next waits firstRelistDelay, then twice as
	// long each time, up to maxRelistDelay.
	firstRelistDelay = time.Second
	maxRelistDelay   = time.Minute
)

// catalogue is what a session knows of its server's tools. It is guarded by the
// session's lock.
type catalogue struct {
	tools []agent.Tool
	known bool // tools was read once; an older list is better than none
	stale bool // the server may have others by now

	changes   int       // counts what made it stale
	changedAt time.Time // the last change that the server told of
	reading   *reading  // under way

	failures int // readings that failed since one did not
	retryAt  time.Time
}

// reading is one reading of the list, shared by all who wait for it.
type reading struct {
	done chan struct{}
	err  error // why there is no list; nil when there is one, be it an old one
}

// changed notes that the server told of a change.
func (c *catalogue) changed(now time.Time) {
	c.stale, c.changedAt = true, now
	c.changes++
}

// restarted notes that another process serves, which may be another version.
func (c *catalogue) restarted() {
	c.stale, c.failures, c.retryAt = true, 0, time.Time{}
	c.changes++
}

func (c *catalogue) read(tools []agent.Tool, changes int) {
	c.tools, c.known, c.failures = tools, true, 0
	c.stale = c.changes != changes // it changed while it was read
}

func (c *catalogue) failed(now time.Time) {
	c.retryAt = now.Add(min(firstRelistDelay<<min(c.failures, 16), maxRelistDelay))
	c.failures++
}

// Tools returns the server's tools as they are now. It asks the server the first
// time, after the server said that its list changed, and after a restart;
// otherwise it returns at once what is known. A burst of changes is one question,
// and so are callers at the same time.
//
// Once a list is known, no trouble of the server costs it: where it cannot be read
// again, the older one is returned, the trouble is among [Session.Problems], and a
// later call of Tools tries again. A server that died is not started for its list;
// the next call of a tool does that.
//
// The errors are those of the first reading: a [*ListError], a [*DiedError], a
// [*StartError]; and [ErrSessionClosed] or the context's.
func (s *Session) Tools(ctx context.Context) ([]agent.Tool, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, s.closedError()
	}
	if s.list.known && (!s.list.stale || !s.running() || time.Now().Before(s.list.retryAt)) {
		defer s.mu.Unlock()
		return slices.Clone(s.list.tools), nil
	}
	r := s.list.reading
	if r == nil {
		r = &reading{done: make(chan struct{})}
		s.list.reading = r
		s.work.Go(func() { s.runReading(r) })
	}
	s.mu.Unlock()

	select {
	case <-r.done:
	case <-ctx.Done():
		return nil, fmt.Errorf("mcp server %q: listing its tools: %w", s.server.Name, context.Cause(ctx))
	}
	if r.err != nil {
		return nil, r.err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.list.tools), nil
}

func (s *Session) runReading(r *reading) {
	defer close(r.done)
	s.mu.Lock()
	again := s.list.known
	s.mu.Unlock()
	limit := s.server.CallTimeout
	if again {
		limit = min(limit, maxRelistTime)
		s.awaitQuiet()
	}
	tools, changes, err := s.readList(limit)
	if err != nil && again && !s.isClosed() {
		s.report("", "its list of tools changed and cannot be read; the older one is used: "+err.Error())
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.reading = nil
	switch {
	case err == nil:
		s.list.read(tools, changes)
	case s.closed:
		r.err = s.closedError()
	case again:
		s.list.failed(time.Now())
	default:
		r.err = err
	}
}

// readList asks for the list as it is. The count of changes is that of the moment
// before it was asked for.
func (s *Session) readList(limit time.Duration) (_ []agent.Tool, changes int, err error) {
	limited, cancel := context.WithTimeoutCause(s.life, limit, errCallLimit)
	defer cancel()
	conn, err := s.connected(limited)
	if errors.Is(err, errCallLimit) {
		return nil, 0, &ListError{Server: s.server.Name, Reason: fmt.Sprintf("the server was not running again within %s", limit)}
	}
	if err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	changes = s.list.changes
	s.mu.Unlock()
	listed, err := conn.listTools(limited, limit)
	if err != nil {
		return nil, 0, err
	}
	return s.readTools(listed), changes, nil
}

// awaitQuiet waits until the server has told of no change for a while.
func (s *Session) awaitQuiet() {
	began := time.Now()
	for {
		s.mu.Lock()
		quietAt := s.list.changedAt.Add(quietTime)
		s.mu.Unlock()
		if limit := began.Add(maxQuietWait); quietAt.After(limit) {
			quietAt = limit
		}
		wait := time.Until(quietAt)
		if wait <= 0 {
			return
		}
		if pause(s.life, wait) != nil {
			return
		}
	}
}

// listChanged takes in that the server told of a change.
func (s *Session) listChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list.changed(time.Now())
}
