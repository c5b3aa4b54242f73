package mcp_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/internal/nodetest"
)

// invoke calls a tool with arguments of any type.
func invoke(t *testing.T, session *mcp.Session, origin, arguments string) *agent.ToolResult {
	t.Helper()
	result, err := find(t, session, origin).Call(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(arguments), Key: "step/1"})
	require.NoError(t, err, origin)
	return result
}

func TestARealServerExtendsACallByItsProgressAndGoesOnWhenOneIsCanceled(t *testing.T) {
	t.Parallel()
	node, args := nodetest.Bin(t, "@modelcontextprotocol/server-everything", "dist/index.js")
	session := open(t, mcp.Server{Name: "everything", Command: node, Args: append(args, "stdio"), CallTimeout: 2 * time.Second})
	slow := find(t, session, "trigger-long-running-operation")

	result, err := slow.Call(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{"duration":3,"steps":6}`)})
	require.NoError(t, err)
	assert.False(t, result.IsError)

	_, err = slow.Call(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{"duration":60,"steps":2}`)})
	require.ErrorIs(t, err, mcp.ErrCallTimeout)
	assert.Equal(t, "Echo: still here", invoke(t, session, "echo", `{"message":"still here"}`).Content[0].Text)
}
