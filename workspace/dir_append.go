package workspace

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"
)

// AppendAt implements [Storage]. The size check and the write happen under an
// exclusive lock on the file (flock), which every Dir takes, in this process or
// another. When it cannot write or sync all, it cuts the file back to offset.
func (d *Dir) AppendAt(ctx context.Context, name string, offset int64, data []byte) error {
	if err := checkAppend(ctx, name, offset); err != nil {
		return err
	}
	file := d.appends.acquire(name)
	defer d.appends.release(file)
	err := d.withLocked(ctx, file, offset == 0, func(size int64) error {
		if size != offset {
			return conflict(name, size, offset)
		}
		return d.writeAndSync(file, offset, data)
	})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrConflict), ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return err
	case offset > 0 && isMissing(err):
		return missingConflict(name, offset)
	}
	return dirError("append", name, err)
}

func checkAppend(ctx context.Context, name string, offset int64) error {
	if err := checkFileCall(ctx, "append", name); err != nil {
		return err
	}
	if err := checkLocal(ctx, "append", name); err != nil {
		return err
	}
	return checkOffset("append", name, offset)
}

func (d *Dir) writeAndSync(file *appendFile, offset int64, data []byte) error {
	_, err := file.f.WriteAt(data, offset)
	if err == nil {
		err = d.syncAppended(file)
	}
	if err != nil {
		err = errors.Join(err, file.f.Truncate(offset))
		// After a failed sync the kernel may forget what it could not write: the
		// next append begins with a fresh descriptor and syncs the folders again.
		file.closeFile()
	}
	return err
}

// syncAppended syncs the file and, once for each time that it was opened, the
// folders above it.
func (d *Dir) syncAppended(file *appendFile) error {
	if err := syncData(file.f); err != nil {
		return err
	}
	if !file.anchored {
		if err := d.syncFoldersOf(file.name); err != nil {
			return err
		}
		file.anchored = true
	}
	return nil
}

// Truncate implements [Storage]. It is durable when it returns.
func (d *Dir) Truncate(ctx context.Context, name string, size int64) error {
	if err := checkFileCall(ctx, "truncate", name); err != nil {
		return err
	}
	if err := checkLocal(ctx, "truncate", name); err != nil {
		return err
	}
	if err := checkOffset("truncate", name, size); err != nil {
		return err
	}
	file := d.appends.acquire(name)
	defer d.appends.release(file)
	err := d.withLocked(ctx, file, false, func(end int64) error {
		if size > end {
			return pastEnd(name, size, end)
		}
		if err := file.f.Truncate(size); err != nil {
			return err
		}
		return d.syncAppended(file)
	})
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) || errors.Is(err, fs.ErrInvalid) {
		return err
	}
	return readError("truncate", name, err)
}

// withLocked calls do with the size of the file, while this appendFile belongs to
// the caller, the file is locked, and the name refers to it.
func (d *Dir) withLocked(ctx context.Context, file *appendFile, create bool, do func(size int64) error) error {
	select {
	case file.busy <- struct{}{}:
		defer func() { <-file.busy }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := d.openAppendFile(file, create); err != nil {
			return err
		}
		f := file.f
		if err := lockWaiting(ctx, f); err != nil {
			return err
		}
		size, current, err := refersTo(d.root, d.folder, file.name, f)
		if err == nil && current {
			defer unlockFile(f)
			return do(size)
		}
		unlockFile(f)
		file.closeFile()
		if err != nil {
			return err
		}
	}
}

// openAppendFile opens the file unless it is open.
func (d *Dir) openAppendFile(file *appendFile, create bool) error {
	if file.f != nil {
		return nil
	}
	f, err := d.openRegular(file.name, os.O_RDWR)
	if create && errors.Is(err, fs.ErrNotExist) {
		err = retryVanished(func() error {
			if err := d.mkdirs(parent(file.name)); err != nil {
				return err
			}
			var err error
			f, err = d.openRegular(file.name, os.O_RDWR|os.O_CREATE)
			return err
		})
	}
	if err != nil {
		return err
	}
	file.f = f
	return nil
}

// Waiting for a file that another process is appending to: it holds the lock for
// one write and sync, which is a fraction of a millisecond on a good disk.
const (
	firstLockPause = 50 * time.Microsecond
	maxLockPause   = 5 * time.Millisecond
)

// lockWaiting takes the exclusive lock on a file. It asks again and again, because
// the call of the operating system that waits cannot be cancelled.
func lockWaiting(ctx context.Context, f *os.File) error {
	for pause := firstLockPause; ; pause = min(2*pause, maxLockPause) {
		locked, err := tryLockFile(f)
		if err != nil || locked {
			return err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
}
