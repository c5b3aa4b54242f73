package agent_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

// grown runs a conversation of some turns and returns the bytes that it allocated
// and the bytes that it wrote.
func grown(t *testing.T, turns int) (allocated, written uint64) {
	t.Helper()
	text := strings.Repeat("a line of a file\n", 60)
	tool := &agenttest.Tool{Name: "read", Effect: agent.ReadOnly, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		return agent.TextResult(text), nil
	}}
	st := workspace.NewMem()
	j, err := journal.Open(t.Context(), st, "journal.jsonl", journal.Options{})
	require.NoError(t, err)
	loop := agent.Loop{LLM: alwaysCallsLean{}, Tools: []agent.Tool{tool}, Journal: j.Under("s"), MaxTurns: turns}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = loop.Run(t.Context(), asked("go"))
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, agent.ErrTurnLimit)
	require.NoError(t, j.Close())
	info, err := st.Stat(t.Context(), "journal.jsonl")
	require.NoError(t, err)
	return after.TotalAlloc - before.TotalAlloc, uint64(info.Size())
}

type alwaysCallsLean struct{}

func (alwaysCallsLean) Generate(context.Context, *agent.Request, agent.Sink) (*agent.Response, error) {
	response := agenttest.Call("read", nil).Response
	return &response, nil
}

func TestMemoryAndBytesWrittenGrowWithWhatIsNew(t *testing.T) { //nolint:paralleltest // it counts what the whole process allocates
	grown(t, 10)
	allocated50, written50 := grown(t, 50)
	allocated400, written400 := grown(t, 400)
	assert.Less(t, float64(allocated400)/400, 1.6*float64(allocated50)/50, "allocated for a turn")
	assert.Less(t, float64(written400)/400, 1.1*float64(written50)/50, "written for a turn")
}
