package agenttest

import (
	"fmt"
	"runtime/debug"
	"testing"
	"time"
)

// outcome is what came of something that was started.
type outcome[T any] struct {
	value  T
	err    error
	broken string // it panicked or did not return
}

func (o *outcome[T]) text() string {
	if o.broken != "" {
		return o.broken
	}
	return fmt.Sprintf("%+v, error %v", o.value, o.err)
}

// begin runs fn beside the caller.
func begin[T any](what string, fn func() (T, error)) <-chan outcome[T] {
	ended := make(chan outcome[T], 1)
	go func() {
		var o outcome[T]
		defer func() {
			if p := recover(); p != nil {
				o.broken = fmt.Sprintf("%s panicked: %v\n%s", what, p, debug.Stack())
			}
			ended <- o
		}()
		o.value, o.err = fn()
	}()
	return ended
}

// await waits for what begin started.
func await[T any](ended <-chan outcome[T], what string, limit time.Duration) outcome[T] {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case o := <-ended:
		return o
	case <-timer.C:
		return outcome[T]{broken: fmt.Sprintf("%s did not return within %v", what, limit)}
	}
}

// inTime runs fn, which must return in time and not panic.
func inTime[T any](t *testing.T, limit time.Duration, what string, fn func() (T, error)) (T, error) {
	t.Helper()
	o := await(begin(what, fn), what, limit)
	if o.broken != "" {
		t.Fatal(o.broken)
	}
	return o.value, o.err
}
