package main

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

func TestTheExitStatusOfARunIsItsState(t *testing.T) {
	t.Parallel()
	failure := errors.New("no luck")
	for _, c := range []struct {
		status workflow.Status
		err    error
		want   int
	}{
		{workflow.StatusCompleted, nil, 0},
		{workflow.StatusCompleted, failure, 1}, // such as a server that did not stop
		{workflow.StatusFailed, failure, 1},
		{workflow.StatusWaiting, failure, 3},
		{workflow.StatusStopped, failure, 4},
		{workflow.StatusCanceled, workflow.ErrCanceled, 130},
		{workflow.StatusFailed, fmt.Errorf("taken over: %w", workflow.ErrRunHeld), 5},
	} {
		assert.Equal(t, c.want, exitOfRun(c.status, c.err), "%s, %v", c.status, c.err)
	}
}

func TestTheExitStatusOfARefusalSaysWhoIsToBlame(t *testing.T) {
	t.Parallel()
	for want, errs := range map[int][]error{
		1:   {errors.New("the disk is full"), costs.ErrDamaged},
		2:   {&usageError{"x"}, &refusal{errors.New("x")}, workspace.Diagnostics{{}}, workflow.ErrRunNotFound, workflow.ErrRunFinished, workflow.ErrRunName, workflow.ErrPlanChanged},
		5:   {workflow.ErrRunHeld},
		130: {context.Canceled},
	} {
		for _, err := range errs {
			assert.Equal(t, want, exitOf(fmt.Errorf("wrapped: %w", err)), "%v", err)
		}
	}
}
