package agenttest_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/internal/openaitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestTheScriptedModelKeepsThePromisesOfABackend(t *testing.T) {
	t.Parallel()
	agenttest.TestLLM(t, func(_ *testing.T, far agenttest.FarSide) agent.LLM {
		return &agenttest.Model{Respond: func(ctx context.Context, req *agent.Request) (*agent.Response, error) {
			return scripted(ctx, far(seenBy(req)))
		}}
	}, nil)
}

func seenBy(req *agent.Request) agenttest.Seen {
	last := req.Messages[len(req.Messages)-1]
	seen := agenttest.Seen{Last: last.ContentText()}
	for _, tool := range req.Tools {
		seen.Tools = append(seen.Tools, tool.Name)
	}
	for _, m := range req.Messages {
		if m.Role == agent.RoleTool {
			seen.Results = append(seen.Results, m.ContentText())
		} else {
			seen.Results = nil
		}
	}
	return seen
}

// scripted is an answer as a host's own fake backend gives it.
func scripted(ctx context.Context, a agenttest.Answer) (*agent.Response, error) {
	switch {
	case a.Hang:
		<-ctx.Done()
		return nil, ctx.Err()
	case a.Status != 0:
		retryable := a.Status == 408 || a.Status == 409 || a.Status == 429 || a.Status >= 500
		return nil, &agent.ModelError{StatusCode: a.Status, RetryAfter: a.RetryAfter, Retryable: retryable}
	case a.Break:
		return nil, &agent.ModelError{Retryable: true, Err: agent.ErrReplyCut}
	}
	resp := &agent.Response{Finish: a.Finish, Message: agent.Message{ToolCalls: a.Calls}}
	if a.Text != "" {
		resp.Message.Content = agent.Text(a.Text)
	}
	if a.Usage != nil {
		resp.Usage = *a.Usage
	}
	return resp, nil
}

func openOpenAI(t *testing.T, far agenttest.FarSide) agent.LLM {
	s := openaitest.Start(t, func(req openaitest.Request) openaitest.Reply { return wired(far(seenOnTheWire(&req))) })
	llm, err := openai.New(openai.Config{BaseURL: s.URL(), HTTPClient: s.Client()})
	require.NoError(t, err)
	return llm
}

func TestTheOpenAIBackendKeepsThePromisesOfABackend(t *testing.T) {
	t.Parallel()
	agenttest.TestLLM(t, openOpenAI, nil)
}

func seenOnTheWire(req *openaitest.Request) agenttest.Seen {
	seen := agenttest.Seen{Last: req.Last().Content}
	for _, tool := range req.Tools {
		seen.Tools = append(seen.Tools, tool.Name)
	}
	for _, m := range req.Results() {
		seen.Results = append(seen.Results, m.Content)
	}
	return seen
}

// wired is an answer as it goes over the wire.
func wired(a agenttest.Answer) openaitest.Reply {
	reply := openaitest.Reply{Content: a.Text, FinishReason: string(a.Finish), Status: a.Status, Hang: a.Hang}
	if a.RetryAfter > 0 {
		reply.RetryAfter = strconv.Itoa(int(a.RetryAfter / time.Second))
	}
	if a.Hang || a.Break {
		reply.Content, reply.CutAfter = fmt.Sprint(a.Text, "some text to be cut"), 200
	}
	for _, call := range a.Calls {
		reply.ToolCalls = append(reply.ToolCalls, openaitest.ToolCall{ID: call.ID, Name: call.Name, Arguments: string(call.Arguments)})
	}
	if u := a.Usage; u != nil {
		reply.Usage = &openaitest.Usage{Cached: u.CacheRead, CacheWrite: u.CacheWrite, Reasoning: u.Reasoning, Completion: *u.Output}
		for _, n := range []*int64{u.Input, u.CacheRead, u.CacheWrite} {
			if n != nil {
				reply.Usage.Prompt += *n
			}
		}
	}
	return reply
}

func TestARecordingBackendKeepsThePromisesOfABackend(t *testing.T) {
	t.Parallel()
	agenttest.TestLLM(t, func(t *testing.T, far agenttest.FarSide) agent.LLM {
		recorder, err := agenttest.OpenRecorder(agenttest.RecorderConfig{File: t.TempDir() + "/r.jsonl", LLM: openOpenAI(t, far)})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, recorder.Close()) })
		return recorder
	}, nil)
}
