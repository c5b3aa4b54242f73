package journal

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"github.com/treadle-dev/treadle/workspace"
)

// Read goes through the records of a journal in their order, without taking it
// over: its owner goes on undisturbed. A torn tail is passed over, since it may
// be an append in progress. A damaged record ends the sequence with a
// [*DamageError] after the records before it; a journal that does not exist gives
// an error that matches [io/fs.ErrNotExist]. Of the options only Blobs counts. A
// record may be kept; its data must not be changed.
func Read(ctx context.Context, st workspace.Storage, name string, opts Options) iter.Seq2[*Record, error] {
	opts = opts.withDefaults(name)
	return func(yield func(*Record, error) bool) {
		text, err := st.ReadFile(ctx, name)
		if err != nil {
			yield(nil, fmt.Errorf("read journal %s: %w", name, err))
			return
		}
		v, blobs := newVerifier(name), blobs{st: st, folder: opts.Blobs}
		for raw := range bytes.Lines(text) {
			body, ended := bytes.CutSuffix(raw, []byte("\n"))
			if !ended {
				if _, err := v.tail(raw); err != nil {
					yield(nil, err)
				}
				return
			}
			record, err := readRecord(ctx, &v, &blobs, body)
			if err != nil {
				yield(nil, err)
				return
			}
			if !yield(record, nil) {
				return
			}
		}
	}
}

func readRecord(ctx context.Context, v *verifier, b *blobs, body []byte) (*Record, error) {
	l, err := v.next(body)
	if err != nil {
		return nil, err
	}
	return b.record(ctx, v.file, &l)
}

// record gives a line the form that callers see.
func (b *blobs) record(ctx context.Context, journal string, l *line) (*Record, error) {
	data := l.data
	if l.blob != "" {
		var err error
		if data, err = b.read(ctx, journal, l.seq, l.blob, l.size); err != nil {
			return nil, err
		}
	}
	return &Record{Seq: l.seq, Time: l.time, Kind: l.kind, Key: l.key, Input: l.input, Data: data}, nil
}
