package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/internal/nodetest"
)

// real starts a published server from npm.
func realServer(t *testing.T, name, argument string) *mcp.Session {
	t.Helper()
	node, args := nodetest.Bin(t, "@modelcontextprotocol/server-"+name, "dist/index.js")
	return open(t, mcp.Server{Name: name, Command: node, Args: append(args, argument)})
}

// invoke calls a tool with arguments of any type.
func invoke(t *testing.T, session *mcp.Session, origin, arguments string) *agent.ToolResult {
	t.Helper()
	result, err := find(t, session, origin).Call(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(arguments), Key: "step/1"})
	require.NoError(t, err, origin)
	return result
}

func TestThePublishedFilesystemServerWorks(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	session := realServer(t, "filesystem", root)
	path, err := json.Marshal(filepath.Join(root, "invoice.txt"))
	require.NoError(t, err)

	written := invoke(t, session, "write_file", `{"path":`+string(path)+`,"content":"total 12,50\n"}`)
	require.False(t, written.IsError, written)
	onDisk, err := os.ReadFile(filepath.Join(root, "invoice.txt"))
	require.NoError(t, err)
	assert.Equal(t, "total 12,50\n", string(onDisk))
	assert.Equal(t, "total 12,50\n", invoke(t, session, "read_text_file", `{"path":`+string(path)+`}`).Content[0].Text)

	outside := invoke(t, session, "read_text_file", `{"path":"/etc/hostname"}`)
	assert.True(t, outside.IsError)
	assert.Contains(t, outside.Content[0].Text, "denied")

	assert.Equal(t, agent.ReadOnly, find(t, session, "read_text_file").Spec().Effect)
	assert.Equal(t, agent.Idempotent, find(t, session, "write_file").Spec().Effect)
	assert.Equal(t, agent.Unsafe, find(t, session, "move_file").Spec().Effect)

	began := time.Now()
	require.NoError(t, session.Close())
	t.Logf("closed in %s", time.Since(began))
}

func TestThePublishedEverythingServerWorks(t *testing.T) {
	t.Parallel()
	session := realServer(t, "everything", "stdio")
	assert.Equal(t, "Echo: hello", invoke(t, session, "echo", `{"message":"hello"}`).Content[0].Text)
	assert.Contains(t, invoke(t, session, "get-sum", `{"a":2,"b":40}`).Content[0].Text, "42")

	image := invoke(t, session, "get-tiny-image", `{}`)
	var images int
	for _, part := range image.Content {
		if part.Type == agent.PartImage {
			images++
			assert.Equal(t, "image/png", part.MediaType)
			assert.Equal(t, "\x89PNG", string(part.Data[:4]))
		}
	}
	assert.Equal(t, 1, images)

	weather := invoke(t, session, "get-structured-content", `{"location":"Chicago"}`)
	var reading struct{ Temperature *float64 }
	require.NoError(t, json.Unmarshal(weather.Structured, &reading))
	assert.NotNil(t, reading.Temperature)

	links := invoke(t, session, "get-resource-links", `{"count":2}`)
	assert.NotEmpty(t, links.Content[len(links.Content)-1].URI)
	blob := invoke(t, session, "get-resource-reference", `{"resourceType":"Blob","resourceId":2}`)
	assert.NotEmpty(t, blob.Content)
	assert.True(t, invoke(t, session, "echo", `{}`).IsError, "a missing argument is a failed result")

	slow := invoke(t, session, "trigger-long-running-operation", `{"duration":1,"steps":2}`)
	assert.False(t, slow.IsError)

	began := time.Now()
	require.NoError(t, session.Close())
	t.Logf("closed in %s", time.Since(began))
}

func TestARealServerIsCanceledAndGoesOn(t *testing.T) {
	t.Parallel()
	node, args := nodetest.Bin(t, "@modelcontextprotocol/server-everything", "dist/index.js")
	session := open(t, mcp.Server{Name: "everything", Command: node, Args: append(args, "stdio"), CallTimeout: 3 * time.Second})
	_, err := find(t, session, "trigger-long-running-operation").Call(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(`{"duration":60,"steps":2}`)})
	require.ErrorIs(t, err, mcp.ErrCallTimeout)
	assert.Equal(t, "Echo: still here", invoke(t, session, "echo", `{"message":"still here"}`).Content[0].Text)
}
