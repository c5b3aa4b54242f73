package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxMessage is the size in bytes of the largest message that is read. A server
// that sends a larger one is ended.
const maxMessage = 64 << 20

// stderrShown is how many bytes of a server's stderr an error quotes.
const stderrShown = 4 << 10

// stdio speaks the protocol over the pipes of a process. It implements mcp-go's
// transport.Interface in place of mcp-go's own Stdio, which cannot keep what a
// session promises: there a write to a server that does not read blocks past
// every context and holds up all other calls, a server's death is seen only when
// the last grandchild lets go of the pipe, how it ended and what it said is not
// told, and Close takes a fixed seven seconds, signals the server alone and does
// not wait for the goroutines.
type stdio struct {
	server   Server
	dir      string
	redactor *redactor
	inbox    *inbox

	proc    *process
	outbox  *outbox
	lost    chan struct{} // closed when no answer can come any more
	closing chan struct{} // closed by Close
	work    sync.WaitGroup

	mu                  sync.Mutex
	reason              string // why the connection was given up, if that was not the server's end
	loseOnce, closeOnce sync.Once
}

var _ transport.Interface = (*stdio)(nil)

func newStdio(server Server, dir string, redactor *redactor, onStray func()) *stdio {
	s := &stdio{
		server: server, dir: dir, redactor: redactor,
		outbox:  newOutbox(),
		lost:    make(chan struct{}),
		closing: make(chan struct{}),
	}
	s.inbox = newInbox(&s.server, redactor, s.reply, onStray)
	return s
}

// Start starts the process, once. The context does not bound its life.
func (s *stdio) Start(context.Context) error {
	if s.proc != nil {
		return nil
	}
	command, err := findCommand(s.server.Command, s.server.Env)
	if err != nil {
		return err
	}
	env := environment(s.server.Env, os.LookupEnv)
	s.proc, err = startProcess(command, s.server.Args, env, s.dir, stderrShown+s.redactor.longest)
	if err != nil {
		return err
	}
	s.work.Go(func() {
		if s.outbox.run(s.proc.stdin) != nil {
			s.ended("it closed its input")
		}
	})
	s.work.Go(s.read)
	s.work.Go(s.watch)
	return nil
}

// watch ends the connection when the process does, also while a grandchild holds
// its output open.
func (s *stdio) watch() {
	<-s.proc.exited
	select {
	case <-s.proc.stdoutDone: // every answer that the server wrote is delivered
	case <-s.proc.gone:
	}
	s.lose()
}

func (s *stdio) lose() {
	s.loseOnce.Do(func() {
		s.outbox.close()
		close(s.lost)
	})
}

// Abandon kills a server that is of no use any more, and says why.
func (s *stdio) Abandon(reason string) {
	s.mu.Lock()
	if s.reason == "" {
		s.reason = reason
	}
	s.mu.Unlock()
	s.lose()
	s.proc.kill()
}

// Lost is closed when no answer can come any more.
func (s *stdio) Lost() <-chan struct{} { return s.lost }

// Cause tells how a lost connection ended, once the process is reaped or the
// context ends.
func (s *stdio) Cause(ctx context.Context) error {
	select {
	case <-s.proc.gone:
	case <-ctx.Done():
	}
	status := s.proc.ending()
	s.mu.Lock()
	if s.reason != "" {
		status = s.reason
	}
	s.mu.Unlock()
	return &DiedError{Server: s.server.Name, Status: status, Stderr: s.Stderr()}
}

// Stderr is the end of what the server wrote to its standard error.
func (s *stdio) Stderr() string {
	if s.proc == nil {
		return ""
	}
	text := s.redactor.text(s.proc.tail.String())
	return text[max(0, len(text)-stderrShown):]
}

// unsentError says that a request was taken back before the server saw any of it.
type unsentError struct{ cause error }

func (e *unsentError) Error() string { return "not sent: " + e.cause.Error() }
func (e *unsentError) Unwrap() error { return e.cause }

// errUnread says that the server has stopped reading, and did not get the request
// whole.
var errUnread = errors.New("the server has stopped reading its input")

// SendRequest sends a request and waits for its answer. Its errors are the
// context's, an [*unsentError], or the connection's end, which wraps
// transport.ErrTransportClosed.
func (s *stdio) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	if err := ctx.Err(); err != nil {
		return nil, &unsentError{err}
	}
	line, err := encodeLine(request)
	if err != nil {
		return nil, &unsentError{err}
	}
	answer, forget := s.inbox.expect(request.ID)
	defer forget()

	message, err := s.outbox.send(line)
	if errors.Is(err, errOutboxClosed) {
		// The server takes nothing any more. It is lost as soon as it is known whether
		// it ends by itself, and only then can the call go to the next one.
		select {
		case <-s.lost:
			err = transport.ErrTransportClosed
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	if err != nil {
		return nil, &unsentError{err}
	}
	select {
	case response := <-answer:
		return response, nil
	case <-s.lost:
		select {
		case response := <-answer: // it came just before the end
			return response, nil
		default:
		}
		if s.outbox.withdraw(message) == unsent {
			return nil, &unsentError{transport.ErrTransportClosed}
		}
		return nil, transport.ErrTransportClosed
	case <-ctx.Done():
		stuck, far, err := s.outbox.isStuck(), s.outbox.withdraw(message), ctx.Err()
		if stuck && far != sent {
			err = fmt.Errorf("%w: %w", errUnread, err)
		}
		if far == unsent {
			return nil, &unsentError{err}
		}
		return nil, err
	}
}

// SendNotification queues a notification. It does not wait for the server.
func (s *stdio) SendNotification(_ context.Context, notification mcp.JSONRPCNotification) error {
	line, err := encodeLine(notification)
	if err != nil {
		return err
	}
	_, err = s.outbox.send(line)
	return err
}

// SetNotificationHandler sets what is called, from the reading goroutine, with
// each notification.
func (s *stdio) SetNotificationHandler(handler func(mcp.JSONRPCNotification)) {
	s.inbox.setNotify(handler)
}

// reply answers a request of the server.
func (s *stdio) reply(id mcp.RequestId, method string) {
	line, err := encodeLine(replyTo(id, method))
	if err == nil { // an id that does not encode cannot have been decoded
		s.outbox.offer(line)
	}
}

// GetSessionId is empty: a process is its own session.
func (s *stdio) GetSessionId() string { return "" } //nolint:revive // the interface's name

// Close ends the process within the server's CloseTimeout and waits for all that
// was started. It may be called more than once.
func (s *stdio) Close() error {
	if s.proc == nil {
		return nil
	}
	s.closeOnce.Do(func() { close(s.closing) })
	s.lose()
	if !s.proc.stop(s.server.CloseTimeout) {
		return fmt.Errorf("mcp server %q (process %d): %w within %s", s.server.Name, s.proc.cmd.Process.Pid, ErrStillRunning, s.server.CloseTimeout)
	}
	s.work.Wait()
	return nil
}

// read takes in what the server writes until its output ends.
func (s *stdio) read() {
	defer close(s.proc.stdoutDone)
	in := bufio.NewReaderSize(s.proc.stdout, 64<<10)
	for {
		line, err := readLine(in, maxMessage)
		if len(bytes.TrimSpace(line)) > 0 {
			s.inbox.receive(line, false, nil) // many servers print banners and debug output
		}
		switch {
		case err == nil:
		case errors.Is(err, errTooLong):
			s.Abandon(fmt.Sprintf("it sent a message of more than %d MB", maxMessage>>20))
			return
		default:
			s.ended("it closed its output")
			return
		}
	}
}

// ended gives up a server that closed one of its pipes and lives on. A server that
// is about to exit closes them too, and is left the time for it.
func (s *stdio) ended(how string) {
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-s.proc.exited:
	case <-s.closing:
	case <-timer.C:
		s.Abandon(how)
	}
}

var errTooLong = errors.New("message too long")

// readLine returns the next line without a copy where it fits in the buffer. The
// last line may lack its newline.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var long []byte
	for {
		chunk, err := in.ReadSlice('\n')
		if len(long)+len(chunk) > limit {
			return nil, errTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			if long == nil {
				return chunk, err
			}
			return append(long, chunk...), err
		}
		long = append(long, chunk...)
	}
}

func encodeLine(message any) ([]byte, error) {
	data, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	return append(data, '\n'), nil
}
