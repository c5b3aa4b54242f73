package nodetest_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/internal/nodetest"
)

func TestMain(m *testing.M) {
	if version := os.Getenv(asClient); version != "" {
		if err := runClient(os.Args[len(os.Args)-1], version); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// tools asks an MCP server for its tools and calls one of them.
func tools(t *testing.T, url, tool string, args map[string]any) (names []string, text string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var c *client.Client
	var err error
	if strings.HasSuffix(url, "/sse") {
		c, err = client.NewSSEMCPClient(url)
	} else {
		c, err = client.NewStreamableHttpClient(url)
	}
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.Start(ctx))
	_, err = c.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{
		ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION, ClientInfo: mcp.Implementation{Name: "nodetest", Version: "1"},
	}})
	require.NoError(t, err)
	list, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	require.NoError(t, err)
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: args}})
	require.NoError(t, err)
	require.NotEmpty(t, result.Content)
	content, ok := result.Content[0].(mcp.TextContent)
	require.True(t, ok, "%T", result.Content[0])
	return names, content.Text
}

func TestRealServersAnswerOverHTTP(t *testing.T) {
	t.Parallel()
	for transport, path := range map[string]string{nodetest.SSE: "/sse", nodetest.StreamableHTTP: "/mcp"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			t.Run("everything", func(t *testing.T) {
				t.Parallel()
				url := nodetest.MCPServer("everything", transport).Serve(t) + path
				names, text := tools(t, url, "echo", map[string]any{"message": "hello"})
				assert.Greater(t, len(names), 5)
				assert.Equal(t, "Echo: hello", text)
			})
			t.Run("filesystem", func(t *testing.T) {
				t.Parallel()
				folder, err := filepath.EvalSymlinks(t.TempDir())
				require.NoError(t, err)
				url := nodetest.MCPServer("filesystem", folder).Gateway(t, transport)
				names, text := tools(t, url, "list_allowed_directories", map[string]any{})
				assert.Greater(t, len(names), 5)
				assert.Contains(t, text, folder)
			})
			t.Run("memory", func(t *testing.T) {
				t.Parallel()
				memory := nodetest.MCPServer("memory")
				file := filepath.Join(t.TempDir(), "it's a memory.jsonl")
				memory.Env = []string{"MEMORY_FILE_PATH=" + file}
				names, _ := tools(t, memory.Gateway(t, transport), "create_entities", map[string]any{
					"entities": []any{map[string]any{"name": "loom", "entityType": "machine", "observations": []string{"it weaves"}}},
				})
				assert.Greater(t, len(names), 5)
				written, err := os.ReadFile(file)
				require.NoError(t, err)
				assert.Contains(t, string(written), "loom")
			})
		})
	}
}

func TestAServerEndsWithItsTest(t *testing.T) { //nolint:tparallel // what follows needs the end of the inner test
	t.Parallel()
	var url string
	t.Run("one", func(t *testing.T) {
		url = nodetest.MCPServer("everything", "streamableHttp").Serve(t)
		response, err := http.Get(url)
		require.NoError(t, err)
		require.NoError(t, response.Body.Close())
		http.DefaultClient.CloseIdleConnections()
	})
	if url == "" {
		t.Skip("it was skipped")
	}
	_, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	assert.Error(t, err)
}

func TestTheSecondOpinionOnSchemasIsInstalled(t *testing.T) {
	t.Parallel()
	node, _ := nodetest.Bin(t, "ajv", "dist/2020.js")
	cmd := exec.CommandContext(t.Context(), node, "-e", `
		const ajv = new (require("ajv/dist/2020"))({strict: false});
		require("ajv-formats")(ajv);
		const check = ajv.compile({type: "object", prefixItems: [{}], properties: {day: {format: "date"}}});
		console.log(check({day: "2026-11-30"}), check({day: "2026-11-31"}));`)
	cmd.Dir = nodetest.Folder(t)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	assert.Equal(t, "true false\n", string(out))
}
