package workflow_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

const barePlan = `{"steps":[{"id":"one","type":"regular","description":"Do it."}]}`

// named is a model that answers with its own name.
func named(name string, seen *[]string) agent.LLM {
	return &agenttest.Model{Respond: func(_ context.Context, req *agent.Request) (*agent.Response, error) {
		*seen = append(*seen, name+":"+req.Model)
		response := agenttest.Reply("I am " + name).Response
		return &response, nil
	}}
}

func TestTheModelOfAStepIsItsOwnElseThatOfItsTierElseTheHosts(t *testing.T) {
	t.Parallel()
	settings := `{"capabilities":{"llm_config":{"tiered_config":{"tier_1":{"provider":"p1","model_id":"big"},"tier_3":{"provider":"p3","model_id":"small"}}}}}`
	for _, tc := range []struct{ name, config, settings, want string }{
		{"its own", `{"execution_llm":{"provider":"own","model_id":"m"},"execution_tier":"low"}`, settings, "own:m"},
		{"its tier in the settings", `{"execution_tier":"low"}`, settings, "p3:small"},
		{"a tier that is not set takes the more capable one", `{"execution_tier":"medium"}`, settings, "p1:big"},
		{"the high tier without one of its own", `{}`, settings, "p1:big"},
		{"the host's tier", `{"execution_tier":"medium"}`, `{}`, "host:mid"},
		{"the host's default", `{"execution_llm":{}}`, `{}`, ":"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var seen []string
			models := agent.ModelMap{}
			for _, provider := range []string{"", "own", "p1", "p3", "host"} {
				models[provider] = named(provider, &seen)
			}
			config := workflow.Config{Models: models, Tiers: agent.Tiers{Medium: agent.ModelRef{Provider: "host", Model: "mid"}}}
			b := setup(t, config, barePlan, workspace.SettingsFile, tc.settings,
				workspace.StepConfigFile, `{"steps":[{"id":"one","agent_configs":`+tc.config+`}]}`)
			_, err := b.ctl.Run(t.Context(), b.ws, nil)
			require.NoError(t, err)
			assert.Equal(t, []string{tc.want}, seen)
		})
	}
}

func TestAFailingModelIsTriedAgainThenReplacedAndEachCallIsCountedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		cut := &agent.ModelError{
			Message: "cut", Retryable: true, Err: agent.ErrReplyCut,
			Partial: &agent.Response{Usage: agent.Usage{Input: agent.Tokens(7), Output: agent.Tokens(3)}},
		}
		var calls int
		bad := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
			calls++
			return nil, cut
		}}
		var seen []string
		b := setup(t, workflow.Config{Models: agent.ModelMap{"bad": bad, "good": named("good", &seen)}}, barePlan,
			workspace.StepConfigFile, `{"steps":[{"id":"one","agent_configs":{"execution_llm":{"provider":"bad","model_id":"m","fallbacks":[{"provider":"good","model_id":"n"}]}}}]}`)
		run, err := b.ctl.Start(t.Context(), b.ws, nil)
		require.NoError(t, err)
		result, err := run.Wait(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1+agent.DefaultRetries, calls)
		assert.Equal(t, []string{"good:n"}, seen)
		assert.Equal(t, int64(calls+1), result.Totals.Calls)
		assert.Equal(t, int64(7*calls+100), *result.Totals.Usage.Input, "what broken replies cost belongs to the bill")
		failed := 0
		for ev := range run.Events(t.Context(), workflow.FromStart) {
			if ev.Kind == workflow.ModelFailed {
				failed++
				assert.True(t, ev.Retrying)
			}
		}
		assert.Equal(t, calls, failed)
	})
}

func TestWhatAFailedStepSpentIsStillKnownAfterAResume(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fail := true
		model := &agenttest.Model{Respond: func(context.Context, *agent.Request) (*agent.Response, error) {
			if fail {
				return nil, &agent.ModelError{Retryable: true, Err: agent.ErrReplyCut, Partial: &agent.Response{Usage: agent.Usage{Input: agent.Tokens(5), Output: agent.Tokens(1)}}}
			}
			response := agenttest.Reply("ok").Response
			return &response, nil
		}}
		b := setup(t, workflow.Config{Models: agent.Single(model)}, barePlan)
		first, err := b.ctl.Run(t.Context(), b.ws, nil)
		require.ErrorIs(t, err, agent.ErrReplyCut)
		fail = false
		second, err := b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
		require.NoError(t, err)
		assert.Equal(t, first.Totals.Calls+1, second.Totals.Calls)
		assert.Equal(t, *first.Totals.Usage.Input+100, *second.Totals.Usage.Input)
	})
}

func TestLargeToolOutputGoesToAFileUnlessTurnedOff(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("all work and no play\n", 10_000)
	for _, off := range []bool{false, true} {
		model := agenttest.New(t, agenttest.Call("dump", nil), agenttest.Reply("ok"))
		dump := &agenttest.Toolset{ID: "dumps", Tools: []agent.Tool{&agenttest.Tool{Name: "dump", Effect: agent.ReadOnly, Do: returns(large)}}}
		config := "{}"
		if off {
			config = `{"enable_context_offloading":false}`
		}
		b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{dump}}, barePlan,
			workspace.StepConfigFile, `{"steps":[{"id":"one","agent_configs":`+config+`}]}`)
		_, err := b.ctl.Run(t.Context(), b.ws, nil)
		require.NoError(t, err)
		request := model.Requests()[1]
		shown := request.Messages[len(request.Messages)-1].ContentText()
		files, err := b.ws.Storage().ReadDir(t.Context(), "runs/iteration-1/tool_output/one")
		if off {
			assert.Equal(t, large, shown)
			require.Error(t, err)
			continue
		}
		require.NoError(t, err)
		require.Len(t, files, 1)
		assert.Less(t, len(shown), 10_000)
		assert.Contains(t, shown, files[0].Name())
		assert.Equal(t, agent.OffloadedTool, request.Tools[1].Name)
	}
}

func TestAMessageReachesARunningAgentAndNoOther(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}), make(chan struct{})
	var last string
	turn := 0
	model := &agenttest.Model{Respond: func(_ context.Context, req *agent.Request) (*agent.Response, error) {
		turn++
		last = req.Messages[len(req.Messages)-1].ContentText()
		if turn == 1 {
			close(asked)
			<-answer
		}
		response := agenttest.Reply("ok").Response
		return &response, nil
	}}
	b := setup(t, workflow.Config{Models: agent.Single(model)}, barePlan)
	run, err := b.ctl.Start(t.Context(), b.ws, nil)
	require.NoError(t, err)
	<-asked
	require.ErrorIs(t, run.Steer("other", "hello"), agent.ErrNoActiveAgent)
	require.NoError(t, run.Steer("one", "Also say please."))
	close(answer)
	_, err = run.Wait(t.Context())
	require.NoError(t, err)
	assert.Equal(t, "Also say please.", last)
	require.ErrorIs(t, run.Steer("one", "too late"), agent.ErrNoActiveAgent)
	assert.Contains(t, b.read(t, "runs/iteration-1/journal.jsonl"), "Also say please.")
}

func TestAnAttemptEndsAtItsTimeAndAtItsTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slow := &agenttest.Model{Respond: func(ctx context.Context, _ *agent.Request) (*agent.Response, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		b := setup(t, workflow.Config{Models: agent.Single(slow), Limits: workflow.Limits{AttemptDuration: time.Minute}}, barePlan)
		result, err := b.ctl.Run(t.Context(), b.ws, nil)
		require.ErrorIs(t, err, agent.ErrTimeLimit)
		assert.Equal(t, workflow.StatusStopped, result.Status)
	})
	b := setup(t, workflow.Config{Models: agent.Single(agenttest.New(t)), Limits: workflow.Limits{AttemptTokens: 10}}, barePlan)
	result, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorIs(t, err, agent.ErrTokenLimit)
	assert.Equal(t, workflow.StatusStopped, result.Status)
}

func TestAConversationNearTheWindowIsCondensedAndLogged(t *testing.T) {
	t.Parallel()
	calls, summaries, longest := 0, 0, 0
	model := &agenttest.Model{Respond: func(_ context.Context, req *agent.Request) (*agent.Response, error) {
		size := 0
		for _, msg := range req.Messages {
			size += len(msg.ContentText())
		}
		longest = max(longest, size)
		response := agenttest.Reply("Everything was read.").Response
		response.Usage = agent.Usage{}
		switch calls++; {
		case len(req.Tools) == 0:
			summaries++
			response = agenttest.Reply("So far: pages were read and hold nothing of note.").Response
		case calls < 30:
			response = agenttest.Call("page", nil).Response
			response.Usage = agent.Usage{}
		}
		return &response, nil
	}}
	page := &agenttest.Toolset{ID: "pages", Tools: []agent.Tool{&agenttest.Tool{Name: "page", Effect: agent.ReadOnly, Do: returns(strings.Repeat("word ", 400))}}}
	b := setup(t, workflow.Config{
		Models: agent.Single(model), Toolsets: []agent.Toolset{page}, Limits: workflow.Limits{ContextWindow: 5000},
	}, barePlan)
	result, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Positive(t, summaries)
	assert.Less(t, longest, 5000*5)
	assert.Equal(t, int64(calls), result.Totals.Calls, "summaries are paid for, too")
	assert.Contains(t, b.read(t, "runs/iteration-1/logs/one/execution/execution-attempt-1-iteration-1-conversation.json"), "nothing of note")
}

func TestARunStopsBeforeItsMoneyIsSpentAndGoesOnWithMore(t *testing.T) {
	t.Parallel()
	prices := &costs.Prices{Version: "test", Models: []costs.ModelPrice{{Model: "m", Input: new(costs.Dollars(1000)), Output: new(costs.Dollars(1000))}}}
	config := workflow.Config{
		Models: agent.Single(agenttest.New(t, writes("out.txt", "1"), agenttest.Reply("ok"))), Model: "m",
		Toolsets: []agent.Toolset{agenttest.Files()}, Prices: prices,
	}
	config.Meter = &costs.Meter{Limit: costs.Dollars(0.5), Prices: prices}
	b := setup(t, config, onePlan)
	result, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorIs(t, err, agent.ErrBudget)
	require.ErrorIs(t, err, costs.ErrLimit)
	assert.Equal(t, workflow.StatusStopped, result.Status)
	assert.Zero(t, result.Totals.Calls)

	config.Meter = &costs.Meter{Limit: costs.Dollars(10), Prices: prices}
	richer, err := workflow.NewController(config)
	require.NoError(t, err)
	result, err = richer.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, costs.Dollars(0.22), *result.Totals.Cost.Total)
}
