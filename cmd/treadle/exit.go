package main

import (
	"context"
	"errors"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// The exit statuses. 130 is what a shell reports of a program that SIGINT ended.
const (
	exitCompleted = 0
	exitFailed    = 1
	exitUsage     = 2 // or an invalid workflow
	exitWaiting   = 3
	exitStopped   = 4
	exitHeld      = 5
	exitCanceled  = 130
)

// usageError is a mistake on the command line.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

// refusal is a reason not to begin that lies in the workflow or the environment.
type refusal struct{ err error }

func (e *refusal) Error() string { return e.err.Error() }

func (e *refusal) Unwrap() error { return e.err }

// exitOf is the exit status of a command that an error ended.
func exitOf(err error) int {
	var usage *usageError
	var refused *refusal
	var diagnostics workspace.Diagnostics
	switch {
	case errors.As(err, &usage), errors.As(err, &refused), errors.As(err, &diagnostics),
		errors.Is(err, workflow.ErrRunNotFound), errors.Is(err, workflow.ErrRunName),
		errors.Is(err, workflow.ErrRunFinished), errors.Is(err, workflow.ErrPlanChanged):
		return exitUsage
	case errors.Is(err, workflow.ErrRunHeld):
		return exitHeld
	case errors.Is(err, context.Canceled), errors.Is(err, workflow.ErrCanceled):
		return exitCanceled
	}
	return exitFailed
}

// exitOfRun is the exit status of a run that has ended.
func exitOfRun(status workflow.Status, err error) int {
	switch {
	case err == nil && status == workflow.StatusCompleted:
		return exitCompleted
	case errors.Is(err, workflow.ErrRunHeld):
		return exitHeld
	case status == workflow.StatusWaiting:
		return exitWaiting
	case status == workflow.StatusStopped:
		return exitStopped
	case status == workflow.StatusCanceled:
		return exitCanceled
	}
	return exitFailed
}
