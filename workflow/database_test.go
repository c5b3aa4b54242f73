package workflow_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// rows is a database with one answer.
type rows struct {
	of     workspace.Storage
	answer [][]any
}

func (r rows) Query(context.Context, string, int) (columns []string, answer [][]any, err error) {
	return []string{"id"}, r.answer, nil
}

const askingPlan = `{"steps":[{"id":"a","type":"regular","description":"Do.","validation_schema":{"db":[{"name":"paid","sql":"SELECT id FROM orders"}]}}]}`

func TestTheDatabaseOfTheWorkspaceIsAskedAtEachAttempt(t *testing.T) {
	t.Parallel()
	asked := 0
	config := withModel(t, agenttest.Reply("done"), agenttest.Reply("mended"))
	b := setup(t, config, askingPlan)
	config.Database = func(st workspace.Storage) validation.Database {
		assert.Same(t, b.ws.Storage(), st)
		asked++
		if asked == 1 {
			return rows{of: st}
		}
		return rows{st, [][]any{{int64(7)}}}
	}
	ctl, err := workflow.NewController(config)
	require.NoError(t, err)
	_, err = ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Equal(t, 2, asked)
	log := b.read(t, "runs/iteration-1/logs/a/pre_validation-attempt-1-iteration-1.json")
	assert.Contains(t, log, `"attempt":1,"iteration":1,"timestamp"`)
	assert.Contains(t, b.read(t, "runs/iteration-1/logs/a/pre_validation.json"), `"attempt":2,"iteration":1,"final":true`)
}

func TestAPlanThatAsksADatabaseNeedsOne(t *testing.T) {
	t.Parallel()
	b := setup(t, withModel(t), askingPlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	var ds workspace.Diagnostics
	require.ErrorAs(t, err, &ds)
	require.Len(t, ds, 1)
	assert.Equal(t, "database.missing", ds[0].Code)
	assert.Equal(t, "/steps/0/validation_schema/db", ds[0].Pointer)
}
