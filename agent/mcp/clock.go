package mcp

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errHardLimit ends a call that made progress for too long.
var errHardLimit = errors.New("call timeout: the hard limit")

// callClock limits a call. Progress winds it up again, until the hard limit.
type callClock struct {
	limit   time.Duration // since the last progress
	hardEnd time.Time
	end     context.CancelCauseFunc

	mu      sync.Mutex
	timer   *time.Timer
	stopped bool
}

// startCallClock returns the context of a call, which ends with [errCallLimit] or
// [errHardLimit] as its cause.
func startCallClock(ctx context.Context, limit, hard time.Duration) (context.Context, *callClock) {
	limited, end := context.WithCancelCause(ctx)
	c := &callClock{limit: limit, hardEnd: time.Now().Add(hard), end: end}
	c.wind()
	return limited, c
}

// wind starts the time anew.
func (c *callClock) wind() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopped {
		return
	}
	limit, why := c.limit, errCallLimit
	if left := time.Until(c.hardEnd); left < limit {
		limit, why = left, errHardLimit
	}
	if c.timer != nil {
		c.timer.Stop()
	}
	c.timer = time.AfterFunc(limit, func() { c.end(why) })
}

// stop ends the context and frees the timer.
func (c *callClock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stopped = true
	c.timer.Stop()
	c.end(context.Canceled)
}

// pause waits, or returns the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
