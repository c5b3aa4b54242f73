package agent_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// ending is a turn that ended for a reason.
func ending(turn agenttest.Turn, why agent.FinishReason) agenttest.Turn {
	turn.Response.Finish = why
	return turn
}

func TestACutToolCallIsNeitherRunNorSentBack(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		cut := ending(agenttest.Calls(agenttest.ToolCall("read", nil), agent.ToolCall{
			Name: "read", Arguments: json.RawMessage(`"{\"pa"`), Invalid: "unexpected end",
		}), agent.FinishLength)
		model := agenttest.New(t, cut, agenttest.Call("read", nil), agenttest.Reply("done"))
		var ran []int
		loop := agent.Loop{
			LLM: model, Tools: []agent.Tool{echo("read")}, Journal: restart(),
			OnTool: func(turn, _ int, _ *agent.ToolRecord) { ran = append(ran, turn) },
		}
		conv := asked("go")
		result, err := loop.Run(t.Context(), conv)
		require.NoError(t, err)
		assert.Equal(t, []int{2}, ran)
		assert.Equal(t, 1, result.ToolCalls)
		assert.Equal(t, 3, result.Turns, "the cut one is paid")
		second := model.Requests()[1].Messages
		for _, m := range second {
			assert.Empty(t, m.ToolCalls)
		}
		assert.Contains(t, second[len(second)-1].ContentText(), "cut off")

		again := asked("go")
		replayed, err := (&agent.Loop{LLM: agenttest.New(t), Tools: loop.Tools, Journal: restart()}).Run(t.Context(), again)
		require.NoError(t, err)
		assert.Equal(t, result, replayed)
		assert.Equal(t, conv.Messages(), again.Messages())
		assert.Equal(t, conv.Digest(), again.Digest())
	})
}

func TestACutTextIsContinued(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t,
		ending(agenttest.Reply("one, t"), agent.FinishLength),
		ending(agenttest.Reply("wo, th"), agent.FinishLength),
		agenttest.Reply("ree"),
	)
	result, err := (&agent.Loop{LLM: model}).Run(t.Context(), asked("count"))
	require.NoError(t, err)
	assert.Equal(t, "one, two, three", result.Final.ContentText())
	assert.Equal(t, agent.FinishStop, result.Finish)
	third := model.Requests()[2].Messages
	assert.Equal(t, "wo, th", third[3].ContentText())
	assert.Contains(t, third[4].ContentText(), "Continue")
}

func TestAModelThatNeverStopsTalkingIsATypedErrorWithWhatItSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limit, turns int
	}{"by default": {0, 4}, "once": {1, 2}, "not at all": {-1, 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
				response := ending(agenttest.Reply("more "), agent.FinishLength).Response
				return &response, nil
			}}
			result, err := (&agent.Loop{LLM: model, MaxCutReplies: c.limit}).Run(t.Context(), asked("go"))
			require.ErrorIs(t, err, agent.ErrOutputLimit)
			assert.Equal(t, c.turns, result.Turns)
			var reply *agent.ReplyError
			require.ErrorAs(t, err, &reply)
			assert.Equal(t, strings.Repeat("more ", c.turns), reply.Text)
			assert.Same(t, result, reply.Result)
			assert.Equal(t, reply.Text, result.Final.ContentText())
		})
	}
}

func TestOnlyCutRepliesInARowAreCounted(t *testing.T) {
	t.Parallel()
	var script []agenttest.Turn
	for range 5 {
		script = append(script, ending(agenttest.Call("read", nil), agent.FinishLength), agenttest.Call("read", nil))
	}
	script = append(script, agenttest.Reply("done"))
	_, err := (&agent.Loop{LLM: agenttest.New(t, script...), Tools: []agent.Tool{echo("read")}}).Run(t.Context(), asked("go"))
	require.NoError(t, err)
}

func TestAReplySpentOnReasoningIsAskedForAgain(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t, ending(agenttest.Reply(""), agent.FinishLength), agenttest.Reply("42"))
	result, err := (&agent.Loop{LLM: model}).Run(t.Context(), asked("go"))
	require.NoError(t, err)
	assert.Equal(t, "42", result.Final.ContentText())
}

func TestARefusalAndAFilteredReplyAreTypedOutcomes(t *testing.T) {
	t.Parallel()
	for why, is := range map[agent.FinishReason]error{
		agent.FinishRefusal: agent.ErrRefused, agent.FinishContentFilter: agent.ErrContentFiltered,
	} {
		t.Run(string(why), func(t *testing.T) {
			t.Parallel()
			turn := ending(agenttest.Reply("I cannot help with that"), why)
			turn.Response.Message.ToolCalls = []agent.ToolCall{{Name: "read", ID: "1"}}
			conv := asked("go")
			result, err := (&agent.Loop{LLM: agenttest.New(t, turn), Tools: []agent.Tool{echo("read")}}).Run(t.Context(), conv)
			require.ErrorIs(t, err, is)
			var reply *agent.ReplyError
			require.ErrorAs(t, err, &reply)
			assert.Equal(t, "I cannot help with that", reply.Text)
			assert.Equal(t, why, result.Finish)
			assert.Equal(t, int64(110), result.Usage.Total())
			assert.Empty(t, conv.Messages()[1].ToolCalls, "no call without a result stays in the conversation")
		})
	}
}

func TestAnEmptyReplyIsTriedAgainAndThenATypedError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		model := agenttest.New(t, agenttest.Reply(""), agenttest.Reply("done"))
		result, err := (&agent.Loop{LLM: model}).Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, "done", result.Final.ContentText())
		assert.Equal(t, int64(220), result.Usage.Total(), "the empty one is paid too")

		empty := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
			response := agenttest.Reply("").Response
			return &response, nil
		}}
		_, err = (&agent.Loop{LLM: empty}).Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, agent.ErrReplyEmpty)
		assert.Len(t, empty.Requests(), 1+agent.DefaultRetries)
	})
}

func TestABackendThatReturnsNothingAtAllIsAnError(t *testing.T) {
	t.Parallel()
	_, err := (&agent.Loop{LLM: nothing{}}).Run(t.Context(), asked("go"))
	require.ErrorContains(t, err, "neither a reply nor an error")
}

type nothing struct{}

func (nothing) Generate(context.Context, *agent.Request, agent.Sink) (*agent.Response, error) {
	return nil, nil
}

func TestAModelThatReturnsFiveMegabytesSucceeds(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		large := strings.Repeat("x", 5<<20)
		model := agenttest.New(t, agenttest.Call("read", map[string]string{"text": large}), agenttest.Reply(large))
		result, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{echo("read")}, Journal: restart()}).Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Len(t, result.Final.ContentText(), 5<<20)
	})
}

func TestAModelThatDiesMidStreamTenTimesIsATypedError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
			if n++; n <= 10 {
				return nil, &agent.ModelError{Retryable: true, Err: agent.ErrReplyCut, Partial: &agent.Response{}}
			}
			response := agenttest.Reply("done").Response
			return &response, nil
		}}
		_, err := (&agent.Loop{LLM: model}).Run(t.Context(), asked("go"))
		require.ErrorIs(t, err, agent.ErrReplyCut)
		var tries *agent.TriesError
		require.ErrorAs(t, err, &tries)
	})
}

func TestIDsThatDoNotPairACallWithItsResultAreRepaired(t *testing.T) {
	t.Parallel()
	for name, ids := range map[string][]string{
		"all the same": {"a", "a", "a"}, "none": {"", "", ""}, "a made one is taken": {"a", "a", "call_1_2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			turn := agenttest.Calls(agenttest.ToolCall("read", 1), agenttest.ToolCall("read", 2), agenttest.ToolCall("read", 3))
			for i, id := range ids {
				turn.Response.Message.ToolCalls[i].ID = id
			}
			conv := asked("go")
			_, err := (&agent.Loop{LLM: agenttest.New(t, turn, agenttest.Reply("done")), Tools: []agent.Tool{echo("read")}}).Run(t.Context(), conv)
			require.NoError(t, err)
			seen := map[string]bool{}
			for i, m := range toolMessages(conv) {
				assert.Equal(t, conv.Messages()[1].ToolCalls[i].ID, m.ToolCallID)
				assert.NotEmpty(t, m.ToolCallID)
				assert.False(t, seen[m.ToolCallID], m.ToolCallID)
				seen[m.ToolCallID] = true
			}
		})
	}
}
