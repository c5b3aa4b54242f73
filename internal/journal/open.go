package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/treadle-dev/treadle/workspace"
)

const (
	// takeovers bounds how often an open reads again because somebody wrote
	// between its reading and its first record.
	takeovers = 16
	// openFailures bounds how many other storage errors an open lives through.
	openFailures = 2
	// fence closes a torn tail: no append of an old owner fits behind it. It is
	// the ASCII character "cancel", which no line contains.
	fence = "\x18"
)

// Open takes the journal with this name over, or creates it, and loads what is
// recorded. From then on every append of a process that had it open before fails
// there with [ErrStale]; until then such a process may go on writing. The context
// bounds the call only.
//
// The error matches [ErrDamaged] or [ErrVersion] when the file cannot be used,
// and [workspace.ErrConflict] when other processes keep writing to it.
func Open(ctx context.Context, st workspace.Storage, name string, opts Options) (*Journal, error) {
	opts = opts.withDefaults(name)
	j := &Journal{
		st: st, name: name, opts: opts,
		encoder: encoder{chain: newChain()},
		blobs:   blobs{st: st, folder: opts.Blobs, known: map[string]struct{}{}},
	}
	j.flushed.L = &j.mu
	j.ctx, j.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	// Until the caller has the journal, a storage that hangs holds it no longer than
	// the caller's context.
	stop := context.AfterFunc(ctx, func() { j.cancel(context.Cause(ctx)) })
	defer stop()
	text, err := j.takeOver(ctx)
	if err == nil {
		err = j.load(ctx, text)
	}
	if err != nil {
		j.cancel(err)
		return nil, err
	}
	return j, nil
}

// takeOver returns the text of the journal at the moment at which this process
// became its owner.
func (j *Journal) takeOver(ctx context.Context) ([]byte, error) {
	failures := 0
	for range takeovers {
		text, err := readAll(ctx, j.st, j.name)
		if err != nil {
			return nil, err
		}
		found, err := survey(j.name, text)
		if err != nil {
			return nil, err
		}
		if err = j.cut(ctx, found); err == nil {
			err = j.claim(ctx, found)
		}
		switch {
		case err == nil:
			return found.text, nil
		case errors.Is(err, workspace.ErrConflict):
			continue
		case ctx.Err() != nil:
			return nil, err
		}
		// The record may be there all the same; reading again tells.
		if failures++; failures == openFailures {
			return nil, fmt.Errorf("take over journal %s: %w", j.name, err)
		}
	}
	return nil, fmt.Errorf("take over journal %s: other processes kept writing to it in %d attempts: %w",
		j.name, takeovers, workspace.ErrConflict)
}

func readAll(ctx context.Context, st workspace.Storage, name string) ([]byte, error) {
	text, err := st.ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read journal %s: %w", name, err)
	}
	return text, nil
}

// findings is what a journal holds when it is opened.
type findings struct {
	text     []byte   // the verified records
	verifier verifier // behind the last of them
	torn     int64    // bytes behind the text that belong to no record
	unended  bool     // the last record lacks its newline
}

func survey(name string, text []byte) (*findings, error) {
	f := &findings{verifier: newVerifier(name)}
	rest := text
	for {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			break
		}
		if _, err := f.verifier.next(rest[:i]); err != nil {
			return nil, err
		}
		rest = rest[i+1:]
	}
	whole, err := f.verifier.tail(rest)
	if err != nil {
		return nil, err
	}
	if whole {
		if _, err := f.verifier.next(rest); err != nil {
			return nil, err
		}
		f.text, f.unended = text, true
		return f, nil
	}
	f.text, f.torn = text[:len(text)-len(rest)], int64(len(rest))
	return f, nil
}

// cut removes a torn tail. The fence makes sure that it is torn for good: it
// conflicts when its writer was still at it.
func (j *Journal) cut(ctx context.Context, f *findings) error {
	if f.torn == 0 {
		return nil
	}
	end := int64(len(f.text))
	if err := j.st.AppendAt(ctx, j.name, end+f.torn, []byte(fence)); err != nil {
		return err
	}
	return j.st.Truncate(ctx, j.name, end)
}

// claim appends this owner's first records behind what was found.
func (j *Journal) claim(ctx context.Context, f *findings) error {
	var batch []byte
	if f.unended {
		batch = append(batch, '\n')
	}
	encoder, seq := encoder{chain: f.verifier.chain}, f.verifier.seq
	add := func(l *line) error {
		at, err := j.now()
		if err != nil {
			return err
		}
		seq++
		l.seq, l.time = seq, at
		batch = encoder.appendLine(batch, l)
		return nil
	}
	if seq == 0 {
		data, err := json.Marshal(header{Format: formatName, Version: formatVersion})
		if err != nil {
			return err
		}
		if err := add(&line{kind: KindHeader, data: data}); err != nil {
			return err
		}
	}
	owner, err := j.ownerLine()
	if err != nil {
		return err
	}
	if err := add(owner); err != nil {
		return err
	}
	offset := int64(len(f.text))
	if err := j.st.AppendAt(ctx, j.name, offset, batch); err != nil {
		return err
	}
	j.end = offset + int64(len(batch))
	j.encoder, j.seq, j.durable = encoder, seq, seq
	return nil
}

func (j *Journal) ownerLine() (*line, error) {
	l := &line{kind: KindOwner}
	if j.opts.Holder == "" {
		return l, nil
	}
	data, err := json.Marshal(map[string]string{"holder": j.opts.Holder})
	if err != nil {
		return nil, err
	}
	return l, j.prepare(l, data)
}

// load indexes and replays verified records.
func (j *Journal) load(ctx context.Context, text []byte) error {
	for raw := range bytes.Lines(text) {
		l, ok := parseLine(bytes.TrimSuffix(raw, []byte("\n")))
		if !ok {
			return fmt.Errorf("%w: %s changed while it was read", ErrDamaged, j.name)
		}
		j.keep(&l, false)
		if l.blob != "" {
			j.blobs.learn(l.blob)
		}
		if j.opts.Replay == nil {
			continue
		}
		record, err := j.blobs.record(ctx, j.name, &l)
		if err != nil {
			return err
		}
		if err := j.opts.Replay(record); err != nil {
			return err
		}
	}
	j.index.own()
	return nil
}
