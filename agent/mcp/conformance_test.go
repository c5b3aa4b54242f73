package mcp_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/internal/nodetest"
)

// served makes the toolset of a server anew each time.
func served(server mcp.Server) func(t *testing.T) agent.Toolset {
	return func(t *testing.T) agent.Toolset {
		t.Helper()
		toolset, err := mcp.New(server)
		require.NoError(t, err)
		return toolset
	}
}

func TestTheFakeServerKeepsThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	agenttest.TestToolset(t, agenttest.ToolsetTest{
		New:     served(fake(t)),
		Success: agenttest.ToolCase{Tool: "echo", Arguments: `{"message":"hello"}`, Want: `"hello"`},
		Failure: agenttest.ToolCase{Tool: "fail", Want: "the disk is full"},
		Slow:    agenttest.ToolCase{Tool: "slow"},
		Bare:    "structured",
		Each: func(i int) agenttest.ToolCase {
			return agenttest.ToolCase{Tool: "echo", Arguments: fmt.Sprintf(`{"n":"call %02d"}`, i), Want: fmt.Sprintf(`"call %02d"`, i)}
		},
	})
}

func TestANoisyServerThatRefusesKeepsThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	agenttest.TestToolset(t, agenttest.ToolsetTest{
		New:     served(fake(t, "stray", "stderr-flood")),
		Success: agenttest.ToolCase{Tool: "echo"},
		Failure: agenttest.ToolCase{Tool: "refuse", Want: "city is required"},

		FailureIsError: true, // the protocol's own error
	})
}

// It starts slowly, so it is started once for each transport and not for each
// session, as over stdio.
func TestThePublishedEverythingServerKeepsThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	for transport, kind := range map[string]mcp.Kind{nodetest.StreamableHTTP: mcp.KindHTTP, nodetest.SSE: mcp.KindSSE} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			url := serveProgram(t, nodetest.MCPServer("everything"), transport)
			agenttest.TestToolset(t, agenttest.ToolsetTest{
				New:     served(mcp.Server{Name: "everything", URL: url, Kind: kind}),
				Success: agenttest.ToolCase{Tool: "echo", Arguments: `{"message":"hello"}`, Want: "Echo: hello"},
				Failure: agenttest.ToolCase{Tool: "echo", Arguments: `{}`, Want: "message"},
				Slow:    agenttest.ToolCase{Tool: "trigger-long-running-operation", Arguments: `{"duration":60,"steps":2}`},
				Bare:    "get-tiny-image",
				Each: func(i int) agenttest.ToolCase {
					return agenttest.ToolCase{Tool: "get-sum", Arguments: fmt.Sprintf(`{"a":1000,"b":%d}`, i), Want: fmt.Sprint(1000 + i)}
				},
			})
		})
	}
}

func TestThePublishedFilesystemServerKeepsThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	node, args := nodetest.Bin(t, "@modelcontextprotocol/server-filesystem", "dist/index.js")
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	reading := func(i int) agenttest.ToolCase {
		name := filepath.Join(root, fmt.Sprintf("invoice-%d.txt", i))
		text := fmt.Sprintf("total %d,50", i)
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
		arguments, err := json.Marshal(map[string]string{"path": name})
		require.NoError(t, err)
		return agenttest.ToolCase{Tool: "read_text_file", Arguments: string(arguments), Want: text}
	}
	agenttest.TestToolset(t, agenttest.ToolsetTest{
		New:     served(mcp.Server{Name: "filesystem", Command: node, Args: append(args, root)}),
		Success: reading(0),
		Failure: agenttest.ToolCase{Tool: "read_text_file", Arguments: `{"path":"/etc/hostname"}`, Want: "denied"},
		Bare:    "list_allowed_directories",
		Each:    reading,
	})
}
