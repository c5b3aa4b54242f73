package agent

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"time"
)

// Figures of [DefaultRetry].
const (
	DefaultRetries      = 5           // more tries of one backend after the first
	DefaultRetryWait    = time.Second // before the first of them; each later wait is twice as long
	DefaultMaxRetryWait = 30 * time.Second
	// DefaultMaxRetryAfter is the longest wait that a provider may ask for. A
	// longer one counts as a failure that does not pass.
	DefaultMaxRetryAfter = 2 * time.Minute
)

// Retry decides after a failed try of one backend, counted from 1, whether another
// one follows, and after which wait. The loop does not wait past the end of its
// context, and tries no backend more than 100 times for a reply. It is called from several goroutines at once when loops share it.
type Retry func(try int, err error) (wait time.Duration, again bool)

// DefaultRetry repeats what [Retryable] says may pass, up to [DefaultRetries]
// times. It waits as long as the provider asks, else twice as long each time, and
// takes up to half of a wait of its own off at random, so that callers that failed
// together do not come back together.
func DefaultRetry(try int, err error) (wait time.Duration, again bool) {
	if try > DefaultRetries || !Retryable(err) {
		return 0, false
	}
	var failure *ModelError
	if errors.As(err, &failure) && failure.RetryAfter > 0 {
		spread := rand.N(failure.RetryAfter/10 + 1)
		return failure.RetryAfter + spread, failure.RetryAfter <= DefaultMaxRetryAfter
	}
	wait = min(DefaultRetryWait<<min(try-1, 10), DefaultMaxRetryWait)
	return wait - rand.N(wait/2+1), true
}

// NoRetry is the [Retry] that never repeats a call.
func NoRetry(int, error) (time.Duration, bool) { return 0, false }

// Retryable reports whether the same model call may succeed later: a [*ModelError]
// says so itself; of other errors, those of a broken connection or reply.
func Retryable(err error) bool {
	if failure, ok := errors.AsType[*ModelError](err); ok {
		return failure.Retryable
	}
	for _, broken := range []error{ErrReplyCut, ErrReplyStalled, ErrReplyTimeout, ErrReplyEmpty, io.ErrUnexpectedEOF} {
		if errors.Is(err, broken) {
			return true
		}
	}
	var network net.Error
	return errors.As(err, &network)
}

// pause waits unless the context ends first, or would.
func pause(ctx context.Context, wait time.Duration) error {
	if wait <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// fits reports whether a wait ends before the context does.
func fits(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || time.Until(deadline) > wait
}
