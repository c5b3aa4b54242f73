package main

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/examples/quickstart/internal/filesmcp"
)

func TestTheFileServerKeepsThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	writing := func(i int) agenttest.ToolCase {
		return agenttest.ToolCase{
			Tool: filesmcp.WriteFile, Arguments: fmt.Sprintf(`{"path":"out/%d.txt","content":"12,50"}`, i), Want: fmt.Sprintf("out/%d.txt", i),
		}
	}
	agenttest.TestToolset(t, agenttest.ToolsetTest{
		New: func(t *testing.T) agent.Toolset {
			files, err := fileServer(dir)
			require.NoError(t, err)
			return files
		},
		Success: writing(0),
		Failure: agenttest.ToolCase{Tool: filesmcp.ReadTextFile, Arguments: `{"path":"../ledger.csv"}`, Want: "outside of the served folder"},
		Each:    writing,
		Origins: []string{filesmcp.ListDirectory, filesmcp.ReadTextFile, filesmcp.WriteFile},
	})
}
