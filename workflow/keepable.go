package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/treadle-dev/treadle/workspace"
)

// maxUnkept is how many files that cannot be kept an agent is told of at once.
const maxUnkept = 10

// missingOutput says what is wrong with a declared output, or "".
func missingOutput(ctx context.Context, files workspace.Storage, name string) (string, error) {
	_, err := files.Stat(ctx, name)
	_, isLink := errors.AsType[*linkError](err)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist", nil
	case isLink:
		return "is a symbolic link that leads elsewhere: write the file itself", nil
	}
	return "", err
}

// unkeepable finds what a command can leave in a work folder and no record can name,
// or no later step can read. It is the agent's to mend, while it is there: later it
// would fail the run.
func unkeepable(ctx context.Context, st workspace.Storage, folder string) ([]string, error) {
	w := &keeping{st: st}
	if err := w.folder(ctx, folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look through %s: %w", folder, err)
	}
	if w.more > 0 {
		w.problems = append(w.problems, fmt.Sprintf("%d more files have such faults.", w.more))
	}
	return w.problems, nil
}

// keeping walks through a work folder.
type keeping struct {
	st       workspace.Storage
	problems []string
	more     int
}

func (k *keeping) folder(ctx context.Context, folder string) error {
	entries, err := k.st.ReadDir(ctx, folder)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := folder + "/" + e.Name()
		if !utf8.ValidString(e.Name()) {
			k.report(fmt.Sprintf("The name of %q is not valid UTF-8: rename or remove it.", name))
			continue
		}
		if !e.IsDir() && !e.Type().IsRegular() {
			continue
		}
		readable, err := isReadable(e)
		if err == nil && readable && e.IsDir() {
			err = k.folder(ctx, name)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
		case err == nil && !readable, errors.Is(err, fs.ErrPermission):
			k.report(fmt.Sprintf("%s cannot be read, by its permissions: write it anew with a umask such as 022, or remove it.", name))
		case err != nil:
			return err
		}
	}
	return nil
}

// isReadable asks what the owner may do, who is the one that runs the commands.
// Storages without permissions have none to ask.
func isReadable(e fs.DirEntry) (bool, error) {
	info, err := e.Info()
	if err != nil {
		return false, err
	}
	wanted := fs.FileMode(0o400)
	if e.IsDir() {
		wanted = 0o500
	}
	return info.Mode().Perm()&wanted == wanted, nil
}

func (k *keeping) report(problem string) {
	if len(k.problems) >= maxUnkept {
		k.more++
		return
	}
	k.problems = append(k.problems, strings.ToValidUTF8(problem, "\uFFFD"))
}
