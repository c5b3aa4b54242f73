package sandbox

import (
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// streams are the pipes between a command and the host. Each output has a goroutine of
// its own, so that a command is never stopped by a full pipe for longer than its
// writer takes.
type streams struct {
	session *session
	in      [3]*os.File // the command's ends of 0, 1 and 2
	input   *os.File    // ours of 0; nil when it is empty
	outputs []output

	left  atomic.Int64 // bytes of Limits.Output
	tasks sync.WaitGroup
	mu    sync.Mutex
	errs  []error
}

type output struct {
	pipe *os.File
	to   io.Writer
}

func openStreams(s *session) (_ *streams, err error) {
	st := &streams{session: s}
	st.left.Store(s.limits.Output)
	defer func() {
		if err != nil {
			st.close()
		}
	}()
	if s.command.Stdin == nil {
		st.in[0], err = os.Open(os.DevNull)
	} else {
		st.in[0], st.input, err = os.Pipe()
	}
	if err != nil {
		return nil, err
	}
	if st.in[1], err = st.pipe(s.command.Stdout); err != nil {
		return nil, err
	}
	if sameWriter(s.command.Stdout, s.command.Stderr) {
		st.in[2] = st.in[1]
		return st, nil
	}
	st.in[2], err = st.pipe(s.command.Stderr)
	return st, err
}

// sameWriter reports whether two writers are one; values that cannot be compared are
// not.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}

func (st *streams) pipe(to io.Writer) (*os.File, error) {
	if to == nil {
		to = io.Discard
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	st.outputs = append(st.outputs, output{ours, to})
	return theirs, nil
}

func (st *streams) inside() []*os.File { return []*os.File{st.in[0], st.in[1], st.in[2]} }

// closeInside lets go of the command's ends, so that ours see their end.
func (st *streams) closeInside() {
	for i, end := range st.in {
		if end != nil && (i != 2 || end != st.in[1]) {
			_ = end.Close()
		}
	}
	st.in = [3]*os.File{}
}

// copy starts to carry input and output.
func (st *streams) copy() {
	if st.input != nil {
		st.tasks.Go(func() {
			_, err := io.Copy(onlyWriter{st.input}, st.session.command.Stdin)
			_ = st.input.Close()
			if !errors.Is(err, syscall.EPIPE) && !errors.Is(err, os.ErrClosed) {
				st.note(err)
			}
		})
	}
	for _, o := range st.outputs {
		st.tasks.Go(func() { st.drain(o) })
	}
}

// onlyWriter keeps io.Copy from methods of a file that would take it out of our hands.
type onlyWriter struct{ io.Writer }

// drain carries one output to its end, and throws away what is over the limit.
func (st *streams) drain(o output) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := o.pipe.Read(buffer)
		if n > 0 {
			st.deliver(&o, buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

func (st *streams) deliver(o *output, data []byte) {
	left := st.left.Add(-int64(len(data)))
	if left < 0 {
		data = data[:max(0, int64(len(data))+left)]
		st.session.kill(LimitOutput)
	}
	if len(data) == 0 {
		return
	}
	if _, err := o.to.Write(data); err != nil {
		st.note(err)
		o.to = io.Discard
	}
}

func (st *streams) note(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if err != nil {
		st.errs = append(st.errs, err)
	}
}

// wait returns once everything was carried, which is soon after the last process of
// the sandbox is gone.
func (st *streams) wait() error {
	if st.input != nil {
		_ = st.input.Close()
	}
	st.tasks.Wait()
	return errors.Join(st.errs...)
}

func (st *streams) close() {
	st.closeInside()
	if st.input != nil {
		_ = st.input.Close()
	}
	for _, o := range st.outputs {
		_ = o.pipe.Close()
	}
}
