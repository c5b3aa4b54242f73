// Package fileedit is what all edits of a workflow's files begin with: a lock that is
// waited for, and a file that may be absent.
package fileedit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/treadle-dev/treadle/workspace"
)

// The storage's lock can only be tried, so waiting means trying again, less and less
// often.
const (
	firstRetry = 2 * time.Millisecond
	lastRetry  = 100 * time.Millisecond
)

// Lock takes a lock, and waits for others that hold it, here and in other processes. After
// the wait the error matches [workspace.ErrHeld]. Doing says what the lock is held for, to
// those who wait in vain: "which edits the file".
func Lock(ctx context.Context, st workspace.Storage, name, doing string, wait time.Duration) (workspace.Lock, error) {
	holder := fmt.Sprintf("process %d, %s", os.Getpid(), doing)
	deadline := time.Now().Add(wait)
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		lock, err := st.TryLock(ctx, name, holder)
		if err == nil || !errors.Is(err, workspace.ErrHeld) || time.Now().After(deadline) {
			return lock, err
		}
		retry := time.NewTimer(pause)
		select {
		case <-retry.C:
		case <-ctx.Done():
			retry.Stop()
			return nil, ctx.Err()
		}
	}
}

// ReadIfExists reads a file. Nil is a file that does not exist; one that is empty is not
// nil. The error names the file.
func ReadIfExists(ctx context.Context, st workspace.Storage, name string) ([]byte, error) {
	data, err := st.ReadFile(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		if _, named := errors.AsType[*fs.PathError](err); named {
			return nil, err
		}
		return nil, fmt.Errorf("read %s: %w", name, err)
	case data == nil:
		return []byte{}, nil
	}
	return data, nil
}

// ErrLink refuses to edit a symbolic link: the new file would take the link's place, and
// the one that it leads to would stay as it was.
var ErrLink = errors.New("is a symbolic link; edit the file that it leads to, or put the file itself there")

// Read is [ReadIfExists] for a file that is written afterwards; see [RefuseLink].
func Read(ctx context.Context, st workspace.Storage, name string) ([]byte, error) {
	if err := RefuseLink(ctx, st, name); err != nil {
		return nil, err
	}
	return ReadIfExists(ctx, st, name)
}

// RefuseLink returns an error that matches [ErrLink] when a name is that of a symbolic
// link.
func RefuseLink(ctx context.Context, st workspace.Storage, name string) error {
	entries, err := st.ReadDir(ctx, path.Dir(name))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, e := range entries {
		if e.Name() == path.Base(name) && e.Type()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s %w", name, ErrLink)
		}
	}
	return nil
}
