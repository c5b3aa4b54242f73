package feedback

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/treadle-dev/treadle/workspace"
)

const (
	// appendConflicts bounds how often an append gives way to others.
	appendConflicts = 1000
	// appendFailures bounds how many other errors of the storage it lives through.
	appendFailures = 3
)

// logFile is a file of records that any process may append to, without a lock: an
// append succeeds only where the file ended when it was read.
type logFile struct {
	st   workspace.Storage
	name string
}

// read returns what the file holds; nothing when it does not exist.
func (l logFile) read(ctx context.Context) (*parsed, int64, error) {
	text, err := l.st.ReadFile(ctx, l.name)
	if errors.Is(err, fs.ErrNotExist) {
		return &parsed{}, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", l.name, err)
	}
	p, err := parse(l.name, text)
	return p, int64(len(text)), err
}

// append adds the record that next makes of what is there, until nobody else has written
// in between. A nil record adds nothing. It returns all records, the new one included.
func (l logFile) append(ctx context.Context, next func([]record) (*record, error)) ([]record, error) {
	conflicts, failures, write := 0, 0, newWrite()
	for {
		p, size, err := l.read(ctx)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(p.records, func(r record) bool { return r.Write == write }) {
			// The storage wrote it and lost its answer. An empty append makes it durable.
			if err := l.st.AppendAt(ctx, l.name, size, nil); err != nil && !errors.Is(err, workspace.ErrConflict) {
				return nil, fmt.Errorf("append to %s: %w", l.name, err)
			}
			return p.records, nil
		}
		r, err := next(p.records)
		if err != nil || r == nil {
			return p.records, err
		}
		r.Write = write
		if err = l.appendAt(ctx, size, p, r); err == nil {
			return append(p.records, *r), nil
		}
		switch {
		case ctx.Err() != nil:
			return nil, err
		case errors.Is(err, workspace.ErrConflict):
			conflicts++
		default:
			failures++
		}
		if conflicts == appendConflicts || failures == appendFailures {
			return nil, fmt.Errorf("append to %s: %w", l.name, err)
		}
	}
}

func (l logFile) appendAt(ctx context.Context, size int64, p *parsed, r *record) error {
	if len(p.records) == 0 {
		r.Format = formatVersion
	}
	var line []byte
	if p.torn {
		line = append(line, fence, '\n')
	}
	line, err := appendLine(line, r)
	if err != nil {
		return err
	}
	return l.st.AppendAt(ctx, l.name, size, line)
}
