package agent_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// offer is a list of tools that changes.
type offer struct{ tools []agent.Tool }

func (o *offer) list(context.Context) ([]agent.Tool, error) { return o.tools, nil }

// offered are the names of the tools of each request.
func offered(requests []*agent.Request) [][]string {
	var all [][]string
	for _, request := range requests {
		names := []string{}
		for _, spec := range request.Tools {
			names = append(names, spec.Name)
		}
		all = append(all, names)
	}
	return all
}

// changing is a tool whose call changes the offer.
func changing(name string, o *offer, to func() []agent.Tool) agent.Tool {
	return &agenttest.Tool{Name: name, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		o.tools = to()
		return agent.TextResult("changed"), nil
	}}
}

func TestAChangeOfTheToolsReachesTheModelAtItsNextCallAndEveryResumeGivesTheSame(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		o := &offer{}
		grow := changing("grow", o, func() []agent.Tool { return []agent.Tool{echo("spin"), echo("weave")} })
		o.tools = []agent.Tool{grow}
		model := agenttest.New(t,
			agenttest.Call("grow", nil), agenttest.Call("weave", nil), agenttest.Call("grow", nil), agenttest.Reply("done"))
		loop := agent.Loop{LLM: model, Live: agent.NewLiveTools(o.tools, o.tools, o.list), Journal: restart()}
		conv := asked("go")
		_, err := loop.Run(t.Context(), conv)
		require.NoError(t, err)
		assert.Equal(t, [][]string{{"grow"}, {"spin", "weave"}, {"spin", "weave"}, {"spin", "weave"}}, offered(model.Requests()))
		results := toolMessages(conv)
		assert.False(t, results[1].IsError)
		assert.Contains(t, results[2].ContentText(), "spin, weave", "a tool that went is refused, and what there is is named")

		// A new process begins with what was given at first, and what its servers list now.
		again := asked("go")
		resumed := agent.Loop{
			LLM: agenttest.New(t), Journal: restart(),
			Live: agent.NewLiveTools(agent.PinTools(agent.ToolSpecs([]agent.Tool{grow}), o.tools), o.tools, o.list),
		}
		_, err = resumed.Run(t.Context(), again)
		require.NoError(t, err)
		assert.Equal(t, conv.Digest(), again.Digest())

		// The next run of the same agent goes on with the tools that the last one ended with.
		next := agenttest.New(t, agenttest.Call("weave", nil), agenttest.Reply("done"))
		resumed.LLM, resumed.Journal = next, nil
		_, err = resumed.Run(t.Context(), again)
		require.NoError(t, err)
		assert.Equal(t, [][]string{{"spin", "weave"}, {"spin", "weave"}}, offered(next.Requests()))
		assert.False(t, toolMessages(again)[3].IsError, "the tool is served by the live one")
	})
}

func TestAListThatDiffersFromWhatWasGivenAtFirstIsNoChange(t *testing.T) {
	t.Parallel()
	o := &offer{tools: []agent.Tool{echo("new")}}
	old := agent.PinTools([]agent.ToolSpec{{Name: "old"}}, nil)
	model := agenttest.New(t, agenttest.Call("old", nil), agenttest.Reply("done"))
	conv := asked("go")
	_, err := (&agent.Loop{LLM: model, Live: agent.NewLiveTools(old, o.tools, o.list)}).Run(t.Context(), conv)
	require.NoError(t, err)
	assert.Equal(t, [][]string{{"old"}, {"old"}}, offered(model.Requests()))
	assert.Contains(t, toolMessages(conv)[0].ContentText(), "not available any more")
}

func TestToolsMayAllGoAndComeBack(t *testing.T) {
	t.Parallel()
	o := &offer{}
	all := []agent.Tool{changing("leave", o, func() []agent.Tool { return nil })}
	o.tools = all
	turn := 0
	model := &agenttest.Model{Respond: func(_ context.Context, _ *agent.Request) (*agent.Response, error) {
		turn++
		message := agent.Message{Role: agent.RoleAssistant, ToolCalls: []agent.ToolCall{{Name: "leave"}}}
		if turn == 2 {
			o.tools = all // while the model thinks: the present reply is answered by what it was given
		}
		if turn == 4 {
			message = agent.Message{Role: agent.RoleAssistant, Content: agent.Text("done")}
		}
		return &agent.Response{Message: message, Finish: agent.FinishStop}, nil
	}}
	conv := asked("go")
	_, err := (&agent.Loop{LLM: model, Live: agent.NewLiveTools(all, all, o.list)}).Run(t.Context(), conv)
	require.NoError(t, err)
	failed := []bool{}
	for _, m := range toolMessages(conv) {
		failed = append(failed, m.IsError)
	}
	assert.Equal(t, []bool{false, true, false}, failed)
}

func TestAListThatCannotBeReadOrUsedEndsTheRun(t *testing.T) {
	t.Parallel()
	broken := errors.New("the list is gone")
	run := func(list func(context.Context) ([]agent.Tool, error)) error {
		live := agent.NewLiveTools(nil, nil, list)
		_, err := (&agent.Loop{LLM: &agenttest.Model{}, Live: live}).Run(t.Context(), asked("go"))
		return err
	}
	require.ErrorIs(t, run(func(context.Context) ([]agent.Tool, error) { return nil, broken }), broken)
	twice := []agent.Tool{echo("same"), echo("same")}
	require.ErrorContains(t, run(func(context.Context) ([]agent.Tool, error) { return slices.Clone(twice), nil }), `two tools are called "same"`)
}

func TestToolsThatCameOrWentBetweenTwoProcessesReachTheModelAtItsNextCall(t *testing.T) {
	t.Parallel()
	described := func(name, text string) agent.Tool {
		return &agenttest.Tool{Name: name, Description: text, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
			return agent.TextResult("done"), nil
		}}
	}
	given := agent.ToolSpecs([]agent.Tool{described("sew", "old"), described("knit", "old")})
	for name, c := range map[string]struct {
		listed []agent.Tool
		want   []string
	}{
		"one came":             {[]agent.Tool{described("sew", "old"), described("knit", "old"), described("weave", "")}, []string{"sew", "knit", "weave"}},
		"one went":             {[]agent.Tool{described("sew", "old")}, []string{"sew"}},
		"all went":             {nil, []string{}},
		"one is another":       {[]agent.Tool{described("sew", "old"), described("weave", "")}, []string{"sew", "weave"}},
		"other words are none": {[]agent.Tool{described("knit", "new"), described("sew", "new")}, []string{"sew", "knit"}},
	} {
		o := &offer{tools: c.listed}
		model := agenttest.New(t, agenttest.Reply("done"))
		_, err := (&agent.Loop{LLM: model, Live: agent.ResumeLiveTools(given, o.tools, o.list)}).Run(t.Context(), asked("go"))
		require.NoError(t, err)
		assert.Equal(t, [][]string{c.want}, offered(model.Requests()), name)
	}
}
