package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// echo returns its arguments.
func echo(name string) *agenttest.Tool {
	return &agenttest.Tool{
		Name: name, Effect: agent.ReadOnly,
		Do: func(_ context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
			return agent.TextResult(name + string(call.Arguments)), nil
		},
	}
}

func asked(text string) *agent.Conversation {
	return agent.NewConversation(agent.UserMessage(text))
}

// toolMessages returns the results in a conversation, in order.
func toolMessages(conv *agent.Conversation) []agent.Message {
	return slices.DeleteFunc(conv.Messages(), func(m agent.Message) bool { return m.Role != agent.RoleTool })
}

func TestTheModelIsCalledUntilItAsksForNoTool(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t,
		agenttest.Calls(agenttest.ToolCall("read", map[string]int{"n": 1}), agenttest.ToolCall("list", map[string]int{"n": 2})),
		agenttest.Call("read", map[string]int{"n": 3}),
		agenttest.Reply("done"),
	)
	conv := asked("go")
	loop := agent.Loop{LLM: model, Tools: []agent.Tool{echo("read"), echo("list")}}
	result, err := loop.Run(t.Context(), conv)
	require.NoError(t, err)

	assert.Equal(t, "done", result.Final.ContentText())
	assert.Equal(t, agent.FinishStop, result.Finish)
	assert.Equal(t, 3, result.Turns)
	assert.Equal(t, 3, result.ToolCalls)
	assert.Equal(t, int64(300), *result.Usage.Input)
	assert.Equal(t, int64(30), *result.Usage.Output)

	var roles []agent.Role
	for _, m := range conv.Messages() {
		roles = append(roles, m.Role)
	}
	assert.Equal(t, []agent.Role{
		agent.RoleUser,
		agent.RoleAssistant, agent.RoleTool, agent.RoleTool,
		agent.RoleAssistant, agent.RoleTool,
		agent.RoleAssistant,
	}, roles)
	results := toolMessages(conv)
	assert.Equal(t, `read{"n":1}`, results[0].ContentText())
	assert.Equal(t, `list{"n":2}`, results[1].ContentText())
	assert.Equal(t, "call_2", results[1].ToolCallID)
	assert.Equal(t, "list", results[1].ToolName)
	assert.Len(t, model.Requests()[2].Messages, 6, "the last call sees everything before it")
}

func TestARequestOnceSentIsNotChangedByLaterTurns(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t, agenttest.Call("read", nil), agenttest.Call("read", nil), agenttest.Reply("done"))
	loop := agent.Loop{LLM: model, Tools: []agent.Tool{echo("read")}}
	conv := asked("go")
	_, err := loop.Run(t.Context(), conv)
	require.NoError(t, err)
	conv.Append(agent.UserMessage("more"))
	for i, req := range model.Requests() {
		assert.Equal(t, conv.Messages()[:1+2*i], req.Messages)
	}
}

func TestResultsKeepTheOrderOfTheCallsUnderAnyTiming(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		delays := rapid.SliceOfN(rapid.IntRange(0, 5), 1, 12).Draw(rt, "seconds")
		parallel := rapid.IntRange(0, 4).Draw(rt, "parallel")
		serial := rapid.Bool().Draw(rt, "serial")
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			running, most := 0, 0
			wait := &agenttest.Tool{Name: "wait", Do: func(_ context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
				mu.Lock()
				running++
				most = max(most, running)
				mu.Unlock()
				var args struct{ I, Seconds int }
				if err := json.Unmarshal(call.Arguments, &args); err != nil {
					return nil, err
				}
				time.Sleep(time.Duration(args.Seconds) * time.Second)
				mu.Lock()
				running--
				mu.Unlock()
				return agent.TextResult(fmt.Sprint(args.I)), nil
			}}
			var calls []agent.ToolCall
			for i, d := range delays {
				calls = append(calls, agenttest.ToolCall("wait", map[string]int{"i": i, "seconds": d}))
			}
			loop := agent.Loop{
				LLM:              agenttest.New(t, agenttest.Calls(calls...), agenttest.Reply("done")),
				Tools:            []agent.Tool{wait},
				MaxParallelTools: parallel,
				Request:          agent.Request{SerialTools: serial},
			}
			conv := asked("go")
			_, err := loop.Run(t.Context(), conv)
			require.NoError(t, err)
			for i, m := range toolMessages(conv) {
				assert.Equal(t, fmt.Sprint(i), m.ContentText())
				assert.Equal(t, fmt.Sprintf("call_%d", i+1), m.ToolCallID)
			}
			limit := parallel
			if parallel == 0 {
				limit = agent.DefaultMaxParallelTools
			}
			if serial {
				limit = 1
			}
			assert.LessOrEqual(t, most, limit)
		})
	})
}

func TestAModelThatAlwaysCallsToolsEndsAtTheTurnLimit(t *testing.T) {
	t.Parallel()
	model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
		response := agenttest.Call("read", nil).Response
		return &response, nil
	}}
	loop := agent.Loop{LLM: model, Tools: []agent.Tool{echo("read")}, MaxTurns: 4}
	conv := asked("go")
	result, err := loop.Run(t.Context(), conv)
	require.ErrorIs(t, err, agent.ErrTurnLimit)
	var limit *agent.TurnLimitError
	require.ErrorAs(t, err, &limit)
	assert.Equal(t, 4, limit.Limit)
	assert.Equal(t, 4, result.Turns)
	assert.Equal(t, 4, result.ToolCalls)
	assert.Equal(t, int64(440), result.Usage.Total())
	assert.Len(t, toolMessages(conv), 4)
}

func TestALoopWithoutALimitOfItsOwnEndsAfterAHundredTurns(t *testing.T) {
	t.Parallel()
	model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
		response := agenttest.Call("read", nil).Response
		return &response, nil
	}}
	result, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{echo("read")}}).Run(t.Context(), asked("go"))
	require.ErrorIs(t, err, agent.ErrTurnLimit)
	assert.Equal(t, 100, result.Turns)
}

func TestAFailedModelCallTellsWhatWasDoneUntilThen(t *testing.T) {
	t.Parallel()
	refused := &agent.ModelError{Provider: "openai", StatusCode: 401, Message: "bad key"}
	model := agenttest.New(t, agenttest.Call("read", nil), agenttest.Turn{Err: refused})
	result, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{echo("read")}}).Run(t.Context(), asked("go"))
	var failure *agent.ModelError
	require.ErrorAs(t, err, &failure)
	assert.Equal(t, 401, failure.StatusCode)
	assert.Equal(t, 1, result.Turns)
	assert.Equal(t, 1, result.ToolCalls)
}

func TestToolsThatNoEndpointTakesAreRefusedBeforeAnyCall(t *testing.T) {
	t.Parallel()
	for name, tools := range map[string][]agent.Tool{
		"two of one name": {echo("read"), echo("read")},
		"a space":         {echo("read file")},
		"no name":         {echo("")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := agenttest.New(t)
			_, err := (&agent.Loop{LLM: model, Tools: tools}).Run(t.Context(), asked("go"))
			require.Error(t, err)
			assert.Empty(t, model.Requests())
		})
	}
}

func TestObserversHearOfEveryReplyAndResult(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var heard []string
	loop := agent.Loop{
		LLM:       agenttest.New(t, agenttest.Call("read", nil), agenttest.Reply("done")),
		Provider:  "acme",
		Request:   agent.Request{Model: "m"},
		Tools:     []agent.Tool{echo("read")},
		KeyPrefix: "run/step/",
		OnReply: func(turn int, reply *agent.Reply) {
			heard = append(heard, fmt.Sprintf("reply %d %s %s %s", turn, reply.Key, reply.Provider, reply.Model))
		},
		OnTool: func(turn, index int, record *agent.ToolRecord) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, fmt.Sprintf("tool %d %d %s %s", turn, index, record.Name, record.Call.Key))
		},
	}
	_, err := loop.Run(t.Context(), asked("go"))
	require.NoError(t, err)
	assert.Equal(t, []string{
		"reply 1 turn/1/reply acme m",
		"tool 1 1 read run/step/turn/1/tool/1",
		"reply 2 turn/2/reply acme m",
	}, heard)
}

func TestNothingStartsInAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	model := agenttest.New(t)
	_, err := (&agent.Loop{LLM: model}).Run(ctx, asked("go"))
	require.ErrorIs(t, err, context.Canceled)
	assert.Empty(t, model.Requests())
}

func TestNoCallStartsAfterACancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var mu sync.Mutex
		started := 0
		tool := &agenttest.Tool{Name: "work", Effect: agent.ReadOnly, Do: func(ctx context.Context, _ *agent.ToolCall) (*agent.ToolResult, error) {
			mu.Lock()
			started++
			mu.Unlock()
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		calls := make([]agent.ToolCall, 6)
		for i := range calls {
			calls[i] = agenttest.ToolCall("work", nil)
		}
		model := agenttest.New(t, agenttest.Calls(calls...))
		go func() {
			synctest.Wait() // two calls wait
			cancel()
		}()
		result, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{tool}, MaxParallelTools: 2}).Run(ctx, asked("go"))
		require.ErrorIs(t, err, context.Canceled)
		assert.Equal(t, 2, started)
		assert.Equal(t, 1, result.Turns)
		assert.Len(t, model.Requests(), 1)
	})
}

func TestAReplyThatCameDespiteACancelIsKept(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		ctx, cancel := context.WithCancel(t.Context())
		model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
			cancel()
			response := agenttest.Call("read", nil).Response
			return &response, nil
		}}
		_, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{echo("read")}, Journal: restart()}).Run(ctx, asked("go"))
		require.ErrorIs(t, err, context.Canceled)
		again := agenttest.New(t, agenttest.Reply("done"))
		result, err := (&agent.Loop{LLM: again, Tools: []agent.Tool{echo("read")}, Journal: restart()}).Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, 2, result.Turns, "the first is paid and is used")
	})
}

func TestAnErrorOfTheJournalEndsTheLoop(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk full")
	model := agenttest.New(t, agenttest.Reply("done"))
	j := failingJournal{err: broken}
	_, err := (&agent.Loop{LLM: model, Journal: j}).Run(t.Context(), asked("go"))
	require.ErrorIs(t, err, broken)
}

type failingJournal struct{ err error }

func (f failingJournal) Do(ctx context.Context, _, _ string, fn func(context.Context) ([]byte, error)) ([]byte, error) {
	if _, err := fn(ctx); err != nil {
		return nil, err
	}
	return nil, f.err
}

func (f failingJournal) Begin(context.Context, string, string) (bool, error) { return false, f.err }
