package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Run runs a command to its end and returns once nothing of it is left: no process,
// goroutine, descriptor, cgroup or folder. A command that fails, or that a limit ends,
// is a result, not an error.
//
// The errors are a [*CommandError] or a [*PathError] for a command that is not
// well-formed; an [*UnavailableError]; the context's error when it ended first; and
// what a writer of the command returned. Run may be called from any number of
// goroutines.
func Run(ctx context.Context, command *Command) (*Result, error) {
	if err := command.check(); err != nil {
		return nil, err
	}
	if len(command.Without) == 0 {
		return run(ctx, command, nil)
	}
	missing, err := probe(ctx, command.Without)
	if err != nil {
		return nil, err
	}
	return run(ctx, command, missing)
}

// run is Run without the features that are known to be missing.
func run(ctx context.Context, command *Command, missing []Feature) (result *Result, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	begin := time.Now()
	limits := command.Limits.withDefaults()
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Duration, errTooLong)
	defer cancel()

	wall := wallWithout(missing)
	if wall == confined {
		var leave func() error
		if command, leave, err = confinedCommand(command, missing); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, leave()) }()
	}
	paths, err := openPaths(command)
	if err != nil {
		return nil, err
	}
	defer paths.close()
	user := paths.user()
	if err := paths.prepare(ctx, user); err != nil {
		return nil, err
	}
	s := &session{command: command, limits: limits, paths: paths, user: user, wall: wall, missing: slices.Clone(missing), ended: make(chan struct{})}
	result, err = s.run(ctx)
	if result != nil {
		result.Duration = time.Since(begin)
	}
	return result, err
}

// errTooLong is the cause of a context that Limits.Duration ended.
var errTooLong = errors.New("the command took too long")

// rootHere reports whether this process may do what only root may.
func rootHere() bool { return os.Geteuid() == 0 }

// unavailable makes an error of a system call that the kernel, or a container around
// it, refuses.
func unavailable(feature Feature, doing string, err error) error {
	return &UnavailableError{Feature: feature, Cause: fmt.Errorf("%s: %w", doing, err)}
}

// refused reports whether an error means that something is not offered, rather than
// that there is too little of it.
func refused(err error) bool {
	return errors.Is(err, unix.EPERM) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSPC) ||
		errors.Is(err, unix.EUSERS) || errors.Is(err, unix.EACCES)
}
