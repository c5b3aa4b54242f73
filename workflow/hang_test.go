package workflow_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// hangingStorage hangs in appends once it is told to, until their context ends.
type hangingStorage struct {
	workspace.Storage
	hang chan struct{}
}

func (h *hangingStorage) AppendAt(ctx context.Context, name string, offset int64, data []byte) error {
	select {
	case <-h.hang:
		<-ctx.Done()
		return ctx.Err()
	default:
		return h.Storage.AppendAt(ctx, name, offset, data)
	}
}

func TestAStorageThatHangsCannotHoldACanceledRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := &hangingStorage{Storage: workspace.NewMem(), hang: make(chan struct{})}
		step := &workflow.StepType{Name: "hang", Execute: func(*workflow.StepContext) (*workflow.Outcome, error) {
			close(st.hang)
			return nil, nil
		}}
		require.NoError(t, st.WriteFile(t.Context(), workspace.PlanFile, []byte(hostPlan("hang", "")), workspace.Lazy))
		ctl, err := workflow.NewController(workflow.Config{StepTypes: []*workflow.StepType{step}})
		require.NoError(t, err)
		run, err := ctl.Start(t.Context(), workspace.New(st), nil)
		require.NoError(t, err)
		synctest.Wait()
		began := time.Now()
		run.Cancel()
		_, err = run.Wait(t.Context())
		require.ErrorContains(t, err, "did not answer")
		assert.Equal(t, 10*time.Second, time.Since(began))
	})
}
