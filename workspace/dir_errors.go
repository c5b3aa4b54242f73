package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// checkLocal is checkCall for a storage on disk: the operating system must be
// able to express the name.
func checkLocal(ctx context.Context, op, name string) error {
	if err := checkCall(ctx, op, name); err != nil {
		return err
	}
	if _, err := filepath.Localize(name); err != nil {
		return pathError(op, name, fmt.Errorf("%w: this operating system cannot express it", fs.ErrInvalid))
	}
	return nil
}

// escapes is the text of the error of an [os.Root] for a link that leaves it, which has
// no exported value.
const escapes = "path escapes from parent"

// dirError names the operation and the name in the storage instead of the path
// on the disk.
func dirError(op, name string, err error) error {
	bare := bareError(err)
	if bare != nil && bare.Error() == escapes {
		bare = fmt.Errorf("%w: it leads out of the workspace", fs.ErrInvalid)
	}
	return pathError(op, name, bare)
}

// readError is dirError for operations on what must exist: a name below a file
// does not.
func readError(op, name string, err error) error {
	if isMissing(err) {
		return pathError(op, name, fs.ErrNotExist)
	}
	return dirError(op, name, err)
}

func isMissing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// bareError takes the errors of package os out of their wrapping with paths.
func bareError(err error) error {
	switch wrapped := err.(type) { //nolint:errorlint // it takes off one wrapping after the other
	case *fs.PathError:
		return wrapped.Err
	case *os.LinkError:
		return wrapped.Err
	case final:
		return bareError(wrapped.error)
	case interface{ Unwrap() []error }:
		var bare []error
		for _, one := range wrapped.Unwrap() {
			bare = append(bare, bareError(one))
		}
		if len(bare) == 1 {
			return bare[0]
		}
		return errors.Join(bare...)
	}
	return err
}
