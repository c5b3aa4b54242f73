package feedback

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// DefaultChannel is the name under which receipts of a notifier that is no [Channels]
// are recorded.
const DefaultChannel = "default"

// maxTries bounds how often a channel that fails is tried for one notification, over all
// resumes.
const maxTries = 5

// Notify sends a notification that is not a question, of the run's call whose Key it
// carries, and returns what became of it. Run must be the run's folder.
//
// Each channel's receipt is recorded as it comes. Calling again with the same key, as
// after a crash, sends nothing twice: a channel with a receipt keeps it, and one that was
// being used when the process died is reported as [InDoubt] and not used again. Channels
// that failed are tried again.
func (in *Inbox) Notify(ctx context.Context, n *Notification) (Receipt, error) {
	clean := n.redacted(in.config.Redact)
	if err := clean.check(); err != nil {
		return Receipt{}, err
	}
	place := Question{RunID: "run", Run: n.Run, Key: n.Key}
	if err := place.checkPlace(); err != nil {
		return Receipt{}, err
	}
	file := logFile{st: in.st, name: workspace.RunLayout(n.Run).Notification(fileName(n.Key))}
	d := delivery{in: in, file: file, once: true}
	return d.send(ctx, clean)
}

// notifyOf tells people of a question and returns it with the receipts. Here once more is
// better than not at all: a channel that was being used when the process died is used
// again.
func (in *Inbox) notifyOf(ctx context.Context, e *Entry) *Entry {
	channels := in.channels()
	if len(channels) == 0 {
		return e
	}
	q := e.Question
	n := &Notification{
		Key: q.ID, Kind: NoticeQuestion, Question: &q,
		RunID: q.RunID, Run: q.Run, Group: q.Group, Step: q.Step, Title: q.Title, Text: q.Text,
	}
	d := delivery{in: in, file: in.file(q.Run, q.ID)}
	if _, err := d.send(ctx, n); err != nil {
		in.config.Logger.WarnContext(ctx, "the question waits, and not everybody was told", "question", q.ID, "error", err)
	}
	if after, err := in.load(ctx, q.Run, q.ID); err == nil && after != nil {
		return after
	}
	return e
}

func (in *Inbox) channels() Channels {
	switch n := in.config.Notifier.(type) {
	case nil:
		return nil
	case Channels:
		return n
	default:
		return Channels{{Name: DefaultChannel, Notifier: n}}
	}
}

// delivery sends one notification on all channels and records the receipts in a file.
type delivery struct {
	in   *Inbox
	file logFile
	once bool // no channel is used a second time when it is not known what came of the first
}

// told is what a file says of one channel.
type told struct {
	begun int // without a receipt
	tries int
	last  *Receipt
}

func (d *delivery) send(ctx context.Context, n *Notification) (Receipt, error) {
	all := d.in.channels()
	p, _, err := d.file.read(ctx)
	if err != nil {
		return Receipt{}, err
	}
	before := toldBefore(p.records)
	var receipts []Receipt
	var use Channels
	for _, ch := range all.without(n.ExcludeChannels) {
		was := before[ch.Name]
		switch {
		case was.last != nil && (!d.again(was.last.Status) || was.tries >= maxTries):
			receipts = append(receipts, *was.last)
		case d.once && was.begun > 0:
			receipts = append(receipts, Receipt{
				Channel: ch.Name, Status: InDoubt,
				Detail: "it was being sent when the process died, and was not sent again",
			})
		default:
			use = append(use, ch)
		}
	}
	fresh, err := d.use(ctx, use, n)
	receipts = append(receipts, fresh...)
	slices.SortFunc(receipts, func(a, b Receipt) int { return cmp.Compare(a.Channel, b.Channel) })
	return merge(len(all), receipts), err
}

func toldBefore(records []record) map[string]told {
	before := map[string]told{}
	for i := range records {
		r := &records[i]
		switch {
		case r.Kind == recordBegun:
			was := before[r.Channel]
			was.begun++
			before[r.Channel] = was
		case r.Kind == recordReceipt && r.Receipt != nil:
			was := before[r.Receipt.Channel]
			was.begun, was.last, was.tries = 0, r.Receipt, was.tries+1
			before[r.Receipt.Channel] = was
		}
	}
	return before
}

// use sends on channels side by side and records each receipt as it comes.
func (d *delivery) use(ctx context.Context, channels Channels, n *Notification) ([]Receipt, error) {
	if d.once {
		for _, ch := range channels {
			if err := d.add(ctx, record{Kind: recordBegun, Channel: ch.Name}); err != nil {
				return nil, err
			}
		}
	}
	coming := make(chan Receipt, len(channels))
	for i := range channels {
		go func() { coming <- d.one(ctx, &channels[i], n) }()
	}
	var receipts []Receipt
	var errs []error
	for range channels {
		r := <-coming
		receipts = append(receipts, r)
		if (r.Status == Failed || r.Status == InDoubt) && ctx.Err() != nil {
			continue // the caller gave up, not the channel
		}
		// The message is sent: its receipt is kept although the caller has given up.
		kept, stop := context.WithTimeout(context.WithoutCancel(ctx), settleGrace)
		errs = append(errs, d.add(kept, record{Kind: recordReceipt, Receipt: &r}))
		stop()
	}
	return receipts, errors.Join(errs...)
}

// one sends on one channel, for as long as the timeout allows.
func (d *delivery) one(ctx context.Context, ch *Channel, n *Notification) Receipt {
	limited, stop := context.WithTimeout(ctx, d.in.config.NotifyTimeout)
	defer stop()
	r := notifyWithin(limited, ch, n).redacted(d.in.config.Redact)
	r.At = stamp(d.in.config.Now())
	if r.Status == Failed || r.Status == InDoubt {
		d.in.config.Logger.WarnContext(ctx, "a channel failed", "channel", ch.Name, "notification", n.Key, "detail", r.Detail)
	}
	return r
}

// again reports whether a channel is used again after what became of the last use.
func (d *delivery) again(last Status) bool {
	return last == Failed || last == InDoubt && !d.once
}

// leaveGrace is how long a notifier may take to return when its context has ended.
const leaveGrace = time.Second

// notifyWithin leaves a notifier that does not return when its time is over. It may have
// sent the message, or do so yet.
func notifyWithin(ctx context.Context, ch *Channel, n *Notification) Receipt {
	coming := make(chan Receipt, 1)
	go func() {
		defer close(coming)
		coming <- ch.notify(ctx, n)
	}()
	received := func(r Receipt, ok bool) Receipt {
		if !ok {
			return Receipt{Channel: ch.Name, Status: InDoubt, Detail: "the notifier ended its goroutine"}
		}
		return r
	}
	select {
	case r, ok := <-coming:
		return received(r, ok)
	case <-ctx.Done():
	}
	grace := time.NewTimer(leaveGrace)
	defer grace.Stop()
	select {
	case r, ok := <-coming:
		return received(r, ok)
	case <-grace.C:
		return Receipt{Channel: ch.Name, Status: InDoubt, Detail: "the notifier did not return when its time was over, and was left"}
	}
}

func (d *delivery) add(ctx context.Context, r record) error {
	r.At = stamp(d.in.config.Now())
	_, err := d.file.append(ctx, func([]record) (*record, error) {
		next := r
		return &next, nil
	})
	return err
}
