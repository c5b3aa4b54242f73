package sandbox

import (
	"errors"
	"fmt"

	"github.com/treadle-dev/treadle/internal/sandbox/helper"
)

// Feature is a part of the protection that a kernel may lack.
type Feature string

const (
	// Namespaces are the user, process, mount, network, ipc and host name namespaces
	// of the command, made by an unprivileged user, and the system calls to build a
	// root in them (Linux 5.12). Without them root makes all but the user namespace, which
	// changes little. A normal user, or root who may not mount, has Landlock, the filter
	// and limits only, which must then be there: no network, no Hosts, no path that is
	// read only in a writable one; docs/sandbox.md says what is then not stopped.
	Namespaces Feature = helper.FeatureNamespaces
	// Proc is a fresh /proc. Containers that hide parts of their own refuse it. Without
	// it the command has an empty /proc, and what needs one does not work inside.
	Proc Feature = helper.FeatureProc
	// Landlock is a second wall around files, and one around signals and abstract Unix
	// sockets.
	Landlock Feature = helper.FeatureLandlock
	// Seccomp is the filter of system calls.
	Seccomp Feature = helper.FeatureSeccomp
	// MemoryCgroup bounds the memory of the whole tree exactly. Without it each
	// process is bounded, and the sum is watched. It needs no consent.
	MemoryCgroup Feature = helper.FeatureMemoryCgroup
	// ProcessCgroup bounds the number of processes exactly. Without it the kernel
	// counts the processes of the command's user, and the sum is watched. It needs no
	// consent.
	ProcessCgroup Feature = helper.FeatureProcessCgroup
)

var (
	// ErrUnavailable is what an [*UnavailableError] matches.
	ErrUnavailable = errors.New("the sandbox is not available")
	// ErrPath is what a [*PathError] matches.
	ErrPath = errors.New("a path cannot be shown to the command")
	// ErrCommand is what a [*CommandError] matches.
	ErrCommand = errors.New("the command is not well-formed")
)

// UnavailableError says that the kernel, or the place the host runs in, does not offer
// a part of the protection.
type UnavailableError struct {
	Feature Feature
	Cause   error
}

func (e *UnavailableError) Error() string {
	hint := fmt.Sprintf("allow it, or accept to do without by naming %q in Command.Without", e.Feature)
	if e.Feature == Namespaces {
		hint = "it needs Linux 5.12 or later, with user namespaces that the host may make (in a container, its seccomp and AppArmor profile decide); " + hint
	}
	return fmt.Sprintf("sandbox: no %s here: %v; %s", e.Feature, e.Cause, hint)
}

// Unwrap returns the cause.
func (e *UnavailableError) Unwrap() error { return e.Cause }

// Is reports whether target is [ErrUnavailable].
func (e *UnavailableError) Is(target error) bool { return target == ErrUnavailable }

// PathError says why a path of a [Command] cannot be shown to it. Nothing was started.
type PathError struct {
	Name  string
	Cause error
}

func (e *PathError) Error() string { return fmt.Sprintf("sandbox: %s: %v", e.Name, e.Cause) }

// Unwrap returns the cause; fs.ErrNotExist is one.
func (e *PathError) Unwrap() error { return e.Cause }

// Is reports whether target is [ErrPath].
func (e *PathError) Is(target error) bool { return target == ErrPath }

// CommandError says which field of a [Command] is wrong. Nothing was started.
type CommandError struct {
	Field  string
	Reason string
}

func (e *CommandError) Error() string {
	return fmt.Sprintf("sandbox: Command.%s: %s", e.Field, e.Reason)
}

// Is reports whether target is [ErrCommand].
func (e *CommandError) Is(target error) bool { return target == ErrCommand }
