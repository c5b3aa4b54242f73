package feedbacktest

import (
	"context"
	"sync"

	"github.com/treadle-dev/treadle/feedback"
)

// Notifier is a [feedback.Notifier] that remembers what it was given. The zero value
// delivers everything. It is safe for concurrent use once the fields are set.
type Notifier struct {
	// Do is called for each notification, before it is remembered; nil delivers. It may
	// fail, block until the context ends, or panic, as notifiers do.
	Do func(ctx context.Context, n *feedback.Notification) (feedback.Receipt, error)

	mu   sync.Mutex
	sent []feedback.Notification
}

var _ feedback.Notifier = (*Notifier)(nil)

// Notify implements [feedback.Notifier].
func (f *Notifier) Notify(ctx context.Context, n *feedback.Notification) (feedback.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return feedback.Receipt{}, err
	}
	receipt := feedback.Receipt{Status: feedback.Delivered}
	if f.Do != nil {
		var err error
		if receipt, err = f.Do(ctx, n); err != nil {
			return receipt, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sent = append(f.sent, *n)
	return receipt, nil
}

// Sent are the notifications that did not fail, in order.
func (f *Notifier) Sent() []feedback.Notification {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]feedback.Notification(nil), f.sent...)
}

// Keys are the keys of [Notifier.Sent].
func (f *Notifier) Keys() []string {
	var keys []string
	for _, n := range f.Sent() {
		keys = append(keys, n.Key)
	}
	return keys
}
