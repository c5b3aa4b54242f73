package feedback

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// Channel is one way to reach people.
type Channel struct {
	// Name is what exclude_channels calls it, such as slack. It is unique among the
	// channels of a host and does not change: receipts are recorded under it.
	Name     string
	Notifier Notifier
}

// Channels is a [Notifier] that sends on all channels at once. An [Inbox] records the
// receipt of each as it comes. The zero value has none.
type Channels []Channel

// Notify implements [Notifier]. Its error is always nil: the receipt tells.
func (c Channels) Notify(ctx context.Context, n *Notification) (Receipt, error) {
	receipts := make([]Receipt, 0, len(c))
	var mu sync.Mutex
	var wg sync.WaitGroup
	for _, ch := range c.without(n.ExcludeChannels) {
		wg.Go(func() {
			r := ch.notify(ctx, n)
			mu.Lock()
			defer mu.Unlock()
			receipts = append(receipts, r)
		})
	}
	wg.Wait()
	slices.SortFunc(receipts, func(a, b Receipt) int { return strings.Compare(a.Channel, b.Channel) })
	return merge(len(c), receipts), nil
}

func (c Channels) without(names []string) Channels {
	return slices.DeleteFunc(slices.Clone(c), func(ch Channel) bool { return slices.Contains(names, ch.Name) })
}

// notify sends on one channel. A panic is a failure of the channel.
func (c *Channel) notify(ctx context.Context, n *Notification) (r Receipt) {
	defer func() {
		if p := recover(); p != nil {
			r = Receipt{Status: Failed, Detail: fmt.Sprintf("the notifier panicked: %v", p)}
		}
		r.Channel = c.Name
	}()
	r, err := c.Notifier.Notify(ctx, n)
	switch {
	case err != nil:
		return Receipt{Status: Failed, Detail: err.Error()}
	case r.Status == "":
		r.Status = Delivered
	}
	return r
}

// merge makes one receipt of those of the channels that were used.
func merge(configured int, receipts []Receipt) Receipt {
	whole := Receipt{Channels: receipts}
	reached, failed := 0, 0
	for i := range receipts {
		r := &receipts[i]
		switch r.Status {
		case Delivered:
			reached++
		case Partial:
			reached++
			failed++
		case NoRecipient, NoChannels:
		default:
			failed++
		}
		if r.At.After(whole.At) {
			whole.At = r.At
		}
	}
	switch {
	case configured == 0:
		whole.Status = NoChannels
	case reached > 0 && failed == 0:
		whole.Status = Delivered
	case reached > 0:
		whole.Status = Partial
	case failed > 0:
		whole.Status = Failed
	default:
		whole.Status = NoRecipient
	}
	return whole
}
