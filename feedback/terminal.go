package feedback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
)

// Terminal is a [Source] that asks the open questions one after the other and reads a
// line for each. The answer to a secret question is read without echo where In is a
// terminal. Run ends with nil when In does.
//
// A question that is closed while it is shown, by another source or by its deadline, is
// said to be so. At a terminal what was typed before a question is shown does not answer
// it; from another reader, what was typed for a question that is closed does not answer
// the next one.
//
// Where In is an [os.File], Run never leaves a read behind, except on systems without
// poll. Another reader that blocks keeps one goroutine until its read returns.
//
// Set the fields before the first Run; one Run at a time.
type Terminal struct {
	In  io.Reader // required
	Out io.Writer // required
	// By is who answers; empty leaves it open.
	By string
	// Filter says which questions are asked; the zero value is all.
	Filter Filter

	lines   *lineReader
	pending chan typed // a read that was begun for a question that is closed
}

var _ Source = (*Terminal)(nil)

// errClosedMeanwhile says that a question needs no answer any more.
var errClosedMeanwhile = errors.New("the question is closed")

// Run implements [Source].
func (t *Terminal) Run(ctx context.Context, in *Inbox) error {
	if t.lines == nil {
		t.lines = &lineReader{in: t.In}
	}
	for e, err := range in.Follow(ctx, t.Filter) {
		if err != nil {
			return err
		}
		// It may have been closed while the one before was asked.
		if e, err = in.load(ctx, e.Run, e.ID); err != nil {
			return err
		}
		if e == nil || e.seen(in.config.Now()).State != Open {
			continue
		}
		switch err := t.ask(ctx, in, e); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil && ctx.Err() == nil:
			return err
		}
	}
	return ctx.Err()
}

// ask shows a question until it is closed, here or elsewhere.
func (t *Terminal) ask(ctx context.Context, in *Inbox, e *Entry) error {
	if e.Kind == KindSecret && !in.secrets.expects(e.ID) {
		t.say("\n%s\nThe answer is secret: give it where run %s is going on.\n", printable(e.Text), printable(e.Run))
		return nil
	}
	t.forgetTyped() // nobody answers what they have not seen, as by pasting many lines
	t.show(e)
	watched, stop := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if in.untilClosed(watched, e) == nil {
			stop(errClosedMeanwhile)
		}
	}()
	defer func() {
		stop(nil)
		<-ended
	}()
	for {
		text, err := t.read(watched, e.Kind == KindSecret)
		switch {
		case context.Cause(watched) == errClosedMeanwhile: //nolint:errorlint // exactly this one
			return t.sayClosed(ctx, in, e)
		case err != nil:
			return err
		}
		_, err = in.Answer(ctx, e.ID, Answer{Value: text, By: t.By, Source: "terminal"})
		var wrong *AnswerError
		var answered *AnsweredError
		switch {
		case err == nil:
			return nil
		case errors.As(err, &wrong):
			t.say("%s\n> ", printable(err.Error()))
		case errors.As(err, &answered), noAnswer(err), errors.Is(err, ErrNotFound):
			t.say("%s\n", printable(err.Error()))
			return nil
		default:
			return err
		}
	}
}

// untilClosed returns nil when the question is closed or gone.
func (in *Inbox) untilClosed(ctx context.Context, e *Entry) error {
	for {
		_, err := in.wait(ctx, e)
		var limit *WaitError
		switch {
		case errors.As(err, &limit):
			continue
		case err == nil, noAnswer(err), errors.Is(err, ErrNotFound):
			return nil
		}
		return err
	}
}

func (t *Terminal) show(e *Entry) {
	var b strings.Builder
	place := e.Run
	if e.Step != "" {
		place += ", step " + e.Step
	}
	fmt.Fprintf(&b, "\n[%s]", place)
	if e.Title != "" {
		fmt.Fprintf(&b, " %s", e.Title)
	}
	fmt.Fprintf(&b, "\n%s\n", e.Text)
	if e.Context != "" {
		fmt.Fprintf(&b, "%s\n", e.Context)
	}
	for _, choice := range e.choices() {
		fmt.Fprintf(&b, "  %s\n", choice)
	}
	if e.Default != "" {
		fmt.Fprintf(&b, "  (Enter alone: %s)\n", e.Default)
	}
	if !e.Deadline.IsZero() {
		fmt.Fprintf(&b, "  (until %s)\n", e.Deadline.Local().Format("2006-01-02 15:04:05"))
	}
	t.say("%s> ", printable(b.String()))
}

func (t *Terminal) sayClosed(ctx context.Context, in *Inbox, e *Entry) error {
	after, err := in.load(ctx, e.Run, e.ID)
	switch {
	case err != nil:
		return err
	case after == nil:
		t.say("\nThe question is gone.\n")
	case after.State != Open:
		t.say("\n%s\n", printable(after.closedError().Error()))
	}
	t.forgetTyped()
	return nil
}

// forgetTyped drops what is typed and not read, where In is a terminal.
func (t *Terminal) forgetTyped() {
	if file, ok := t.In.(*os.File); ok {
		dropTyped(file)
	}
}

// say writes; a terminal that cannot be written to has nobody before it.
func (t *Terminal) say(format string, args ...any) { fmt.Fprintf(t.Out, format, args...) }

// typed is a line that was read.
type typed struct {
	text string
	err  error
}

// read reads a line. Where the context ends first, what is typed is dropped.
func (t *Terminal) read(ctx context.Context, secret bool) (string, error) {
	if t.pending != nil {
		select {
		case late := <-t.pending:
			t.pending = nil
			if late.err != nil {
				return "", late.err
			}
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
	file, isFile := t.In.(*os.File)
	if isFile && secret {
		restore := hideTyping(file)
		defer func() {
			restore()
			t.say("\n")
		}()
	}
	coming := make(chan typed, 1)
	go func() {
		text, err := t.lines.next(ctx)
		coming <- typed{text, err}
	}()
	if isFile && canPoll {
		got := <-coming // it ends with the context
		return got.text, got.err
	}
	select {
	case got := <-coming:
		return got.text, got.err
	case <-ctx.Done():
		t.pending = coming
		return "", ctx.Err()
	}
}

// printable takes out what would steer the terminal: a question may be written by a
// model.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, text)
}
