package workspace

import (
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"path"
	"time"
)

// staleAfter is the age at which a temporary name was left by a crash: writing a
// file takes moments, and a writer that slept this long gets an error, no damage.
const staleAfter = time.Hour

// Rename implements [Storage].
func (d *Dir) Rename(ctx context.Context, from, to string) error {
	if err := checkRename(ctx, from, to); err != nil {
		return err
	}
	if err := errors.Join(checkLocal(ctx, "rename", from), checkLocal(ctx, "rename", to)); err != nil {
		return err
	}
	d.appends.forget(from)
	err := d.renameRetrying(from, to)
	switch {
	case errors.Is(err, fs.ErrExist):
		return dirError("rename", to, fs.ErrExist)
	case err != nil:
		d.prune(to)
		return readError("rename", from, err)
	}
	d.kept.forget(from)
	d.prune(from)
	return nil
}

func (d *Dir) renameRetrying(from, to string) error {
	return retryVanished(func() error {
		if _, err := d.root.Lstat(from); err != nil {
			return final{err}
		}
		if _, err := d.root.Lstat(to); err == nil {
			return fs.ErrExist
		}
		if err := d.mkdirs(parent(to)); err != nil {
			return err
		}
		return renameExclusive(d.root, from, to)
	})
}

// Remove implements [Storage]. A folder disappears at once; what was in it is
// deleted before Remove returns, or after a crash by a later ReadDir.
func (d *Dir) Remove(ctx context.Context, name string) error {
	if err := checkFileCall(ctx, "remove", name); err != nil {
		return err
	}
	if err := checkLocal(ctx, "remove", name); err != nil {
		return err
	}
	d.appends.forget(name)
	err := d.remove(name)
	if isMissing(err) {
		return nil
	}
	if err != nil {
		return dirError("remove", name, err)
	}
	d.kept.forget(name)
	d.prune(name)
	return nil
}

func (d *Dir) remove(name string) error {
	info, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return d.root.Remove(name)
	}
	doomed := path.Join(parent(name), tempName())
	if err := d.root.Rename(name, doomed); err != nil {
		return err
	}
	return d.root.RemoveAll(doomed)
}

// removeStale removes a temporary file or folder whose owner must be dead. That
// it cannot is of no interest to whoever reads the folder.
func (d *Dir) removeStale(name string) {
	info, err := d.root.Lstat(name)
	if err == nil && time.Since(info.ModTime()) > staleAfter {
		_ = d.root.RemoveAll(name)
	}
}

func tempName() string { return tempPrefix + rand.Text() }
