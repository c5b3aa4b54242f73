package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// maxElement is the longest element of a name in bytes, which is what the common
// file systems can hold.
const maxElement = 255

// tempPrefix begins the names that [Dir] uses for files that are being written
// and folders that are being removed. No storage accepts it in a name, so that a
// name that works in memory works on disk.
const tempPrefix = ".treadle-tmp-"

var (
	errIsFolder  = errors.New("is a folder")
	errNotFolder = errors.New("not a folder")
)

// checkCall is what every operation starts with: the context, then the name.
func checkCall(ctx context.Context, op, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return checkName(op, name)
}

// checkFileCall also refuses the root, which is never a file and cannot be moved
// or removed.
func checkFileCall(ctx context.Context, op, name string) error {
	if err := checkCall(ctx, op, name); err != nil {
		return err
	}
	if name == "." {
		return pathError(op, name, fmt.Errorf("%w: the root of the storage cannot be the object of this", fs.ErrInvalid))
	}
	return nil
}

// checkRename checks both names, and that a folder is not moved into itself.
func checkRename(ctx context.Context, from, to string) error {
	if err := checkFileCall(ctx, "rename", from); err != nil {
		return err
	}
	if err := checkFileCall(ctx, "rename", to); err != nil {
		return err
	}
	if strings.HasPrefix(to, from+"/") {
		return pathError("rename", from, fmt.Errorf("%w: %s lies inside it", fs.ErrInvalid, to))
	}
	return nil
}

func checkName(op, name string) error {
	if !fs.ValidPath(name) {
		return pathError(op, name, fmt.Errorf("%w: want a relative, slash-separated name without empty, . or .. elements", fs.ErrInvalid))
	}
	if strings.IndexByte(name, 0) >= 0 {
		return pathError(op, name, fmt.Errorf("%w: a zero byte cannot be part of a name", fs.ErrInvalid))
	}
	for rest := name; rest != ""; {
		var element string
		element, rest, _ = strings.Cut(rest, "/")
		if len(element) > maxElement {
			return pathError(op, name, fmt.Errorf("%w: an element is longer than %d bytes", fs.ErrInvalid, maxElement))
		}
		if strings.HasPrefix(element, tempPrefix) {
			return pathError(op, name, fmt.Errorf("%w: names that begin with %s are reserved", fs.ErrInvalid, tempPrefix))
		}
	}
	return nil
}

// checkOffset refuses what cannot be a position in a file.
func checkOffset(op, name string, offset int64) error {
	if offset < 0 {
		return pathError(op, name, fmt.Errorf("%w: negative position %d", fs.ErrInvalid, offset))
	}
	return nil
}

func conflict(name string, end, offset int64) error {
	return pathError("append", name, fmt.Errorf("%w: it ends at %d, not at %d", ErrConflict, end, offset))
}

// missingConflict is the conflict with a file that is gone; it matches both
// [ErrConflict] and [fs.ErrNotExist].
func missingConflict(name string, offset int64) error {
	return pathError("append", name, fmt.Errorf("%w: expected to end at %d: %w", ErrConflict, offset, fs.ErrNotExist))
}

func pastEnd(name string, size, end int64) error {
	return pathError("truncate", name, fmt.Errorf("%w: size %d is past the end at %d", fs.ErrInvalid, size, end))
}

func pathError(op, name string, err error) error {
	return &fs.PathError{Op: op, Path: name, Err: err}
}

// parent is the folder of a name; that of a top-level name is ".".
func parent(name string) string { return path.Dir(name) }

func sortEntries(entries []fs.DirEntry) {
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
}
