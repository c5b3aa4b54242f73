package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// reader calls a tool a number of times and then answers. Asked for a summary it
// gives one, or fails.
type reader struct {
	*agenttest.Model
	summaries int
}

func newReader(calls int, summary func() (*agent.Response, error)) *reader {
	r := &reader{}
	r.Model = &agenttest.Model{Info: agent.ModelInfo{ContextWindow: 4000}, Respond: func(_ context.Context, req *agent.Request) (*agent.Response, error) {
		if len(req.Messages) == 1 && strings.Contains(req.Messages[0].ContentText(), "<older_conversation>") {
			r.summaries++
			return summary()
		}
		calls--
		response := agenttest.Call("read", map[string]int{"n": calls}).Response
		if calls < 0 {
			response = agenttest.Reply("done").Response
		}
		response.Usage = agent.Usage{Output: agent.Tokens(10)} // what was sent is not reported
		return &response, nil
	}}
	return r
}

func goodSummary() (*agent.Response, error) {
	response := agenttest.Reply("Files were read; nothing is wrong.").Response
	return &response, nil
}

func pages() agent.Tool {
	return &agenttest.Tool{Name: "read", Effect: agent.ReadOnly, Do: func(_ context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
		return agent.TextResult(string(call.Arguments) + strings.Repeat(" page", 400)), nil
	}}
}

func size(conv *agent.Conversation) int {
	n := 0
	for _, m := range conv.Messages() {
		n += len(m.ContentText())
	}
	return n
}

func TestAConversationStaysWithinTheWindowAndIsReplayedTheSame(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		model := newReader(30, goodSummary)
		var keys []string
		loop := agent.Loop{
			LLM: model, Tools: []agent.Tool{pages()}, Condenser: &agent.Condenser{Keep: 2}, Meter: &agent.TokenMeter{}, Journal: restart(),
			OnReply: func(_ int, r *agent.Reply) { keys = append(keys, r.Key) },
		}
		conv := asked("go")
		result, err := loop.Run(t.Context(), conv)
		require.NoError(t, err)
		assert.Positive(t, result.Condensed)
		assert.Equal(t, model.summaries, result.Condensed)
		assert.Len(t, keys, 31+model.summaries, "a summary is a call that costs something")
		assert.Equal(t, 31, result.Turns)
		for _, req := range model.Requests() {
			n := 0
			for _, m := range req.Messages {
				n += len(m.ContentText())
			}
			assert.Less(t, n, 16_000)
		}

		again, meter := asked("go"), &agent.TokenMeter{}
		var replayed []string
		second, err := (&agent.Loop{
			// A resume does what the record says, also where the host has changed its mind.
			LLM: agenttest.New(t), Tools: loop.Tools, Meter: meter, Journal: restart(),
			OnReply: func(_ int, r *agent.Reply) { replayed = append(replayed, r.Key); assert.True(t, r.Replayed) },
		}).Run(t.Context(), again)
		require.NoError(t, err)
		assert.Equal(t, result, second)
		assert.Equal(t, conv.Messages(), again.Messages())
		assert.Equal(t, conv.Digest(), again.Digest())
		assert.ElementsMatch(t, keys, replayed)
	})
}

func TestAKilledCondensationIsNotPaidTwice(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		p := restart()
		killed := false
		model := newReader(20, goodSummary)
		inner := model.Respond
		model.Respond = func(ctx context.Context, req *agent.Request) (*agent.Response, error) {
			if model.summaries == 1 && !killed {
				killed = true
				p.kill() // the summary and what was made of it are recorded, this reply is not
			}
			return inner(ctx, req)
		}
		loop := agent.Loop{LLM: model, Tools: []agent.Tool{pages()}, Condenser: &agent.Condenser{}, Journal: p}
		_, err := loop.Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, errKilled)
		loop.LLM = newReader(0, func() (*agent.Response, error) { return nil, fmt.Errorf("asked again") })
		loop.Journal = restart()
		result, err := loop.Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Positive(t, result.Condensed)
	})
}

func TestASummaryThatFailsLosesNoHistoryAndEndsNothing(t *testing.T) {
	t.Parallel()
	for name, summary := range map[string]func() (*agent.Response, error){
		"refused by the provider": func() (*agent.Response, error) { return nil, &agent.ModelError{StatusCode: 400} },
		"cut": func() (*agent.Response, error) {
			response := ending(agenttest.Reply("Files were"), agent.FinishLength).Response
			return &response, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conv := asked("go")
			loop := agent.Loop{LLM: newReader(12, summary), Tools: []agent.Tool{pages()}, Condenser: &agent.Condenser{}}
			result, err := loop.Run(t.Context(), conv)
			require.NoError(t, err)
			assert.Positive(t, result.Condensed)
			assert.Len(t, toolMessages(conv), 12, "every result keeps its place; only texts are shorter")
			assert.Less(t, size(conv), 16_000)
		})
	}
}

func TestOneOversizedResultDoesNotWedgeTheLoop(t *testing.T) {
	t.Parallel()
	huge := doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		return agent.TextResult(strings.Repeat("x ", 1<<20)), nil
	})
	model := agenttest.New(t, agenttest.Call("work", nil), agenttest.Reply("done"))
	result, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{huge}, Condenser: &agent.Condenser{Window: 8000}}).Run(t.Context(), asked("go"))
	require.NoError(t, err)
	assert.Equal(t, "done", result.Final.ContentText())
	second := model.Requests()[1].Messages
	assert.Less(t, len(second[len(second)-1].ContentText()), 32_000)
}

func TestAConversationThatTheProviderFindsTooLongIsCondensedAndSentAgain(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		model := newReader(6, goodSummary)
		model.Info.ContextWindow = 0 // nobody knows
		inner := model.Respond
		model.Respond = func(ctx context.Context, req *agent.Request) (*agent.Response, error) {
			if len(req.Messages) > 10 {
				return nil, &agent.ModelError{StatusCode: 400, Code: "context_length_exceeded", Message: "too long"}
			}
			return inner(ctx, req)
		}
		conv := asked("go")
		loop := agent.Loop{LLM: model, Tools: []agent.Tool{pages()}, Condenser: &agent.Condenser{Keep: 2}, Journal: restart()}
		result, err := loop.Run(t.Context(), conv)
		require.NoError(t, err)
		assert.Equal(t, 1, result.Condensed)
		assert.Equal(t, 1, result.FailedTries)

		again := asked("go")
		loop.LLM, loop.Journal = agenttest.New(t), restart()
		replayed, err := loop.Run(t.Context(), again)
		require.NoError(t, err)
		assert.Equal(t, result, replayed)
		assert.Equal(t, conv.Messages(), again.Messages())
	})
}
