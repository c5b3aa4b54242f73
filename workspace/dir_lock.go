package workspace

import (
	"context"
	"errors"
	"io"
	"os"
	"sync"
)

// maxHolder bounds how much of a holder's text is read back, in bytes.
const maxHolder = 4 << 10

// TryLock implements [Storage] with a lock of the operating system (flock) on a
// file of that name, which holds the holder's text while the lock is held and is
// empty afterwards. The kernel releases the lock of a process that dies. Whoever
// removes the file takes the lock from its holder.
//
// gofrs/flock opens its file by a path, which may follow links out of the folder,
// hence the calls of the operating system on a file opened through the root.
func (d *Dir) TryLock(ctx context.Context, name, holder string) (Lock, error) {
	if err := checkFileCall(ctx, "lock", name); err != nil {
		return nil, err
	}
	if err := checkLocal(ctx, "lock", name); err != nil {
		return nil, err
	}
	for {
		lock, err := d.tryLock(name, holder)
		if err != nil {
			if held, ok := errors.AsType[*HeldError](err); ok {
				return nil, held
			}
			return nil, dirError("lock", name, err)
		}
		if lock != nil {
			return lock, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	}
}

// tryLock returns nil when the file was replaced before its lock was taken.
func (d *Dir) tryLock(name, holder string) (*dirLock, error) {
	f, err := d.openLockFile(name)
	if err != nil {
		return nil, err
	}
	locked, err := tryLockFile(f)
	if err == nil && !locked {
		err = &HeldError{Name: name, Holder: readHolder(f)}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	_, current, err := refersTo(d.root, d.folder, name, f)
	if err == nil && current {
		err = writeHolder(f, holder)
	}
	if err != nil || !current {
		unlockFile(f)
		return nil, errors.Join(err, f.Close())
	}
	lock := &dirLock{f: f, held: &d.locks}
	d.locks.add(lock)
	return lock, nil
}

func (d *Dir) openLockFile(name string) (*os.File, error) {
	var f *os.File
	err := retryVanished(func() error {
		if err := d.mkdirs(parent(name)); err != nil {
			return err
		}
		var err error
		f, err = d.openRegular(name, os.O_RDWR|os.O_CREATE)
		return err
	})
	return f, err
}

// readHolder returns what it can: the holder may be about to write it.
func readHolder(f *os.File) string {
	text, _ := io.ReadAll(io.NewSectionReader(f, 0, maxHolder))
	return string(text)
}

func writeHolder(f *os.File, holder string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(holder), 0)
	return err
}

// dirLock is a held lock.
type dirLock struct {
	f    *os.File
	held *heldLocks
	once sync.Once
}

// Unlock implements [Lock].
func (l *dirLock) Unlock() error {
	var err error
	l.once.Do(func() {
		l.held.remove(l)
		// The lock ends by name, not by Close: a child that is just being started
		// shares the descriptor for a moment.
		err = l.f.Truncate(0)
		unlockFile(l.f)
		err = errors.Join(err, l.f.Close())
	})
	return err
}

// heldLocks keeps the locks reachable, so that one whose Lock value is forgotten
// is held until the Dir is closed and does not end with a garbage collection.
type heldLocks struct {
	mu    sync.Mutex
	locks map[*dirLock]struct{}
}

func (h *heldLocks) add(l *dirLock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.locks == nil {
		h.locks = map[*dirLock]struct{}{}
	}
	h.locks[l] = struct{}{}
}

func (h *heldLocks) remove(l *dirLock) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.locks, l)
}

// release unlocks them all.
func (h *heldLocks) release() error {
	h.mu.Lock()
	locks := h.locks
	h.locks = nil
	h.mu.Unlock()
	var errs []error
	for lock := range locks {
		errs = append(errs, lock.Unlock())
	}
	return errors.Join(errs...)
}
