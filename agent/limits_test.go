package agent_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// alwaysCalls is a model that never stops asking for a tool.
func alwaysCalls(tool string) *agenttest.Model {
	return &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
		response := agenttest.Call(tool, nil).Response
		return &response, nil
	}}
}

func TestEveryLimitIsATypedErrorThatCarriesWhatWasDone(t *testing.T) {
	t.Parallel()
	refusing := meterFunc(func(agent.MeteredCall) (int64, error) { return 0, errors.New("3 dollars are spent of 3") })
	for name, c := range map[string]struct {
		loop  agent.Loop
		is    error
		turns int
	}{
		"turns":  {agent.Loop{MaxTurns: 2}, agent.ErrTurnLimit, 2},
		"tokens": {agent.Loop{MaxTokens: 400}, agent.ErrTokenLimit, 3},
		"money":  {agent.Loop{Meter: refusing}, agent.ErrBudget, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			loop := c.loop
			loop.LLM, loop.Tools = alwaysCalls("read"), []agent.Tool{echo("read")}
			result, err := loop.Run(t.Context(), asked("go"))
			require.ErrorIs(t, err, c.is)
			require.ErrorIs(t, err, agent.ErrLimit)
			assert.Equal(t, c.turns, result.Turns)
			var carried *agent.Result
			var (
				turns  *agent.TurnLimitError
				tokens *agent.TokenLimitError
				budget *agent.BudgetError
			)
			switch {
			case errors.As(err, &turns):
				carried = turns.Result
			case errors.As(err, &tokens):
				carried = tokens.Result
			case errors.As(err, &budget):
				carried = budget.Result
				assert.ErrorContains(t, err, "3 dollars")
			}
			assert.Same(t, result, carried)
		})
	}
}

// meterFunc is a meter that decides by a function.
type meterFunc func(agent.MeteredCall) (int64, error)

func (f meterFunc) Reserve(_ context.Context, call agent.MeteredCall) (int64, error) { return f(call) }
func (f meterFunc) Settle(agent.MeteredCall, agent.Usage)                            {}

func TestTheTimeLimitEndsAModelCallUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := &agenttest.Model{Respond: func(ctx context.Context, _ *agent.Request) (*agent.Response, error) {
			<-ctx.Done()
			return nil, &agent.ModelError{Message: "broken off", Err: ctx.Err(), Retryable: true}
		}}
		began := time.Now()
		result, err := (&agent.Loop{LLM: model, MaxDuration: time.Minute}).Run(t.Context(), asked("go"))
		var limit *agent.TimeLimitError
		require.ErrorAs(t, err, &limit)
		require.ErrorIs(t, err, agent.ErrTimeLimit)
		require.ErrorIs(t, err, agent.ErrLimit)
		assert.Equal(t, time.Minute, limit.Limit)
		assert.Same(t, result, limit.Result)
		assert.Equal(t, time.Minute, time.Since(began))
		assert.Len(t, model.Requests(), 1, "nothing is tried after the end")
	})
}

func TestTheTimeLimitEndsToolsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := doing(func(ctx context.Context, _ *agent.ToolCall) (*agent.ToolResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		model := agenttest.New(t, agenttest.Calls(agenttest.ToolCall("work", nil), agenttest.ToolCall("work", nil)))
		began := time.Now()
		result, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{slow}, MaxDuration: time.Minute}).Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, agent.ErrTimeLimit)
		assert.Equal(t, 1, result.Turns)
		assert.Equal(t, time.Minute, time.Since(began))
	})
}

func TestACallersOwnDeadlineIsNotTheLoopsLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		model := &agenttest.Model{Respond: func(ctx context.Context, _ *agent.Request) (*agent.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		_, err := (&agent.Loop{LLM: model, MaxDuration: time.Minute}).Run(ctx, asked("go"))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, agent.ErrTimeLimit)
	})
}

func TestACallIsNotMadeWhenItsWorstCaseWouldPassTheTokenLimit(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t)
	_, err := (&agent.Loop{LLM: model, MaxTokens: 1000}).Run(t.Context(), asked(strings.Repeat("long ", 300)))
	var limit *agent.TokenLimitError
	require.ErrorAs(t, err, &limit)
	assert.Equal(t, int64(1000), limit.Limit)
	assert.Greater(t, limit.Needed, int64(1000))
	assert.Empty(t, model.Requests())
}

func TestAMeteredModelMaySayNoMoreThanIsReserved(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t, agenttest.Reply("done"))
	_, err := (&agent.Loop{LLM: model, MaxTokens: 1000}).Run(t.Context(), asked("go"))
	require.NoError(t, err)
	most := model.Requests()[0].MaxOutputTokens
	require.NotNil(t, most)
	assert.Less(t, *most, int64(1000))

	model = agenttest.New(t, agenttest.Reply("done"))
	model.Info.MaxOutputTokens = 300
	_, err = (&agent.Loop{LLM: model, MaxTokens: 1000}).Run(t.Context(), asked("go"))
	require.NoError(t, err)
	assert.Nil(t, model.Requests()[0].MaxOutputTokens, "the model's own limit is reserved and need not be sent")

	asks := int64(50)
	model = agenttest.New(t, agenttest.Reply("done"))
	_, err = (&agent.Loop{LLM: model, MaxTokens: 1000, Request: agent.Request{MaxOutputTokens: &asks}}).Run(t.Context(), asked("go"))
	require.NoError(t, err)
	assert.Equal(t, asks, *model.Requests()[0].MaxOutputTokens)

	model = agenttest.New(t, agenttest.Reply("done"))
	_, err = (&agent.Loop{LLM: model}).Run(t.Context(), asked("go"))
	require.NoError(t, err)
	assert.Nil(t, model.Requests()[0].MaxOutputTokens, "without a limit nothing is sent")
}

func TestRepliesFromTheJournalCountAgainstTheTokenLimit(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		p := restart()
		tool := counting2("read", func(n int) {
			if n == 2 {
				p.kill()
			}
		})
		loop := agent.Loop{LLM: alwaysCalls("read"), Tools: []agent.Tool{tool}, MaxTokens: 1000, Journal: p}
		_, err := loop.Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, errKilled)
		loop.Journal = restart()
		loop.MaxTokens = 300
		result, err := loop.Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, agent.ErrTokenLimit)
		assert.Equal(t, 2, result.Turns, "the two recorded ones")
	})
}

func counting2(name string, at func(n int)) *agenttest.Tool {
	n := 0
	return &agenttest.Tool{Name: name, Effect: agent.ReadOnly, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		n++
		at(n)
		return agent.TextResult("ok"), nil
	}}
}

// spy checks at every instant that spent and reserved stay within the limit, and
// that each reservation is settled.
type spy struct {
	*agent.TokenMeter
	t     *testing.T
	mu    sync.Mutex
	open  map[string]int
	calls int
}

func (s *spy) Reserve(ctx context.Context, call agent.MeteredCall) (int64, error) {
	granted, err := s.TokenMeter.Reserve(ctx, call)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err == nil {
		s.calls++
		s.open[call.Key]++
	}
	assert.LessOrEqual(s.t, s.Spent()+s.Reserved(), s.Limit)
	return granted, err
}

func (s *spy) Settle(call agent.MeteredCall, usage agent.Usage) {
	s.TokenMeter.Settle(call, usage)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open[call.Key]--
	assert.LessOrEqual(s.t, s.Spent()+s.Reserved(), s.Limit)
}

// Many loops share one meter. However their calls end, what is spent and reserved
// together never passes the limit, and what is spent is what the calls used.
func TestASharedMeterIsNeverPassed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.Int64Range(1, 4000).Draw(rt, "limit")
		loops := rapid.IntRange(1, 5).Draw(rt, "loops")
		fails := rapid.SliceOfN(rapid.IntRange(0, 4), loops, loops).Draw(rt, "fails")
		synctest.Test(t, func(t *testing.T) {
			meter := &spy{TokenMeter: &agent.TokenMeter{Limit: limit}, t: t, open: map[string]int{}}
			var mu sync.Mutex
			var used int64
			var wg sync.WaitGroup
			for i := range loops {
				n := 0
				model := &agenttest.Model{Respond: func(_ context.Context, req *agent.Request) (*agent.Response, error) {
					n++
					time.Sleep(time.Duration(i+1) * time.Second)
					usage := agent.Usage{Input: agent.Tokens(20), Output: agent.Tokens(min(*req.MaxOutputTokens, 30))}
					response := agenttest.Call("read", nil).Response
					response.Usage = usage
					mu.Lock()
					defer mu.Unlock()
					switch fails[i] {
					case 1: // nothing is charged
						if n%2 == 0 {
							return nil, &agent.ModelError{StatusCode: 503, Retryable: true}
						}
					case 2: // a part arrived and was charged
						if n%2 == 0 {
							used += usage.Total()
							return nil, &agent.ModelError{Retryable: true, Partial: &response, Err: agent.ErrReplyCut}
						}
					case 3:
						if n == 3 {
							return nil, &agent.ModelError{StatusCode: 401}
						}
					}
					used += usage.Total()
					return &response, nil
				}}
				wg.Go(func() {
					loop := agent.Loop{
						LLM: model, Tools: []agent.Tool{echo("read")}, Meter: meter, MaxTurns: 10, KeyPrefix: fmt.Sprintf("%d/", i),
					}
					result, err := loop.Run(t.Context(), asked("go"))
					assert.Error(t, err)
					assert.GreaterOrEqual(t, result.Usage.Total(), int64(0))
				})
			}
			wg.Wait()
			assert.Equal(t, used, meter.Spent())
			assert.Zero(t, meter.Reserved())
			for key, n := range meter.open {
				assert.Zero(t, n, key)
			}
		})
	})
}

func TestACallThatReportsNoUsageCountsAsItsWorstCase(t *testing.T) {
	t.Parallel()
	meter := &agent.TokenMeter{}
	turn := agenttest.Reply("done")
	turn.Response.Usage = agent.Usage{}
	result, err := (&agent.Loop{LLM: agenttest.New(t, turn), Meter: meter}).Run(t.Context(), asked("go"))
	require.NoError(t, err)
	assert.Positive(t, meter.Spent())
	assert.Less(t, meter.Spent(), int64(100))
	assert.Equal(t, 1, result.UnknownUsage)
	assert.Nil(t, result.Usage.Input, "unknown is not zero")
}

func TestAReplySettledAgainWithoutAReservationCountsOnce(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		meter := &agent.TokenMeter{}
		script := []agenttest.Turn{
			{Err: &agent.ModelError{Retryable: true, Err: agent.ErrReplyCut, Partial: &agent.Response{Usage: agent.Usage{Input: agent.Tokens(7), Output: agent.Tokens(1)}}}},
			agenttest.Reply("done"),
		}
		now := func(int, error) (time.Duration, bool) { return 0, true }
		_, err := (&agent.Loop{LLM: agenttest.New(t, script...), Retry: now, Meter: meter, Journal: restart()}).Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, int64(118), meter.Spent())
		again, other := agent.Loop{LLM: agenttest.New(t), Meter: meter}, agent.Loop{LLM: agenttest.New(t), Meter: &agent.TokenMeter{}}
		again.Journal = restart()
		result, err := again.Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, int64(118), meter.Spent())
		assert.Equal(t, int64(118), result.Usage.Total())
		assert.Equal(t, 1, result.FailedTries)
		other.Journal = restart()
		_, err = other.Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, int64(118), other.Meter.(*agent.TokenMeter).Spent(), "a new process's meter learns of it")
	})
}
