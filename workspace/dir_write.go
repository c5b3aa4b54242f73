package workspace

import (
	"context"
	"errors"
	"os"
	"path"
)

// WriteFile implements [Storage]: the content goes to a temporary file in the same
// folder, which then takes the name.
//
// google/renameio does this on paths. A path is resolved by the kernel, which
// follows links out of the folder, so it cannot be had through an [os.Root]; what
// is left of it is the few calls below.
func (d *Dir) WriteFile(ctx context.Context, name string, data []byte, sync Sync) error {
	if err := checkFileCall(ctx, "write", name); err != nil {
		return err
	}
	if err := checkLocal(ctx, "write", name); err != nil {
		return err
	}
	d.appends.forget(name)
	err := d.inFolderOf(name, func(folder *os.Root) error {
		return replaceFile(folder, path.Base(name), data, sync)
	})
	if err == nil && sync == Durable {
		err = d.syncFoldersOf(name)
	}
	if err != nil {
		return dirError("write", name, err)
	}
	return nil
}

// inFolderOf calls do with the folder of a name, which it makes if need be.
func (d *Dir) inFolderOf(name string, do func(*os.Root) error) error {
	return retryVanished(func() error {
		folder, err := openBelow(d.root, parent(name))
		if errors.Is(err, os.ErrNotExist) {
			if err = d.mkdirs(parent(name)); err == nil {
				folder, err = openBelow(d.root, parent(name))
			}
		}
		if err != nil {
			return err
		}
		defer folder.Close()
		return do(folder)
	})
}

func replaceFile(folder *os.Root, base string, data []byte, sync Sync) error {
	mode := os.FileMode(fileMode)
	keepMode := false
	if old, err := folder.Stat(base); err == nil {
		if old.IsDir() {
			return errIsFolder
		}
		mode, keepMode = old.Mode().Perm(), true
	}
	temp := tempName()
	f, err := folder.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	err = fill(f, data, mode, keepMode, sync)
	if err = errors.Join(err, f.Close()); err == nil {
		err = folder.Rename(temp, base)
	}
	if err != nil {
		_ = folder.Remove(temp) // else ReadDir removes it one day
	}
	return err
}

func fill(f *os.File, data []byte, mode os.FileMode, keepMode bool, sync Sync) error {
	if keepMode { // the umask may have taken some of it
		if err := f.Chmod(mode); err != nil {
			return err
		}
	}
	if _, err := f.Write(data); err != nil {
		return err
	}
	if sync == Durable {
		return f.Sync()
	}
	return nil
}

// syncFoldersOf makes the way to a file durable. It goes up to the root, because
// a folder above may have been made lazily; syncing one that is clean costs little.
func (d *Dir) syncFoldersOf(name string) error {
	for folder := parent(name); ; folder = parent(folder) {
		err := syncFolder(d.root, folder)
		// A folder that was moved away in the meantime took the file along.
		if err != nil && !isMissing(err) {
			return err
		}
		if folder == "." {
			return nil
		}
	}
}
