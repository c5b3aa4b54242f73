package mcp_test

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
)

func TestMain(m *testing.M) {
	if habits, ok := os.LookupEnv(fakeVariable); ok {
		runFakeServer(habits)
		return
	}
	if report, ok := os.LookupEnv(clientVariable); ok {
		runConformanceClient(report)
		return
	}
	// Most tests wait for a process or a limit and leave the processors idle; an
	// explicit -parallel still wins.
	if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// fake is a server that is this test binary, with some habits.
func fake(t *testing.T, habits ...string) mcp.Server {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	return mcp.Server{
		Name:    "fake",
		Command: exe,
		Env: map[string]string{
			fakeVariable: strings.Join(habits, ","),
			"GORACE":     "atexit_sleep_ms=0", // else each end of a server takes a second under -race
		},
	}
}

// open starts a server, and closes it when the test ends.
func open(t *testing.T, server mcp.Server) *mcp.Session {
	t.Helper()
	session, err := tryOpen(t, server)
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return session
}

func tryOpen(t *testing.T, server mcp.Server) (*mcp.Session, error) {
	t.Helper()
	toolset, err := mcp.New(server)
	require.NoError(t, err)
	session, err := toolset.Open(t.Context(), agent.Scope{})
	if err != nil {
		return nil, err
	}
	return session.(*mcp.Session), nil
}

// find returns a tool by the server's own name for it.
func find(t *testing.T, session *mcp.Session, origin string) agent.Tool {
	t.Helper()
	tools, err := session.Tools(t.Context())
	require.NoError(t, err)
	for _, tool := range tools {
		spec := tool.Spec()
		if spec.OriginName() == origin {
			return tool
		}
	}
	require.Failf(t, "no such tool", "%s among %d", origin, len(tools))
	return nil
}

func call(ctx context.Context, tool agent.Tool, arguments map[string]string) (*agent.ToolResult, error) {
	raw, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	return tool.Call(ctx, &agent.ToolCall{Name: tool.Spec().Name, Arguments: raw, Key: "fetch/visit/1/turn/2/tool/0"})
}

// text calls a tool that must succeed with one text.
func text(t *testing.T, session *mcp.Session, origin string, arguments map[string]string) string {
	t.Helper()
	result, err := call(t.Context(), find(t, session, origin), arguments)
	require.NoError(t, err)
	require.False(t, result.IsError)
	require.Len(t, result.Content, 1)
	return result.Content[0].Text
}

func requireFile(t *testing.T, path string) string {
	t.Helper()
	var data []byte
	require.Eventually(t, func() bool {
		var err error
		data, err = os.ReadFile(path)
		return err == nil && len(data) > 0
	}, 20*time.Second, 5*time.Millisecond, "%s is never written", path)
	return string(data)
}

// requireGone waits for the end of a process, which init may be slow to reap.
func requireGone(t *testing.T, pid string) {
	t.Helper()
	n, err := strconv.Atoi(pid)
	require.NoError(t, err)
	require.Eventually(t, func() bool { return hasEnded(n) }, 5*time.Second, 5*time.Millisecond, "process %s still runs", pid)
}
