package openai

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// drainTime is how long a finished stream may take to close, so that its
// connection can be used again.
const drainTime = 100 * time.Millisecond

// watch bounds one call: in all, and in the silence while a body is read.
type watch struct {
	ctx    context.Context
	caller context.Context
	cancel context.CancelCauseFunc
	whole  time.Duration
	idle   time.Duration
	total  *time.Timer
	timer  *time.Timer // nil when silence is not bounded
}

// newWatch starts the clock of a call. A negative bound is none.
func newWatch(caller context.Context, whole, idle time.Duration) *watch {
	ctx, cancel := context.WithCancelCause(caller)
	w := &watch{ctx: ctx, caller: caller, cancel: cancel, whole: whole, idle: idle}
	if whole > 0 {
		w.total = time.AfterFunc(whole, func() { cancel(agent.ErrReplyTimeout) })
	}
	if idle > 0 {
		w.timer = time.AfterFunc(idle, func() { cancel(agent.ErrReplyStalled) })
		w.timer.Stop()
	}
	return w
}

func (w *watch) stop() {
	for _, t := range []*time.Timer{w.total, w.timer} {
		if t != nil {
			t.Stop()
		}
	}
	w.cancel(context.Canceled)
}

func (w *watch) callerLeft() bool { return w.caller.Err() != nil }

// reader watches the reads of a body. Only the time inside a read counts, so a
// slow sink is no silence.
func (w *watch) reader(r io.Reader) io.Reader {
	if w.timer == nil {
		return r
	}
	return watchedReader{r, w}
}

type watchedReader struct {
	r io.Reader
	w *watch
}

func (r watchedReader) Read(p []byte) (int, error) {
	r.w.timer.Reset(r.w.idle)
	defer r.w.timer.Stop()
	return r.r.Read(p)
}

// drain reads the end of a finished body, for a moment.
func (w *watch) drain(r io.Reader) {
	t := time.AfterFunc(drainTime, func() { w.cancel(context.Canceled) })
	defer t.Stop()
	// Whatever is left or goes wrong: the reply is complete.
	_, _ = io.CopyN(io.Discard, r, 4<<10)
}

// brokenReply is the error of a call whose reply had begun; see broken.
func (w *watch) brokenReply(err error) *agent.ModelError {
	failure := w.broken(err)
	if failure.Retryable && failure.Err == err { //nolint:errorlint // the very error: broken has found no kind for it
		failure.Err = fmt.Errorf("%w: %w", agent.ErrReplyCut, err)
	}
	return failure
}

// broken is the error of a call whose connection failed, or was given up.
func (w *watch) broken(err error) *agent.ModelError {
	if w.callerLeft() {
		ended := w.caller.Err()
		if cause := context.Cause(w.caller); !errors.Is(cause, ended) {
			ended = fmt.Errorf("%w: %w", ended, cause)
		}
		return &agent.ModelError{Err: ended}
	}
	switch cause := context.Cause(w.ctx); {
	case errors.Is(cause, agent.ErrReplyTimeout):
		return &agent.ModelError{
			Message:   fmt.Sprintf("no complete reply within %s; RequestTimeout sets the limit", w.whole),
			Retryable: true, Err: agent.ErrReplyTimeout,
		}
	case errors.Is(cause, agent.ErrReplyStalled):
		return &agent.ModelError{
			Message:   fmt.Sprintf("the reply stopped arriving for %s; IdleTimeout sets the limit", w.idle),
			Retryable: true, Err: agent.ErrReplyStalled,
		}
	}
	if errors.Is(err, agent.ErrReplyTooLarge) {
		return &agent.ModelError{Message: "the reply is larger than MaxReplyBytes allows", Err: err}
	}
	// The URL may hold a secret, and says nothing that the configuration does not.
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	var certificate *tls.CertificateVerificationError
	failure := &agent.ModelError{Err: err, Retryable: !errors.As(err, &certificate)}
	if err != nil {
		failure.Message = "the connection failed: " + err.Error()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		failure.Message = "the connection closed before the reply was complete"
		failure.Err = fmt.Errorf("%w: %w", agent.ErrReplyCut, err)
	}
	return failure
}
