package agenttest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workspace"
)

// loom is a scripted toolset with a tool of each kind.
type loom struct{ agenttest.Toolset }

func newLoom() *loom {
	const schema = `{"type":"object","properties":{"thread":{"type":"string"}},"required":["thread"]}`
	return &loom{agenttest.Toolset{ID: "loom", Tools: []agent.Tool{
		&agenttest.Tool{Name: "weave", Schema: schema, Effect: agent.Idempotent, Do: weave},
		&agenttest.Tool{Name: "cut", Effect: agent.Unsafe, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
			return agent.ErrorResult("the scissors are blunt"), nil
		}},
		&agenttest.Tool{Name: "wait", Effect: agent.ReadOnly, Do: func(ctx context.Context, _ *agent.ToolCall) (*agent.ToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}},
		&agenttest.Tool{Name: "list", Effect: agent.ReadOnly, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
			return agent.TextResult("warp, weft"), nil
		}},
	}}}
}

func weave(_ context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	var arguments struct {
		Thread string `json:"thread"`
	}
	if err := json.Unmarshal(call.Arguments, &arguments); err != nil {
		return nil, err
	}
	result := agent.TextResult("wove " + arguments.Thread)
	result.Structured = call.Arguments
	return result, nil
}

func (*loom) Sharing() agent.Sharing { return agent.SharePerGroup }
func (*loom) Optional() bool         { return true }
func (*loom) Aliases() []string      { return []string{"weaving", "looms"} }

func loomTest(open func(t *testing.T) agent.Toolset) agenttest.ToolsetTest {
	return agenttest.ToolsetTest{
		New:     open,
		Success: agenttest.ToolCase{Tool: "weave", Arguments: `{"thread":"red"}`, Want: "wove red"},
		Failure: agenttest.ToolCase{Tool: "cut", Want: "blunt"},
		Slow:    agenttest.ToolCase{Tool: "wait"},
		Bare:    "list",
		Each: func(i int) agenttest.ToolCase {
			thread := fmt.Sprintf("thread-%02d", i)
			return agenttest.ToolCase{Tool: "weave", Arguments: fmt.Sprintf(`{"thread":%q}`, thread), Want: "wove " + thread}
		},
		Names:   []string{"weave", "cut", "wait", "list"},
		Origins: []string{"weave", "cut", "wait", "list"},
	}
}

func TestAScriptedToolsetKeepsThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	agenttest.TestToolset(t, loomTest(func(*testing.T) agent.Toolset { return newLoom() }))
}

func TestFilesKeepsThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	agenttest.TestToolset(t, agenttest.ToolsetTest{
		New:     func(*testing.T) agent.Toolset { return agenttest.Files() },
		Success: agenttest.ToolCase{Tool: "write_file", Arguments: `{"path":"a.txt","content":"abc"}`, Want: "wrote 3 bytes"},
		Failure: agenttest.ToolCase{Tool: "read_file", Arguments: `{"path":"nowhere.txt"}`, Want: "nowhere.txt"},

		FailureIsError: true,
		Each: func(i int) agenttest.ToolCase {
			return agenttest.ToolCase{Tool: "write_file", Arguments: fmt.Sprintf(`{"path":"%d.txt","content":"abc"}`, i), Want: fmt.Sprintf("/%d.txt", i)}
		},
		Names: []string{"read_file", "list_folder", "write_file", "append_file"},
	})
}

func TestAToolsetIsTestedForAScopeOfItsImplementers(t *testing.T) {
	t.Parallel()
	agenttest.TestToolset(t, agenttest.ToolsetTest{
		New: func(*testing.T) agent.Toolset { return agenttest.Files() },
		Scope: func(t *testing.T) agent.Scope {
			ws := workspace.New(workspace.NewMem())
			require.NoError(t, ws.Storage().WriteFile(t.Context(), "work/a.txt", []byte("kept here"), workspace.Lazy))
			return agent.Scope{Workspace: ws, WorkDir: "work"}
		},
		Success: agenttest.ToolCase{Tool: "read_file", Arguments: `{"path":"a.txt"}`, Want: "kept here"},
	})
}

func TestClosingAScriptedSessionEndsItsCallsAndThenTellsOnce(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	closed := 0
	var order []string
	ts := &agenttest.Toolset{ID: "slow", OnClose: func() { closed++; order = append(order, "closed") }, Tools: []agent.Tool{
		&agenttest.Tool{Name: "wait", Do: func(ctx context.Context, _ *agent.ToolCall) (*agent.ToolResult, error) {
			close(running)
			<-ctx.Done()
			order = append(order, "call ended")
			return nil, ctx.Err()
		}},
	}}
	session, err := ts.Open(t.Context(), agent.Scope{})
	require.NoError(t, err)
	tools, err := session.Tools(t.Context())
	require.NoError(t, err)
	failed := make(chan error)
	go func() {
		_, err := tools[0].Call(t.Context(), &agent.ToolCall{Name: "wait"})
		failed <- err
	}()
	<-running
	go func() { _ = session.Close() }()
	require.ErrorIs(t, <-failed, agenttest.ErrSessionClosed)
	require.NoError(t, session.Close())
	assert.Equal(t, 1, closed)
	assert.Equal(t, []string{"call ended", "closed"}, order)
}
