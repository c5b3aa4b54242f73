package journal

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/treadle-dev/treadle/workspace"
)

const (
	// maxInline is the length in bytes of the longest payload that stands in its line.
	maxInline = 32 << 10
	// maxKnownBlobs bounds the memory for blobs known to be durable. When it is
	// reached the knowledge is given up, which costs one write per blob at most.
	maxKnownBlobs = 8192
)

// blobs is the folder of the large payloads.
type blobs struct {
	st     workspace.Storage
	folder string
	// known are the blobs that a durable record names or that this process has
	// written. That a file exists is not enough: its writer may have died before
	// it was durable.
	known map[string]struct{}
}

func (b *blobs) file(name string) string { return b.folder + "/" + name + ".json" }

func (b *blobs) learn(name string) {
	if len(b.known) >= maxKnownBlobs {
		clear(b.known)
	}
	b.known[name] = struct{}{}
}

// read returns the payload of a blob. The error is a [*DamageError] when the
// storage works and the blob is not what was recorded.
func (b *blobs) read(ctx context.Context, journal string, seq int64, name string, size int64) ([]byte, error) {
	damage := func(reason string, err error) error {
		return &DamageError{File: journal, Line: int(seq), Seq: seq, Reason: "its payload " + b.file(name) + " " + reason, Err: err}
	}
	data, err := b.st.ReadFile(ctx, b.file(name))
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, damage("cannot be read", err)
	case int64(len(data)) != size:
		return nil, damage(fmt.Sprintf("has %d bytes and not %d", len(data), size), nil)
	case blobName(data) != name:
		return nil, damage("does not match its hash", nil)
	}
	return data, nil
}

func blobName(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// prepare gives a payload the form in which it is recorded: redacted, compact,
// and, when it is large, with its blob written.
func (j *Journal) prepare(l *line, data []byte) error {
	if j.opts.Redact != nil && len(data) > 0 {
		data = j.opts.Redact(data)
	}
	if len(data) == 0 {
		return nil
	}
	valid, compact := scanJSON(data)
	if !valid {
		return fmt.Errorf("%w: payload of kind %q under key %q is not JSON", ErrInvalid, l.kind, l.key)
	}
	if !compact {
		data = appendCompact(make([]byte, 0, len(data)), data)
	}
	l.data = data
	if len(data) <= maxInline {
		return nil
	}
	l.blob, l.size = blobName(data), int64(len(data))
	return j.writeBlob(l.blob, data)
}

func (j *Journal) writeBlob(name string, data []byte) error {
	j.mu.Lock()
	_, known := j.blobs.known[name]
	err := j.err
	j.mu.Unlock()
	if known || err != nil {
		return err
	}
	for range 2 {
		// Writing replaces the file with the same bytes, so it can be redone.
		if err = j.blobs.st.WriteFile(j.ctx, j.blobs.file(name), data, workspace.Durable); err == nil {
			break
		}
		if j.ctx.Err() != nil {
			break
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		return j.fail(fmt.Errorf("write payload %s: %w", j.blobs.file(name), err))
	}
	j.blobs.learn(name)
	return j.err
}
