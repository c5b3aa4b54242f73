package mcp_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/internal/nodetest"
)

// everything starts the published server-everything behind a URL.
type everything struct {
	url  string
	port int
	node string
	args []string
	cmd  *exec.Cmd
}

func startEverything(t *testing.T, transport, path string) *everything {
	t.Helper()
	node, args := nodetest.Bin(t, "@modelcontextprotocol/server-everything", "dist/index.js")
	free, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := free.Addr().(*net.TCPAddr).Port
	require.NoError(t, free.Close())
	e := &everything{node: node, args: append(args, transport), port: port, url: fmt.Sprintf("http://127.0.0.1:%d%s", port, path)}
	e.start(t)
	t.Cleanup(e.stop)
	return e
}

func (e *everything) start(t *testing.T) {
	t.Helper()
	e.cmd = exec.Command(e.node, e.args...)
	e.cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(e.port))
	require.NoError(t, e.cmd.Start())
	require.Eventually(t, func() bool {
		conn, err := (&net.Dialer{}).DialContext(context.WithoutCancel(t.Context()), "tcp", fmt.Sprintf("127.0.0.1:%d", e.port))
		if err != nil {
			return false
		}
		return conn.Close() == nil
	}, 30*time.Second, 20*time.Millisecond)
}

func (e *everything) stop() {
	_ = e.cmd.Process.Kill()
	_ = e.cmd.Wait()
}

func TestTheKindOfAPublishedServerIsFoundOut(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{nodetest.StreamableHTTP, nodetest.SSE} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			session := open(t, mcp.Server{Name: "everything", URL: serveProgram(t, nodetest.MCPServer("everything"), transport)})
			assert.Equal(t, "Echo: hello", invoke(t, session, "echo", `{"message":"hello"}`).Content[0].Text)
			closeInTime(t, session)
		})
	}
}

func TestAPublishedServerThatWasStartedAgainGetsANewSession(t *testing.T) {
	t.Parallel()
	server := startEverything(t, "streamableHttp", "/mcp")
	session := open(t, mcp.Server{Name: "everything", URL: server.url})
	echo := find(t, session, "echo")
	server.stop()
	_, err := echo.Call(t.Context(), &agent.ToolCall{Arguments: []byte(`{"message":"lost"}`)})
	require.ErrorIs(t, err, mcp.ErrHTTP)
	server.start(t)
	_, err = echo.Call(t.Context(), &agent.ToolCall{Arguments: []byte(`{"message":"lost"}`)})
	if err != nil { // else the listening stream noticed it first
		require.ErrorIs(t, err, mcp.ErrSessionLost)
	}
	assert.Equal(t, "Echo: back", invoke(t, session, "echo", `{"message":"back"}`).Content[0].Text)
}
