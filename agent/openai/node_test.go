package openai_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/internal/nodetest"
)

// aimock starts a mock endpoint that others wrote, with the given fixtures, and
// returns its base URL.
func aimock(t *testing.T, fixtures string) string {
	t.Helper()
	node, args := nodetest.Bin(t, "@copilotkit/aimock", "dist/cli.js")
	file := filepath.Join(t.TempDir(), "fixtures.json")
	require.NoError(t, os.WriteFile(file, []byte(fixtures), 0o600))

	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, node, append(args, "--port", "0", "--host", "127.0.0.1", "--fixtures", file, "--strict", "--log-level", "info")...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = cmd.Stdout
	require.NoError(t, cmd.Start())
	drained := make(chan struct{})
	t.Cleanup(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // killed on purpose
	})
	giveUp := time.AfterFunc(30*time.Second, cancel)
	defer giveUp.Stop()
	address := regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`)
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said += lines.Text() + "\n"
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			go func() {
				defer close(drained)
				_, _ = io.Copy(io.Discard, out)
			}()
			return m[1] + "/v1"
		}
	}
	close(drained)
	require.FailNow(t, "the mock endpoint did not start", said)
	return ""
}

func TestAMockEndpointOfOthersIsUnderstood(t *testing.T) {
	t.Parallel()
	base := aimock(t, `{"fixtures":[
		{"match":{"userMessage":"look it up","hasToolResult":true},"response":{"content":"the note says milk"}},
		{"match":{"userMessage":"look it up"},"response":{"toolCalls":[{"name":"get_note","arguments":"{\"title\":\"a\"}"}]}},
		{"match":{"userMessage":"hello"},"response":{"content":"hello to you, from far away — grüße"}},
		{"match":{"userMessage":"break"},"response":{"error":{"message":"slow down","type":"rate_limit_error","code":"rate_limit"},"status":429}}
	]}`)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	llm, err := openai.New(openai.Config{APIKey: "test", BaseURL: base, Model: "gpt-test", HTTPClient: &http.Client{Transport: transport}})
	require.NoError(t, err)

	for _, sink := range []agent.Sink{nil, discard} {
		resp, err := llm.Generate(t.Context(), &agent.Request{Messages: []agent.Message{agent.UserMessage("hello")}}, sink)
		wantReply(t, outcome{resp, err}, "hello to you, from far away — grüße", agent.FinishStop)
		assert.True(t, resp.Usage.Known())

		req := &agent.Request{Messages: []agent.Message{agent.UserMessage("look it up")}, Tools: []agent.ToolSpec{noteSpec}}
		resp, err = llm.Generate(t.Context(), req, sink)
		require.NoError(t, err)
		require.Equal(t, agent.FinishToolCalls, resp.Finish)
		require.Len(t, resp.Message.ToolCalls, 1)
		assert.Equal(t, "get_note", resp.Message.ToolCalls[0].Name)
		assert.JSONEq(t, `{"title":"a"}`, string(resp.Message.ToolCalls[0].Arguments))

		req.Messages = append(req.Messages, resp.Message, agent.Message{
			Role: agent.RoleTool, ToolCallID: resp.Message.ToolCalls[0].ID, Content: agent.Text("milk"),
		})
		resp, err = llm.Generate(t.Context(), req, sink)
		wantReply(t, outcome{resp, err}, "the note says milk", agent.FinishStop)

		_, err = llm.Generate(t.Context(), &agent.Request{Messages: []agent.Message{agent.UserMessage("break")}}, sink)
		failure := failureOf(t, err)
		assert.Equal(t, 429, failure.StatusCode)
		assert.Equal(t, "slow down", failure.Message)
		assert.True(t, failure.Retryable)
	}
}
