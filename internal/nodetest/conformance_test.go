package nodetest_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/nodetest"
)

// asClient makes the test binary the client under test.
const asClient = "TREADLE_NODETEST_CLIENT"

// runClient calls every tool of a server, by the revision of the protocol that the suite
// knows.
func runClient(url, version string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	c, err := client.NewStreamableHttpClient(url)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Start(ctx); err != nil {
		return err
	}
	_, err = c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: version, ClientInfo: mcp.Implementation{Name: "nodetest", Version: "1"},
	}})
	if err != nil {
		return err
	}
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	for _, tool := range list.Tools {
		arguments := map[string]any{"a": 2, "b": 3}
		if _, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool.Name, Arguments: arguments}}); err != nil {
			return err
		}
	}
	return nil
}

func TestTheConformanceSuiteTellsAGoodClientFromOneThatDoesNothing(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	for scenario, id := range map[string]string{"initialize": "mcp-client-initialization", "tools_call": "tool-add-numbers"} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			checks := nodetest.Conformance(t, scenario, []string{asClient + "=2025-11-25"}, self, "it's", "called")
			require.NotEmpty(t, checks)
			assert.Equal(t, id, checks[0].ID)
			for _, check := range checks {
				assert.Equal(t, "SUCCESS", check.Status, "%+v", check)
			}
			checks = nodetest.Conformance(t, scenario, nil, "true")
			for _, check := range checks {
				assert.NotEqual(t, "SUCCESS", check.Status, "%+v", check)
			}
		})
	}
}
