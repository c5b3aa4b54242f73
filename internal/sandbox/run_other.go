//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"runtime"
)

// Run runs a command to its end and returns once nothing of it is left. Here it is
// not available: the sandbox is built of parts of the Linux kernel.
func Run(_ context.Context, command *Command) (*Result, error) {
	if err := command.check(); err != nil {
		return nil, err
	}
	return nil, unavailableHere()
}

// Probe reports what the kernel lacks. Here that is everything.
func Probe(context.Context) ([]Feature, error) { return nil, unavailableHere() }

func unavailableHere() error {
	return &UnavailableError{Feature: Namespaces, Cause: errors.New("the sandbox needs Linux; this is " + runtime.GOOS)}
}
