package tools

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/internal/sandbox"
	"github.com/treadle-dev/treadle/workspace"
)

// bind gives what the guard allows as paths of the sandbox.
//
// A name that does not exist is skipped, except that a folder which may be written is
// made. A name that may be written, does not exist and ends like a file ("db/a.json")
// is skipped: an empty file in its place would be a change that nobody asked for, and
// the patch tool can make it. A name that a symbolic link leads elsewhere is skipped
// too: it would bring in what the guard does not name.
func (s *session) bind(ctx context.Context) ([]sandbox.Path, error) {
	guard := s.files.Guard()
	bound := map[string]bool{} // by name: may be written
	for _, name := range guard.Write {
		exists, err := s.writable(ctx, name)
		if err != nil {
			return nil, err
		}
		if exists {
			bound[path.Clean(name)] = guard.Access(name) == workspace.WriteAccess
		}
	}
	for _, name := range guard.Read {
		found, err := s.look(ctx, name)
		if err != nil {
			return nil, err
		}
		if found == isThere {
			bound[path.Clean(name)] = false
		}
	}
	return s.local(bound), nil
}

func (s *session) local(bound map[string]bool) []sandbox.Path {
	all := make([]sandbox.Path, 0, len(bound))
	for name, writable := range bound {
		if local, ok := s.scope.Workspace.LocalPath(name); ok {
			all = append(all, sandbox.Path{Name: local, Write: writable})
		}
	}
	slices.SortFunc(all, func(a, b sandbox.Path) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// presence is what is behind a name of the guard.
type presence int

const (
	isMissing  presence = iota
	isThere             // a file or a folder
	isUnusable          // something else, or it leads elsewhere
)

func (s *session) look(ctx context.Context, name string) (presence, error) {
	info, err := s.files.Stat(ctx, name)
	switch {
	case err == nil && (info.IsDir() || info.Mode().IsRegular()):
		return isThere, nil
	case err == nil:
		return isUnusable, nil
	case errors.Is(err, fs.ErrNotExist):
		return isMissing, nil
	case errors.Is(err, workspace.ErrGuard), errors.Is(err, fs.ErrInvalid):
		s.set.config.Logger.WarnContext(ctx, "a name of the guard is not shown to a shell command", "step", s.scope.Step, "name", name, "reason", err.Error())
		return isUnusable, nil
	}
	return isUnusable, err
}

// writable reports whether a name that may be written is there, or was made.
func (s *session) writable(ctx context.Context, name string) (bool, error) {
	found, err := s.look(ctx, name)
	if err != nil || found != isMissing {
		return found == isThere, err
	}
	isFile := path.Ext(path.Base(name)) != "" && path.Clean(name) != path.Clean(s.scope.WorkDir)
	if isFile || s.files.Guard().Access(name) != workspace.WriteAccess {
		return false, nil
	}
	if err := s.files.MkdirAll(ctx, name); err != nil {
		return false, err
	}
	return true, nil
}
