package agent_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

func texts(conv *agent.Conversation) []string {
	var all []string
	for _, m := range conv.Messages() {
		text := m.ContentText()
		if len(m.ToolCalls) > 0 {
			text = "calls"
		}
		all = append(all, string(m.Role)+": "+text)
	}
	return all
}

func TestAMessageToARunningLoopEntersBeforeTheNextModelCall(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		var steering agent.Steering
		tool := doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
			return agent.TextResult("worked"), steering.Send(agent.UserMessage("use euros"), agent.UserMessage("and hurry"))
		})
		var entered []string
		loop := agent.Loop{
			LLM:   agenttest.New(t, agenttest.Call("work", nil), agenttest.Reply("done")),
			Tools: []agent.Tool{tool}, Steering: &steering, Journal: restart(),
			OnSteer: func(turn int, messages []agent.Message, replayed bool) {
				entered = append(entered, fmt.Sprintf("turn %d: %d replayed %t", turn, len(messages), replayed))
			},
		}
		conv := asked("go")
		result, err := loop.Run(t.Context(), conv)
		require.NoError(t, err)
		want := []string{"user: go", "assistant: calls", "tool: worked", "user: use euros", "user: and hurry", "assistant: done"}
		assert.Equal(t, want, texts(conv))
		assert.Equal(t, 2, result.Steered)
		assert.Equal(t, []string{"turn 2: 2 replayed false"}, entered)
		assert.Empty(t, steering.Pending())
		require.ErrorIs(t, steering.Send(agent.UserMessage("late")), agent.ErrNoActiveAgent)

		// A resume puts them in the same place, also without a Steering.
		again := asked("go")
		replayed, err := (&agent.Loop{LLM: agenttest.New(t), Tools: loop.Tools, Journal: restart()}).Run(t.Context(), again)
		require.NoError(t, err)
		assert.Equal(t, want, texts(again))
		assert.Equal(t, conv.Digest(), again.Digest())
		assert.Equal(t, result, replayed)
	})
}

func TestAMessageThatWaitsWhenTheModelAnswersIsAnsweredToo(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		var steering agent.Steering
		n := 0
		model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
			n++
			if n == 1 {
				require.NoError(t, steering.Send(agent.UserMessage("and the totals?")))
			}
			response := agenttest.Reply(fmt.Sprint("answer ", n)).Response
			return &response, nil
		}}
		conv := asked("go")
		result, err := (&agent.Loop{LLM: model, Steering: &steering, Journal: restart()}).Run(t.Context(), conv)
		require.NoError(t, err)
		assert.Equal(t, "answer 2", result.Final.ContentText())
		again := asked("go")
		replayed, err := (&agent.Loop{LLM: agenttest.New(t), Journal: restart()}).Run(t.Context(), again)
		require.NoError(t, err)
		assert.Equal(t, result, replayed)
		assert.Equal(t, texts(conv), texts(again))
	})
}

func TestAMessageThatEnteredBeforeACrashIsNotLost(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		var steering agent.Steering
		p := restart()
		n := 0
		model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
			if n++; n == 1 {
				response := agenttest.Call("work", nil).Response
				return &response, nil
			}
			p.kill() // the message is recorded, the reply is not
			response := agenttest.Reply("lost").Response
			return &response, nil
		}}
		tool := doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
			return agent.TextResult("worked"), steering.Send(agent.UserMessage("use euros"))
		})
		_, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{tool}, Steering: &steering, Journal: p}).Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, errKilled)

		conv := asked("go")
		_, err = (&agent.Loop{LLM: agenttest.New(t, agenttest.Reply("done")), Tools: []agent.Tool{tool}, Journal: restart()}).Run(t.Context(), conv)
		require.NoError(t, err)
		assert.Equal(t, []string{"user: go", "assistant: calls", "tool: worked", "user: use euros", "assistant: done"}, texts(conv))
	})
}

func TestAMessageSentWhileARunIsReplayedEntersBehindWhatIsRecorded(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		p := restart()
		tool := counting2("read", func(n int) {
			if n == 2 {
				p.kill()
			}
		})
		_, err := (&agent.Loop{LLM: alwaysCalls("read"), Tools: []agent.Tool{tool}, Journal: p}).Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, errKilled)

		var steering agent.Steering
		conv := asked("go")
		loop := agent.Loop{
			LLM: agenttest.New(t, agenttest.Reply("done")), Tools: []agent.Tool{tool}, Steering: &steering, Journal: restart(),
			OnReply: func(turn int, _ *agent.Reply) {
				if turn == 1 {
					assert.NoError(t, steering.Send(agent.UserMessage("hello")))
				}
			},
		}
		_, err = loop.Run(t.Context(), conv)
		require.NoError(t, err)
		assert.Equal(t, []string{"user: go", "assistant: calls", "tool: ok", "assistant: calls", "tool: ok", "user: hello", "assistant: done"}, texts(conv))
	})
}

func TestAnAnswerFromTheJournalStaysTheAnswer(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		_, err := (&agent.Loop{LLM: agenttest.New(t, agenttest.Reply("done")), Journal: restart()}).Run(t.Context(), asked("go"))
		require.NoError(t, err)
		var steering agent.Steering
		loop := agent.Loop{
			LLM: agenttest.New(t), Steering: &steering, Journal: restart(),
			OnReply: func(int, *agent.Reply) { assert.NoError(t, steering.Send(agent.UserMessage("more"))) },
		}
		result, err := loop.Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, 1, result.Turns)
		assert.Len(t, steering.Pending(), 1, "the message waits for the next loop")
	})
}

func TestNothingIsTakenWhenNothingRuns(t *testing.T) {
	t.Parallel()
	var steering agent.Steering
	err := steering.Send(agent.UserMessage("hello"))
	require.ErrorIs(t, err, agent.ErrNoActiveAgent)
	assert.ErrorContains(t, err, "no_active_agent")
	assert.Empty(t, steering.Pending())
}

func TestASteeringServesOneLoopAtATime(t *testing.T) {
	t.Parallel()
	var steering agent.Steering
	inner := agent.Loop{LLM: agenttest.New(t), Steering: &steering}
	tool := doing(func(ctx context.Context, _ *agent.ToolCall) (*agent.ToolResult, error) {
		_, err := inner.Run(ctx, asked("go"))
		return nil, err
	})
	conv := asked("go")
	outer := agent.Loop{LLM: agenttest.New(t, agenttest.Call("work", nil), agenttest.Reply("done")), Tools: []agent.Tool{tool}, Steering: &steering}
	_, err := outer.Run(t.Context(), conv)
	require.NoError(t, err)
	assert.Contains(t, toolMessages(conv)[0].ContentText(), "already serves")
}
