package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/treadle-dev/treadle/workspace"
)

// File is the name of the database in the storage.
const File = workspace.DBDir + "/db.sqlite"

// locate gives the path of the database on the local disk, whether or not it exists.
// It makes sure that SQLite, which goes by the path, meets a plain file of the
// workspace there and beside it.
func locate(ctx context.Context, st workspace.Storage) (path string, exists bool, err error) {
	local, ok := st.(interface {
		LocalPath(name string) (string, bool)
	})
	if !ok {
		return "", false, failure(ErrNoLocalFile, nil)
	}
	if path, ok = local.LocalPath(File); !ok {
		return "", false, failure(ErrNoLocalFile, nil)
	}
	// The storage follows no link that leads out of the workspace.
	_, err = st.Stat(ctx, File)
	switch {
	case err == nil:
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
	case ctx.Err() != nil:
		return "", false, ctx.Err()
	case errors.Is(err, fs.ErrPermission), errors.Is(err, fs.ErrInvalid), errors.Is(err, syscall.ELOOP):
		return "", false, failure(ErrUnsafe, err)
	default:
		return "", false, failure(ErrUnavailable, err)
	}
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		info, err := os.Lstat(path + suffix)
		switch {
		case err == nil && !info.Mode().IsRegular():
			return "", false, failure(ErrUnsafe, fmt.Errorf("%s is %s", File+suffix, words(info.Mode())))
		case err == nil && suffix == "":
			exists = true
		case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		default:
			return "", false, failure(ErrUnavailable, err)
		}
	}
	return path, exists, nil
}

func words(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	default:
		return "a special file"
	}
}

// source is the driver's name for a file: a URI, since only there SQLite heeds mode.
func source(path string, parameters url.Values) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	uri := url.URL{Scheme: "file", Path: path, RawQuery: parameters.Encode()}
	return uri.String()
}
