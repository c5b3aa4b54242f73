package workspace

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"sync"
	"syscall"
)

// keptFolders are those that MkdirAll made and prune must leave: something outside
// may work in them.
type keptFolders struct {
	mu    sync.Mutex
	names map[string]struct{}
}

func (k *keptFolders) add(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.names == nil {
		k.names = map[string]struct{}{}
	}
	k.names[name] = struct{}{}
}

func (k *keptFolders) has(name string) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	_, ok := k.names[name]
	return ok
}

// forget drops a name and all below it.
func (k *keptFolders) forget(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for kept := range k.names {
		if isAtOrBelow(kept, name) {
			delete(k.names, kept)
		}
	}
}

func isAtOrBelow(name, folder string) bool {
	return name == folder || strings.HasPrefix(name, folder) && name[len(folder)] == '/'
}

// MkdirAll implements [LocalStorage].
func (d *Dir) MkdirAll(ctx context.Context, name string) error {
	if err := checkLocal(ctx, "mkdir", name); err != nil {
		return err
	}
	d.kept.add(name)
	if err := d.mkdirs(name); err != nil {
		d.kept.forget(name)
		return dirError("mkdir", name, err)
	}
	return nil
}

// maxRaces bounds how often an operation starts again because a folder vanished
// under it. Each time another operation has made progress.
const maxRaces = 1000

// prune removes the folders above a name that are empty.
func (d *Dir) prune(name string) {
	for folder := parent(name); folder != "."; folder = parent(folder) {
		if d.kept.has(folder) || removeEmptyFolder(d.root, folder) != nil {
			return
		}
	}
}

// mkdirs makes a folder and those above it. Most exist, so it looks first. What
// os.Root.MkdirAll finds in its way may be a file, or a folder that others made and
// removed again; another look tells.
func (d *Dir) mkdirs(name string) error {
	for range maxRaces {
		info, err := d.root.Stat(name)
		switch {
		case err == nil && info.IsDir():
			return nil
		case err == nil, errors.Is(err, syscall.ENOTDIR):
			return errNotFolder
		case !errors.Is(err, fs.ErrNotExist):
			return err
		}
		err = d.root.MkdirAll(name, folderMode)
		if err != nil && !errors.Is(err, fs.ErrExist) && !isMissing(err) {
			return err
		}
	}
	return errNotFolder // such as a link that leads nowhere
}

// final marks an error that retryVanished returns at once.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// retryVanished repeats what failed because a folder disappeared between two
// steps: others remove folders that they leave empty.
func retryVanished(try func() error) error {
	var err error
	for range maxRaces {
		err = try()
		var stop final
		if errors.As(err, &stop) || !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return err
}
