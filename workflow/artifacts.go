package workflow

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/treadle-dev/treadle/workspace"
)

// listArtifacts describes everything below a work folder but the folders, sorted by
// name, and reports whether there is a work folder.
func listArtifacts(ctx context.Context, st workspace.Storage, folder string) (list []Artifact, there bool, err error) {
	entries, err := st.ReadDir(ctx, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err == nil {
		list, err = appendArtifacts(ctx, st, nil, folder, "", entries)
	}
	if err != nil {
		return nil, false, fmt.Errorf("list outputs of %s: %w", folder, err)
	}
	return list, true, nil
}

func appendArtifacts(ctx context.Context, st workspace.Storage, list []Artifact, dir, prefix string, entries []fs.DirEntry) ([]Artifact, error) {
	for _, e := range entries {
		name := dir + "/" + e.Name()
		switch {
		case e.IsDir():
			below, err := st.ReadDir(ctx, name)
			if err != nil {
				return nil, err
			}
			if list, err = appendArtifacts(ctx, st, list, name, prefix+e.Name()+"/", below); err != nil {
				return nil, err
			}
		case e.Type().IsRegular():
			data, err := st.ReadFile(ctx, name)
			if err != nil {
				return nil, err
			}
			sum := sha256.Sum256(data)
			list = append(list, Artifact{Name: prefix + e.Name(), Size: int64(len(data)), Hash: hex.EncodeToString(sum[:])})
		default:
			list = append(list, Artifact{Name: prefix + e.Name(), Kind: kindOf(e.Type())})
		}
	}
	return list, nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	case mode&fs.ModeNamedPipe != 0:
		return "pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "other"
}
