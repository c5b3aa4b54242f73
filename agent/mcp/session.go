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
	list     catalogue
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
	conn, err := connect(ctx, &s.server, s.newWire(), s.redactor, s.listChanged)
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
	if masked := clipped(s.redactor.text(text), 2*maxErrorText); masked != text {
		failed.Err = errors.New(masked)
	}
	return err
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
		return nil, s.closedError()
	}
	if s.running() {
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
	s.list.restarted()
}

func (s *Session) startAgain(dead *connection, delay time.Duration) (*connection, error) {
	if dead != nil {
		s.server.Logger.Warn("starting the server again", "cause", dead.wire.Cause(s.life), "delay", delay)
		if err := dead.wire.Close(); err != nil {
			s.server.Logger.Error("what a dead server left could not be ended", "error", err)
		}
	}
	if pause(s.life, delay) != nil {
		return nil, s.closedError()
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

// running reports whether there is a server to ask. The caller holds the lock.
func (s *Session) running() bool { return s.conn != nil && !lost(s.conn.wire) }

func (s *Session) closedError() error {
	return fmt.Errorf("mcp server %q: %w", s.server.Name, ErrSessionClosed)
}

func (s *Session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// report notes a problem, and logs it the first time.
func (s *Session) report(tool, message string) {
	p := Problem{Server: s.server.Name, Tool: s.redactor.text(tool), Message: clipped(s.redactor.text(message), maxLogMessage)}
	if s.remember(p) {
		s.server.Logger.Warn("mcp server problem", "tool", p.Tool, "problem", p.Message)
	}
}

func (s *Session) remember(p Problem) (first bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.problems, p) || len(s.problems) >= maxProblems {
		return false
	}
	s.problems = append(s.problems, p)
	return true
}
