package agent_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

func failing(e *agent.ModelError) agenttest.Turn { return agenttest.Turn{Err: e} }

func unavailable() agenttest.Turn {
	return failing(&agent.ModelError{Provider: "acme", StatusCode: 503, Message: "overloaded", Retryable: true})
}

func TestAFailureThatMayPassIsTriedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var told []string
		loop := agent.Loop{
			LLM: agenttest.New(t, unavailable(), unavailable(), agenttest.Reply("done")),
			OnRetry: func(turn int, failed *agent.FailedTry, wait time.Duration, again bool) {
				assert.Positive(t, wait)
				told = append(told, fmt.Sprintf("turn %d status %d again %t", turn, failed.StatusCode, again))
			},
		}
		var reply *agent.Reply
		loop.OnReply = func(_ int, r *agent.Reply) { reply = r }
		began := time.Now()
		result, err := loop.Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, []string{"turn 1 status 503 again true", "turn 1 status 503 again true"}, told)
		assert.Len(t, reply.Failed, 2)
		assert.Equal(t, 2, result.FailedTries)
		assert.Equal(t, 1, result.Turns)
		assert.Zero(t, result.UnknownUsage, "a call that was refused costs nothing")
		waited := time.Since(began)
		assert.GreaterOrEqual(t, waited, 1500*time.Millisecond, "half of 1 s and of 2 s")
		assert.LessOrEqual(t, waited, 3*time.Second)
	})
}

func TestRetriesAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
			return nil, unavailable().Err
		}}
		last := true
		loop := agent.Loop{LLM: model, OnRetry: func(_ int, _ *agent.FailedTry, _ time.Duration, again bool) { last = again }}
		result, err := loop.Run(t.Context(), asked("go"))
		var tries *agent.TriesError
		require.ErrorAs(t, err, &tries)
		assert.Len(t, tries.Tries, 1+agent.DefaultRetries)
		var failure *agent.ModelError
		require.ErrorAs(t, err, &failure)
		assert.Equal(t, 503, failure.StatusCode)
		assert.Equal(t, 1+agent.DefaultRetries, result.FailedTries)
		assert.False(t, last, "the observer hears that none follows")
	})
}

func TestARetryThatNeverGivesUpIsEndedAllTheSame(t *testing.T) {
	t.Parallel()
	model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
		return nil, unavailable().Err
	}}
	_, err := (&agent.Loop{LLM: model, Retry: func(int, error) (time.Duration, bool) { return 0, true }}).Run(t.Context(), asked("go"))
	require.Error(t, err)
	assert.Len(t, model.Requests(), 100)
}

func TestWhatDoesNotPassIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, status := range []int{400, 401, 403, 404, 422} {
		model := agenttest.New(t, failing(&agent.ModelError{StatusCode: status}))
		_, err := (&agent.Loop{LLM: model}).Run(t.Context(), asked("go"))
		var failure *agent.ModelError
		require.ErrorAs(t, err, &failure)
		assert.Len(t, model.Requests(), 1)
	}
}

func TestAProviderIsGivenTheTimeThatItAsksFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limited := &agent.ModelError{StatusCode: 429, Retryable: true, RetryAfter: 40 * time.Second}
		began := time.Now()
		_, err := (&agent.Loop{LLM: agenttest.New(t, failing(limited), agenttest.Reply("done"))}).Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.GreaterOrEqual(t, time.Since(began), 40*time.Second)
		assert.LessOrEqual(t, time.Since(began), 44*time.Second)
	})
}

func TestAWaitThatIsTooLongIsAFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		hour := &agent.ModelError{StatusCode: 429, Retryable: true, RetryAfter: time.Hour}
		_, err := (&agent.Loop{LLM: agenttest.New(t, failing(hour))}).Run(t.Context(), asked("go"))
		require.Error(t, err)
		minute := &agent.ModelError{StatusCode: 429, Retryable: true, RetryAfter: time.Minute}
		_, err = (&agent.Loop{LLM: agenttest.New(t, failing(minute)), MaxDuration: 50 * time.Second}).Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, minute, "a wait past the loop's own limit says nothing better at its end")
		assert.Zero(t, time.Since(began))
	})
}

func TestACancelEndsAWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Millisecond, cancel)
		model := agenttest.New(t, unavailable())
		began := time.Now()
		_, err := (&agent.Loop{LLM: model}).Run(ctx, asked("go"))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, time.Millisecond, time.Since(began))
	})
}

func TestDefaultRetryWaitsLongerEachTimeWithinItsBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		try := rapid.IntRange(1, 50).Draw(t, "try")
		wait, again := agent.DefaultRetry(try, &agent.ModelError{Retryable: true})
		assert.Equal(t, try <= agent.DefaultRetries, again)
		if again {
			full := min(agent.DefaultRetryWait<<(try-1), agent.DefaultMaxRetryWait)
			assert.LessOrEqual(t, wait, full)
			assert.GreaterOrEqual(t, wait, full/2)
		}
	})
	_, again := agent.NoRetry(1, io.ErrUnexpectedEOF)
	assert.False(t, again)
}

func TestBrokenConnectionsOfForeignBackendsMayPass(t *testing.T) {
	t.Parallel()
	assert.True(t, agent.Retryable(fmt.Errorf("read: %w", io.ErrUnexpectedEOF)))
	assert.True(t, agent.Retryable(agent.ErrReplyCut))
	assert.False(t, agent.Retryable(errors.New("no such model")))
	assert.False(t, agent.Retryable(&agent.ModelError{Err: io.ErrUnexpectedEOF}), "a ModelError says it itself")
}

func TestAToolCallThatTheProviderRefusedIsAskedForOnceMore(t *testing.T) {
	t.Parallel()
	refused := func() agenttest.Turn {
		return failing(&agent.ModelError{StatusCode: 400, Code: "tool_use_failed", Message: "bad call", Err: agent.ErrModelToolCall})
	}
	model := agenttest.New(t, refused(), agenttest.Reply("done"))
	conv := asked("go")
	_, err := (&agent.Loop{LLM: model}).Run(t.Context(), conv)
	require.NoError(t, err)
	second := model.Requests()[1].Messages
	require.Len(t, second, 2)
	assert.Contains(t, second[1].ContentText(), "bad call")
	assert.Equal(t, 2, conv.Len(), "the note is not part of what was said")

	model = agenttest.New(t, refused(), refused())
	_, err = (&agent.Loop{LLM: model}).Run(t.Context(), asked("go"))
	require.ErrorIs(t, err, agent.ErrModelToolCall)
}

func TestFallbacksAreTriedInOrderAndKept(t *testing.T) {
	t.Parallel()
	first := agenttest.New(t, failing(&agent.ModelError{StatusCode: 401}))
	second := agenttest.New(t, failing(&agent.ModelError{StatusCode: 404}))
	third := agenttest.New(t, agenttest.Call("read", nil), agenttest.Reply("done"))
	var heard []string
	loop := agent.Loop{
		LLM: first, Provider: "a", Request: agent.Request{Model: "a1"}, Tools: []agent.Tool{echo("read")},
		Fallbacks: []agent.Fallback{{LLM: second, Provider: "b", Model: "b1"}, {LLM: third, Provider: "c", Model: "c1"}},
		OnReply: func(_ int, r *agent.Reply) {
			heard = append(heard, fmt.Sprintf("%s %s after %d", r.Provider, r.Model, len(r.Failed)))
		},
	}
	_, err := loop.Run(t.Context(), asked("go"))
	require.NoError(t, err)
	assert.Equal(t, []string{"c c1 after 2", "c c1 after 0"}, heard)
	assert.Equal(t, "b1", second.Requests()[0].Model)
	assert.Equal(t, "c1", third.Requests()[1].Model)
}

func TestPiecesOfAnotherTryAreToldApart(t *testing.T) {
	t.Parallel()
	cut := &agent.ModelError{Retryable: true, Err: agent.ErrReplyCut}
	llm := &streaming{replies: []streamed{{"wrong", cut}, {"bad", cut}, {"right", nil}}}
	var heard []agent.Delta
	loop := agent.Loop{
		LLM: llm, Sink: func(d agent.Delta) { heard = append(heard, d) },
		Retry:     func(try int, _ error) (time.Duration, bool) { return 0, try < 2 },
		Fallbacks: []agent.Fallback{{LLM: llm}},
	}
	_, err := loop.Run(t.Context(), asked("go"))
	require.NoError(t, err)
	assert.Equal(t, []agent.Delta{{Attempt: 1, Text: "wrong"}, {Attempt: 2, Text: "bad"}, {Attempt: 3, Text: "right"}}, heard)
}

type streamed struct {
	text string
	err  error
}

type streaming struct{ replies []streamed }

func (s *streaming) Generate(_ context.Context, _ *agent.Request, sink agent.Sink) (*agent.Response, error) {
	next := s.replies[0]
	s.replies = s.replies[1:]
	sink(agent.Delta{Attempt: 1, Text: next.text})
	if next.err != nil {
		return nil, next.err
	}
	return &agent.Response{Message: agent.AssistantMessage(next.text), Finish: agent.FinishStop}, nil
}

func TestOnlyTheFinalReplyIsRecordedWithWhatTheTriesBeforeItCost(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		broken := &agent.ModelError{
			Retryable: true, Err: agent.ErrReplyCut,
			Partial: &agent.Response{Usage: agent.Usage{Input: agent.Tokens(100), Output: agent.Tokens(3)}},
		}
		unknown := &agent.ModelError{Retryable: true, Err: agent.ErrReplyStalled}
		again := func(int, error) (time.Duration, bool) { return 0, true }
		first, err := (&agent.Loop{
			LLM: agenttest.New(t, failing(broken), failing(unknown), agenttest.Reply("done")), Retry: again, Journal: restart(),
		}).Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, int64(213), first.Usage.Total())
		assert.Equal(t, 1, first.UnknownUsage)
		assert.Equal(t, 2, first.FailedTries)

		var reply *agent.Reply
		loop := agent.Loop{LLM: agenttest.New(t), Journal: restart(), OnReply: func(_ int, r *agent.Reply) { reply = r }}
		second, err := loop.Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, first, second)
		require.Len(t, reply.Failed, 2)
		assert.Contains(t, reply.Failed[0].Error, "ended early")
		usage := reply.Usage()
		assert.Equal(t, int64(213), usage.Total())
	})
}

// Whatever fails, usage is the sum of what was reported, each once.
func TestUsageIsNeverNegativeAndNeverCountedTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		type step struct{ kind, in, out int }
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{rapid.IntRange(0, 3).Draw(t, "kind"), rapid.IntRange(-5, 100).Draw(t, "in"), rapid.IntRange(-5, 100).Draw(t, "out")}
		}), 1, 20).Draw(rt, "steps")
		var want int64
		var script []agenttest.Turn
		for _, s := range append(steps, step{3, 1, 1}) {
			usage := agent.Usage{Input: agent.Tokens(int64(s.in)), Output: agent.Tokens(int64(s.out))}
			counted := int64(max(s.in, 0) + max(s.out, 0))
			switch s.kind {
			case 0:
				script = append(script, unavailable())
			case 1:
				want += counted
				script = append(script, failing(&agent.ModelError{Retryable: true, Err: agent.ErrReplyCut, Partial: &agent.Response{Usage: usage}}))
			case 2:
				want += counted
				turn := agenttest.Call("read", nil)
				turn.Response.Usage = usage
				script = append(script, turn)
			case 3:
				want += counted
				turn := agenttest.Reply("done")
				turn.Response.Usage = usage
				script = append(script, turn)
			}
			if s.kind == 3 {
				break
			}
		}
		loop := agent.Loop{
			LLM: agenttest.New(t, script...), Tools: []agent.Tool{echo("read")},
			Retry: func(int, error) (time.Duration, bool) { return 0, true },
		}
		result, err := loop.Run(t.Context(), asked("go"))
		require.NoError(rt, err)
		assert.Equal(rt, want, result.Usage.Total())
	})
}
