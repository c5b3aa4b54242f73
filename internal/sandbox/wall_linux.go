package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// wall is what stands around a command.
type wall int

const (
	// ownNamespaces are all of them, made by an unprivileged user.
	ownNamespaces wall = iota
	// rootsNamespaces are all but that of users, made by root.
	rootsNamespaces
	// confined is without namespaces: Landlock, the filter and limits.
	confined
)

// wallWithout returns the best wall without what is missing.
func wallWithout(missing []Feature) wall {
	switch {
	case !slices.Contains(missing, Namespaces):
		return ownNamespaces
	case rootHere() && mayMount():
		return rootsNamespaces
	}
	return confined
}

// mayMount reports whether this process has the capability to make namespaces and mounts.
func mayMount() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// confinedCommand is a command in the host's own tree of files, with a folder of its own
// for what is temporary, which leave removes. What cannot be kept there is refused.
func confinedCommand(command *Command, missing []Feature) (_ *Command, leave func() error, err error) {
	for _, feature := range []Feature{Landlock, Seccomp} {
		if slices.Contains(missing, feature) {
			return nil, nil, &UnavailableError{Feature: Namespaces, Cause: fmt.Errorf("%s is missing as well (or too old), without which nothing would stand between the command and the host", feature)}
		}
	}
	if len(command.Hosts)+len(command.PrivateHosts) > 0 {
		return nil, nil, &UnavailableError{Feature: Namespaces, Cause: errors.New("Command.Hosts needs a network of the command's own, which naming namespaces in Command.Without gives up")}
	}
	if command.Socket != "" {
		return nil, nil, &UnavailableError{Feature: Namespaces, Cause: errors.New("Command.Socket needs a root of the command's own: without one, a command that may connect to it may connect to every other socket")}
	}
	for _, inner := range command.Paths {
		for _, outer := range command.Paths {
			if !inner.Write && outer.Write && strings.HasPrefix(inner.Name, outer.Name+"/") {
				return nil, nil, &PathError{Name: inner.Name, Cause: fmt.Errorf("is read only in %s, which may be written; without namespaces nothing can keep that apart", outer.Name)}
			}
		}
	}
	made, err := os.MkdirTemp("", "treadle-sandbox-")
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: making a temporary folder: %w", err)
	}
	temporary, err := filepath.EvalSymlinks(made)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("sandbox: making a temporary folder: %w", err), os.Remove(made))
	}
	own := *command
	own.Paths = append(slices.Clone(command.Paths), Path{Name: temporary, Write: true})
	if own.Dir == "" || own.Dir == "/tmp" {
		own.Dir = temporary
	}
	if !slices.ContainsFunc(own.Env, func(entry string) bool { return strings.HasPrefix(entry, "TMPDIR=") }) {
		own.Env = append(slices.Clone(own.Env), "TMPDIR="+temporary)
	}
	return &own, func() error { return removeAll(temporary) }, nil
}

// removeAll removes a folder, also what its owner may not enter at first.
func removeAll(folder string) error {
	if os.RemoveAll(folder) == nil {
		return nil
	}
	_ = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // about to be removed
		}
		return nil
	})
	if err := os.RemoveAll(folder); err != nil {
		return fmt.Errorf("sandbox: removing a temporary folder: %w", err)
	}
	return nil
}

// tasksOf counts the processes and threads of a user.
func tasksOf(uid int) (n int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		data, err := os.ReadFile(folder + "/status")
		if err != nil {
			continue
		}
		own, threads := false, 0
		for line := range strings.Lines(string(data)) {
			switch fields := strings.Fields(line); {
			case len(fields) < 2:
			case fields[0] == "Uid:":
				own = fields[1] == strconv.Itoa(uid)
			case fields[0] == "Threads:":
				threads, _ = strconv.Atoi(fields[1])
			}
		}
		if own {
			n += threads
		}
	}
	return n
}
