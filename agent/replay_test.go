package agent_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// counting counts its calls and runs do after.
func counting(name string, effect agent.Effect, calls *atomic.Int32, do func(n int32) error) *agenttest.Tool {
	return &agenttest.Tool{Name: name, Effect: effect, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		n := calls.Add(1)
		if do != nil {
			if err := do(n); err != nil {
				return nil, err
			}
		}
		return agent.TextResult(fmt.Sprintf("%s %d", name, n)), nil
	}}
}

func TestWhatIsRecordedIsNotDoneAgain(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		var calls atomic.Int32
		tools := []agent.Tool{counting("work", agent.Unsafe, &calls, nil)}
		script := []agenttest.Turn{
			agenttest.Calls(agenttest.ToolCall("work", map[string]any{"a": "<&>"}), agenttest.ToolCall("gone", nil)),
			agenttest.Call("work", nil),
			agenttest.Reply("done"),
		}
		live := asked("go")
		first, err := (&agent.Loop{LLM: agenttest.New(t, script...), Tools: tools, Journal: restart()}).Run(t.Context(), live)
		require.NoError(t, err)

		var replies, results int
		again := asked("go")
		var replayed atomic.Int32
		loop := agent.Loop{
			LLM: agenttest.New(t), Tools: tools, Journal: restart(),
			OnReply: func(_ int, r *agent.Reply) {
				replies++
				assert.True(t, r.Replayed)
			},
			OnTool: func(_, _ int, r *agent.ToolRecord) {
				if r.Replayed {
					replayed.Add(1)
				}
			},
		}
		second, err := loop.Run(t.Context(), again)
		require.NoError(t, err)
		results = int(replayed.Load())
		assert.Equal(t, int32(2), calls.Load())
		assert.Equal(t, 3, replies)
		assert.Equal(t, 3, results)
		assert.Equal(t, first, second)
		assert.Equal(t, live.Messages(), again.Messages())
		assert.Equal(t, live.Digest(), again.Digest())
	})
}

func TestALoopContinuesWhereItWasKilled(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		for killAt := int32(1); killAt <= 3; killAt++ {
			t.Run(fmt.Sprintf("in call %d", killAt), func(t *testing.T) {
				// Every killed run has keys of its own below one journal.
				p := under(restart(), fmt.Sprint(killAt))
				var calls atomic.Int32
				script := []agenttest.Turn{
					agenttest.Call("work", nil), agenttest.Call("work", nil), agenttest.Call("work", nil), agenttest.Reply("done"),
				}
				tool := counting("work", agent.Idempotent, &calls, func(n int32) error {
					if n == killAt {
						p.kill()
					}
					return nil
				})
				model := &agenttest.Model{Script: script}
				_, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{tool}, Journal: p}).Run(t.Context(), asked("go"))
				require.ErrorIs(t, err, errKilled)
				made := len(model.Requests())

				p = under(restart(), fmt.Sprint(killAt))
				rest := agenttest.New(t, script[made:]...)
				result, err := (&agent.Loop{LLM: rest, Tools: []agent.Tool{tool}, Journal: p}).Run(t.Context(), asked("go"))
				require.NoError(t, err)
				assert.Equal(t, 4, result.Turns)
				assert.Equal(t, int32(4), calls.Load(), "only the call that was cut is repeated")
			})
		}
	})
}

func under(p process, prefix string) process {
	if s, ok := p.(scopeJournal); ok {
		return scopeJournal{Scope: s.Under(prefix), journal: s.journal}
	}
	return prefixed{p, prefix + "/"}
}

type prefixed struct {
	process
	prefix string
}

func (p prefixed) Do(ctx context.Context, key, input string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	return p.process.Do(ctx, p.prefix+key, input, fn)
}

func (p prefixed) Begin(ctx context.Context, key, input string) (bool, error) {
	return p.process.Begin(ctx, p.prefix+key, input)
}

func TestAnUnsafeCallInDoubtIsNotRepeatedAndTheModelIsTold(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		p := restart()
		var calls atomic.Int32
		tool := counting("pay", agent.Unsafe, &calls, func(int32) error { p.kill(); return nil })
		_, err := (&agent.Loop{LLM: agenttest.New(t, agenttest.Call("pay", nil)), Tools: []agent.Tool{tool}, Journal: p}).Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, errKilled)

		for range 2 { // also when what the model was told is replayed
			p = restart()
			conv := asked("go")
			inDoubt := false
			loop := agent.Loop{
				Tools: []agent.Tool{tool}, Journal: p,
				LLM:    &agenttest.Model{Script: []agenttest.Turn{agenttest.Reply("I looked")}},
				OnTool: func(_, _ int, r *agent.ToolRecord) { inDoubt = r.InDoubt },
			}
			_, err = loop.Run(t.Context(), conv)
			require.NoError(t, err)
			assert.True(t, inDoubt)
			assert.Equal(t, int32(1), calls.Load())
			told := toolMessages(conv)[0]
			assert.True(t, told.IsError)
			assert.Contains(t, told.ContentText(), "in_doubt")
		}
	})
}

func TestASuspensionLetsItsSiblingsFinishAndResumesAlone(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		var asks, works atomic.Int32
		answered := false
		ask := counting("ask", agent.Reentrant, &asks, func(int32) error {
			if !answered {
				return agent.Suspend("a person is asked")
			}
			return nil
		})
		work := counting("work", agent.Unsafe, &works, nil)
		first := agenttest.New(t, agenttest.Calls(agenttest.ToolCall("ask", nil), agenttest.ToolCall("work", nil)))
		_, err := (&agent.Loop{LLM: first, Tools: []agent.Tool{ask, work}, Journal: restart()}).Run(t.Context(), asked("go"))
		var suspended *agent.SuspendError
		require.ErrorAs(t, err, &suspended)
		assert.Equal(t, "a person is asked", suspended.Reason)

		answered = true
		conv := asked("go")
		_, err = (&agent.Loop{
			LLM: agenttest.New(t, agenttest.Reply("done")), Tools: []agent.Tool{ask, work}, Journal: restart(),
		}).Run(t.Context(), conv)
		require.NoError(t, err)
		assert.Equal(t, int32(2), asks.Load())
		assert.Equal(t, int32(1), works.Load(), "the sibling was recorded")
		assert.Equal(t, "ask 2", toolMessages(conv)[0].ContentText())
		assert.Equal(t, "work 1", toolMessages(conv)[1].ContentText())
	})
}

func TestAnotherConversationOverTheSameRecordIsAnError(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		_, err := (&agent.Loop{LLM: agenttest.New(t, agenttest.Reply("done")), Journal: restart()}).Run(t.Context(), asked("go"))
		require.NoError(t, err)
		_, err = (&agent.Loop{LLM: agenttest.New(t), Journal: restart()}).Run(t.Context(), asked("something else"))
		require.Error(t, err)
	})
}
