package feedback

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"
)

// maxLine bounds a line, in bytes; an answer is far shorter.
const maxLine = 1 << 20

// pollEvery is how often a read of a file looks whether it is still wanted.
const pollEvery = 100 * time.Millisecond

// errLineTooLong ends the reading: what follows cannot be told from an answer.
var errLineTooLong = errors.New("a line of more than a megabyte is no answer")

// lineReader reads lines. One call at a time.
type lineReader struct {
	in   io.Reader
	rest []byte // read and not returned
	err  error  // what comes after it
}

// next returns the next line without its end, and [io.EOF] after the last. A read of a
// file ends with the context.
func (l *lineReader) next(ctx context.Context) (string, error) {
	for {
		if line, rest, found := bytes.Cut(l.rest, []byte("\n")); found {
			l.rest = rest
			return strings.TrimSuffix(string(line), "\r"), nil
		}
		switch {
		case len(l.rest) > maxLine:
			return "", errLineTooLong
		case l.err == nil:
			if err := l.more(ctx); err != nil {
				return "", err
			}
		case len(l.rest) > 0 && errors.Is(l.err, io.EOF):
			line := string(l.rest)
			l.rest = nil
			return line, nil
		default:
			return "", l.err
		}
	}
}

// more reads what is there, waiting for something to be.
func (l *lineReader) more(ctx context.Context) error {
	if file, ok := l.in.(*os.File); ok && canPoll {
		for !readable(file, pollEvery) {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	chunk := make([]byte, 4<<10)
	n, err := l.in.Read(chunk)
	l.rest = append(l.rest, chunk[:n]...)
	clear(chunk) // it may be a secret
	l.err = err
	return nil
}
