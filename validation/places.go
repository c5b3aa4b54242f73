package validation

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/treadle-dev/treadle/workspace"
)

// places are the names in the storage where a file may lie.
type places struct {
	primary, alternate string
	// tryAlternate accepts a file at the alternate place; otherwise a copy there
	// is only worth a remark.
	tryAlternate bool
	// inStep is the place in the folder of the step, and below is the part of it
	// that the step has made.
	inStep, below string
}

func (f *fileCheck) places(stepDir string) places {
	inStep := path.Join(stepDir, f.name)
	first, _, nested := strings.Cut(f.name, "/")
	p := places{inStep: inStep, below: f.name}
	switch {
	case inStep == f.name:
		p.primary = f.name
	case nested && slices.Contains(rootFolders(), first):
		p.primary, p.alternate, p.tryAlternate = f.name, inStep, first == workspace.DBDir
	default:
		p.primary, p.alternate = inStep, f.name
	}
	return p
}

// rootFolders are the folders whose files a schema names from the root.
func rootFolders() []string {
	return []string{
		workspace.KnowledgebaseDir, "planning", "variables", workspace.LearningsDir, "memory", "output",
		workspace.EvaluationDir, workspace.RunsDir, "logs", workspace.DBDir, "soul",
	}
}

// sighting is what a look at a name has found: a file, nothing, or a name that
// is refused, such as a symbolic link out of the workspace.
type sighting struct {
	info    fs.FileInfo
	refused error
	own     bool // it lies in the folder of the step
}

func (s sighting) missing() bool { return s.info == nil && s.refused == nil }

func (p places) look(ctx context.Context, v *visit, name string) (sighting, error) {
	found, err := look(ctx, v.st, name)
	found.own = name == p.inStep
	if err != nil || !found.own || found.info == nil {
		return found, err
	}
	link, err := linkBelow(ctx, v.st, strings.TrimSuffix(name, p.below), p.below)
	if err != nil {
		return found, err
	}
	if link != "" {
		return sighting{refused: fmt.Errorf("%s is a symbolic link: write the file itself", link), own: true}, nil
	}
	return found, nil
}

// look tells the states of a file that a step can cause from a storage that does
// not work.
func look(ctx context.Context, st workspace.Storage, name string) (sighting, error) {
	info, err := st.Stat(ctx, name)
	switch {
	case err == nil:
		return sighting{info: info}, nil
	case absent(err):
		return sighting{}, nil
	case unreachable(err):
		return sighting{refused: err}, nil
	default:
		return sighting{}, err
	}
}

func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.ENAMETOOLONG)
}

func unreachable(err error) bool {
	return errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) || errors.Is(err, syscall.ELOOP)
}

// linkBelow finds the first symbolic link on the way from a folder down to a name.
// It is empty when there is none, or when the way ends early.
func linkBelow(ctx context.Context, st workspace.Storage, dir, name string) (string, error) {
	dir = path.Clean(dir)
	way := ""
	for element := range strings.SplitSeq(name, "/") {
		entries, err := st.ReadDir(ctx, path.Join(dir, way))
		switch {
		case err == nil:
		case absent(err), unreachable(err):
			return "", nil
		default:
			found, lookErr := look(ctx, st, path.Join(dir, way))
			if lookErr == nil && (found.info == nil || !found.info.IsDir()) {
				return "", nil // a file where a folder is wanted
			}
			return "", err
		}
		way = path.Join(way, element)
		at := slices.IndexFunc(entries, func(e fs.DirEntry) bool { return e.Name() == element })
		if at < 0 {
			return "", nil
		}
		if entries[at].Type()&fs.ModeSymlink != 0 {
			return way, nil
		}
	}
	return "", nil
}
