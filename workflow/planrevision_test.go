package workflow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
)

func TestPlansThatSayTheSameHaveOneRevision(t *testing.T) {
	t.Parallel()
	one := workflow.PlanRevision([]byte(`{"steps":[{"id":"a","type":"regular","n":1.0}]}`))
	assert.Equal(t, one, workflow.PlanRevision([]byte("{ \"steps\" : [ {\"n\":1.0, \"type\":\"re\\u0067ular\",\"id\":\"a\"} ] }\n")))
	for _, other := range []string{
		`{"steps":[{"id":"a","type":"regular","n":1}]}`, `{"steps":[{"id":"a","type":"regular"}]}`, `{}`, ``, `{`,
	} {
		assert.NotEqual(t, one, workflow.PlanRevision([]byte(other)))
	}
	assert.Empty(t, workflow.PlanRevision(nil))
}

func TestTheRevisionOfAPlanIsThatOfItsProgram(t *testing.T) {
	t.Parallel()
	program, found := workflow.Compile(&workflow.Source{Plan: []byte(invoicePlan)}, nil)
	require.NoError(t, found.Err())
	assert.Equal(t, program.Revision(), workflow.PlanRevision([]byte(invoicePlan)))
}

func TestTheStoredPairOfPlansHasOneRevision(t *testing.T) {
	t.Parallel()
	folder := os.Getenv("TREADLE_FIXTURES")
	if folder == "" {
		folder = filepath.Join("..", "..", "shared", "fixtures")
	}
	data, err := os.ReadFile(filepath.Join(folder, "agentworks", "gen-c", "planning", "revision_pair.jsonl"))
	if os.IsNotExist(err) && os.Getenv("CI") != "true" {
		t.Skip("the fixtures are not here: ", err)
	}
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	require.Len(t, lines, 2)
	assert.Equal(t, workflow.PlanRevision([]byte(lines[0])), workflow.PlanRevision([]byte(lines[1])))
}
