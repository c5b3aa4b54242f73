package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// Backoff between restarts of a server that dies again and again. The first
// restart is at once.
const (
	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 30 * time.Second
)

// maxProblems bounds what a server can make a session remember.
const maxProblems = 1000

// Session is a running server: an agent.ToolSession that starts the server again
// when it has died and is needed. It is safe for concurrent use.
type Session struct {
	server   Server
	dir      string
	redactor *redactor

	life context.Context // ends with Close; bounds restarts, which serve many callers
	end  context.CancelFunc
	work sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	conn     *connection
	restart  *restart // under way
	restarts int      // since the last answer to a call
	tools    []agent.Tool
	current  bool // tools is what the running server has
	changes  int  // counts what may have made tools out of date
	problems []Problem

	closing  sync.Once
	closeErr error
}

var _ agent.ToolSession = (*Session)(nil)

// restart is one attempt that all calls share which need the server meanwhile.
type restart struct {
	done chan struct{}
	conn *connection
	err  error
}

func newSession(server Server, dir string) *Session {
	life, end := context.WithCancel(context.Background())
	return &Session{
		server: server, dir: dir, life: life, end: end,
		redactor: newRedactor(server.secrets()),
	}
}

func (s *Session) start(ctx context.Context) error {
	conn, err := s.connect(ctx)
	if err != nil {
		s.end()
		return err
	}
	s.conn = conn
	return nil
}

func (s *Session) connect(ctx context.Context) (*connection, error) {
	conn, err := connect(ctx, &s.server, s.newWire(), s.listChanged)
	return conn, s.masked(err)
}

func (s *Session) newWire() wire {
	if s.server.URL != "" {
		return newHTTPWire(s.server, s.redactor, func() {
			s.report("", "sends events that are not of the protocol; they are passed over")
		})
	}
	return newStdio(s.server, s.dir, s.redactor, func() {
		s.report("", "writes to its standard output what is not of the protocol; those lines are passed over")
	})
}

// masked keeps secrets out of a start error: the command may hold one, and a
// server may quote what it was given.
func (s *Session) masked(err error) error {
	var failed *StartError
	if !errors.As(err, &failed) {
		return err
	}
	failed.Command, failed.URL = s.redactor.text(failed.Command), s.redactor.text(failed.URL)
	text := failed.Err.Error()
	if masked := s.redactor.text(text); masked != text {
		failed.Err = errors.New(masked)
	}
	return err
}

// Tools returns the server's tools as they are now. The list is asked for again
// after the server said that it changed, and after a restart. Its errors are a
// [*ListError], a [*DiedError], a [*StartError], [ErrSessionClosed] or the
// context's.
func (s *Session) Tools(ctx context.Context) ([]agent.Tool, error) {
	limited, cancel := context.WithTimeoutCause(ctx, s.server.CallTimeout, errCallLimit)
	defer cancel()
	conn, err := s.connected(limited)
	if errors.Is(err, errCallLimit) {
		return nil, &ListError{Server: s.server.Name, Reason: fmt.Sprintf("the server was not running again within %s", s.server.CallTimeout)}
	}
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	if s.current {
		defer s.mu.Unlock()
		return slices.Clone(s.tools), nil
	}
	changes := s.changes
	s.mu.Unlock()

	listed, err := conn.listTools(limited)
	switch {
	case err != nil && s.isClosed():
		return nil, fmt.Errorf("mcp server %q: %w", s.server.Name, ErrSessionClosed)
	case err != nil:
		return nil, err
	}
	tools := s.readTools(listed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
	s.current = s.changes == changes // else it changed while it was read, and is read again next time
	return slices.Clone(tools), nil
}

// Problems returns what was noticed about the server and did not stop it, such as
// tools that were left out, each once, oldest first.
func (s *Session) Problems() []Problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Close ends the session. A server behind a URL is told, which may take half of
// [Server.CloseTimeout], and the connections are closed. A server that was started
// is ended: its input is closed, then it gets SIGTERM, then its whole
// process group SIGKILL, within [Server.CloseTimeout] and at most a second and a
// half more for a kill. Calls under way fail with [ErrSessionClosed]. When Close
// returns nil, no process of the group, goroutine or descriptor is left; it is
// [ErrStillRunning] otherwise. Later calls of Close return the same.
func (s *Session) Close() error {
	s.closing.Do(func() {
		s.mu.Lock()
		s.closed = true
		s.mu.Unlock()
		s.end()
		s.work.Wait() // a restart under way gives up, and cleans up, by itself
		s.mu.Lock()
		conn := s.conn
		s.mu.Unlock()
		if conn != nil {
			s.closeErr = conn.wire.Close()
		}
	})
	return s.closeErr
}

// connected returns the running server, and starts it again if it has died.
func (s *Session) connected(ctx context.Context) (*connection, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, fmt.Errorf("mcp server %q: %w", s.server.Name, ErrSessionClosed)
	}
	if s.conn != nil && !lost(s.conn.wire) {
		defer s.mu.Unlock()
		return s.conn, nil
	}
	r := s.restart
	if r == nil {
		r = &restart{done: make(chan struct{})}
		s.restart = r
		dead := s.conn
		s.conn = nil
		s.restarts++
		delay := backoff(s.restarts)
		s.work.Go(func() { s.runRestart(r, dead, delay) })
	}
	s.mu.Unlock()

	select {
	case <-r.done:
		return r.conn, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func (s *Session) runRestart(r *restart, dead *connection, delay time.Duration) {
	defer close(r.done)
	r.conn, r.err = s.startAgain(dead, delay)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restart = nil
	s.conn = r.conn
	s.outdated()
}

func (s *Session) startAgain(dead *connection, delay time.Duration) (*connection, error) {
	if dead != nil {
		s.server.Logger.Warn("starting the server again", "cause", dead.wire.Cause(s.life), "delay", delay)
		if err := dead.wire.Close(); err != nil {
			s.server.Logger.Error("what a dead server left could not be ended", "error", err)
		}
	}
	timer := time.NewTimer(delay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.life.Done():
		return nil, fmt.Errorf("mcp server %q: %w", s.server.Name, ErrSessionClosed)
	}
	conn, err := s.connect(s.life)
	if err != nil && s.life.Err() != nil {
		err = errors.Join(ErrSessionClosed, err)
	}
	return conn, err
}

// backoff is how long the nth restart without an answered call in between waits.
func backoff(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	return min(firstBackoff<<min(n-2, 16), maxBackoff)
}

// answered notes that the server works.
func (s *Session) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.restarts = 0
}

func (s *Session) listChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.outdated()
}

func (s *Session) outdated() {
	s.current = false
	s.changes++
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

func (s *Session) report(tool, message string) {
	p := Problem{Server: s.server.Name, Tool: tool, Message: s.redactor.text(message)}
	s.mu.Lock()
	known := slices.Contains(s.problems, p)
	if !known && len(s.problems) < maxProblems {
		s.problems = append(s.problems, p)
	}
	s.mu.Unlock()
	if !known {
		s.server.Logger.Warn("mcp server problem", "tool", tool, "problem", p.Message)
	}
}
