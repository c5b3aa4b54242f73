package workflow_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// scopes is a toolset that remembers for what it was opened.
func scopes(id string, into *[]agent.Scope, names ...string) *agenttest.Toolset {
	return &agenttest.Toolset{ID: id, For: func(scope agent.Scope) []agent.Tool {
		*into = append(*into, scope)
		var tools []agent.Tool
		for _, name := range names {
			tools = append(tools, &agenttest.Tool{Name: name, Do: returns("done")})
		}
		return tools
	}}
}

func toolNames(request *agent.Request) []string {
	names := []string{}
	for _, spec := range request.Tools {
		names = append(names, spec.Name)
	}
	return names
}

func TestAStepMayTouchItsOwnFolderAndWhatItIsGranted(t *testing.T) {
	t.Parallel()
	const run = "runs/iteration-1/"
	always := []string{"learnings/_global", "learnings/a", run + "execution", run + "tool_output/a", "soul/soul.md"}
	own := []string{run + "work/a/visit/1", run + "execution/Downloads"}
	for name, c := range map[string]struct {
		config      string
		read, write []string
	}{
		"no configuration":                {`{}`, always, append(own, "db")},
		"the database for reading":        {`{"db_access":"read"}`, append([]string{"db"}, always...), own},
		"no learnings":                    {`{"learnings_access":"none"}`, always[2:], append(own, "db")},
		"learnings with an objective":     {`{"learnings_access":"read-write","learning_objective":"x"}`, always, append(own, "db")},
		"the knowledge base":              {`{"knowledgebase_access":"read"}`, append([]string{"knowledgebase"}, always...), append(own, "db")},
		"notes of the knowledge base":     {`{"knowledgebase_access":"write","knowledgebase_contribution":"x"}`, always, append(own, "db", "knowledgebase/notes")},
		"both":                            {`{"knowledgebase_access":"read-write","knowledgebase_contribution":"x"}`, append([]string{"knowledgebase"}, always...), append(own, "db", "knowledgebase/notes")},
		"reading takes no right to write": {`{"additional_read_paths":["db","./db/","db/reference","learnings/_global"]}`, always, append(own, "db")},
		"paths of its own for reading":    {`{"additional_read_paths":["assets/","planning/plan.json"]}`, append([]string{"assets"}, append(always[:2:2], append([]string{"planning/plan.json"}, always[2:]...)...)...), append(own, "db")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opened []agent.Scope
			model := agenttest.New(t, agenttest.Reply("done"))
			b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{scopes("t", &opened, "x")}},
				`{"steps":[{"id":"a","type":"regular","description":"Do."}]}`,
				workspace.StepConfigFile, `{"steps":[{"id":"a","agent_configs":`+c.config+`}]}`)
			_, err := b.ctl.Run(t.Context(), b.ws, nil)
			require.NoError(t, err)
			require.Len(t, opened, 1)
			assert.ElementsMatch(t, c.read, opened[0].Guard.Read)
			assert.Equal(t, c.write, opened[0].Guard.Write)
			assert.Equal(t, workspace.NoAccess, opened[0].Guard.Access("runs/iteration-1/journal.jsonl"))
			assert.Equal(t, workspace.NoAccess, opened[0].Guard.Access("runs/iteration-1/work/b/visit/1"))
			assert.Equal(t, workspace.NoAccess, opened[0].Guard.Access(".mcp.json"))

			prompt := model.Requests()[0].Messages[1].ContentText() + "\n"
			for _, path := range append(c.read, c.write...) {
				assert.Contains(t, prompt, "- "+path+"\n", "the prompt says what the guard does")
			}
		})
	}
}

func TestAStepMayReadTheFilesOfTheWorkspaceThatItDependsOn(t *testing.T) {
	t.Parallel()
	var opened []agent.Scope
	model := agenttest.New(t, agenttest.Reply("done"))
	b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{scopes("t", &opened, "x")}},
		`{"steps":[{"id":"a","type":"regular","description":"Do.","context_dependencies":["inbox/{{DAY}}.csv","db/ledger.csv"]}]}`,
		workspace.VariablesFile, `{"variables":[{"name":"DAY","value":"monday"}]}`, "inbox/monday.csv", "1", "db/ledger.csv", "2")
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	guard := opened[0].Guard
	assert.Equal(t, workspace.ReadAccess, guard.Access("inbox/monday.csv"))
	assert.Equal(t, workspace.NoAccess, guard.Access("inbox/tuesday.csv"))
	assert.Equal(t, workspace.WriteAccess, guard.Access("db/ledger.csv"), "an input takes nothing away")
}

func TestCustomToolsNeedToBeEnabledByTheStepOrTheWorkflow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		settings, config string
		want             []string
	}{
		"nobody enables them":          {`{}`, `{}`, []string{}},
		"the workflow does":            {`{"execution_defaults":{"enabled_custom_tools":["crafts:*"]}}`, `{}`, []string{"knit", "sew", "search_large_output"}},
		"the step does":                {`{}`, `{"enabled_custom_tools":["crafts:sew"]}`, []string{"sew", "search_large_output"}},
		"the step wins":                {`{"execution_defaults":{"enabled_custom_tools":["crafts:*"]}}`, `{"enabled_custom_tools":["crafts:knit"]}`, []string{"knit", "search_large_output"}},
		"the step wins with none":      {`{"execution_defaults":{"enabled_custom_tools":["crafts:*"]}}`, `{"enabled_custom_tools":[]}`, []string{}},
		"no servers are no hindrance":  {`{}`, `{"selected_servers":["NO_SERVERS"],"enabled_custom_tools":["crafts:*"]}`, []string{"knit", "sew", "search_large_output"}},
		"selected_tools are no matter": {`{}`, `{"selected_tools":[],"enabled_custom_tools":["crafts:*"]}`, []string{"knit", "sew", "search_large_output"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opened []agent.Scope
			model := agenttest.New(t, agenttest.Reply("done"))
			b := setup(t, workflow.Config{Models: agent.Single(model), CustomTools: []agent.Toolset{scopes("crafts", &opened, "knit", "sew")}},
				`{"steps":[{"id":"a","type":"regular","description":"Do."}]}`,
				workspace.SettingsFile, c.settings, workspace.StepConfigFile, `{"steps":[{"id":"a","agent_configs":`+c.config+`}]}`)
			_, err := b.ctl.Run(t.Context(), b.ws, nil)
			require.NoError(t, err)
			assert.Equal(t, c.want, toolNames(model.Requests()[0]))
		})
	}
}

func TestACategoryOrToolThatIsNotThereIsFoundBeforeTheRun(t *testing.T) {
	t.Parallel()
	var opened []agent.Scope
	config := workflow.Config{CustomTools: []agent.Toolset{scopes("crafts", &opened, "knit", "sew")}}
	const plan = `{"steps":[{"id":"a","type":"regular","description":"Do."}]}`
	b := setup(t, config, plan,
		workspace.SettingsFile, `{"execution_defaults":{"enabled_custom_tools":["forging:*"]}}`,
		workspace.StepConfigFile, `{"steps":[{"id":"a","agent_configs":{"enabled_custom_tools":["crafts:weave","crafts:*"]}}]}`)
	program, ds, err := b.ctl.Compile(t.Context(), b.ws, nil)
	require.NoError(t, err)
	require.NoError(t, ds.Err())
	ds = b.ctl.CheckSelections(program)
	require.Len(t, ds, 1)
	assert.Equal(t, "selection.category.unknown", ds[0].Code)
	assert.Equal(t, "/execution_defaults/enabled_custom_tools", ds[0].Pointer)
	assert.Contains(t, ds[0].Message, "crafts")

	ds = b.ctl.Preflight(t.Context(), b.ws, program)
	require.Len(t, ds, 1)
	assert.Equal(t, "preflight.tool.unknown", ds[0].Code)
	assert.Contains(t, ds[0].Message, `"weave"`)
	assert.Contains(t, ds[0].Hint, "knit, sew")

	_, err = b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "forging", "and a run does not start")
}

// flakyToolset is an optional server that is not there.
type flakyToolset struct{ agenttest.Toolset }

func (*flakyToolset) Optional() bool { return true }

func (*flakyToolset) Open(context.Context, agent.Scope) (agent.ToolSession, error) {
	return nil, errors.New("no route to it")
}

func TestAStepGoesOnWithoutAnOptionalServerAndIsToldSo(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	model := agenttest.New(t, agenttest.Reply("done"))
	b := setup(t, workflow.Config{
		Models: agent.Single(model), Logger: slog.New(slog.NewTextHandler(&log, nil)),
		Toolsets: []agent.Toolset{&flakyToolset{agenttest.Toolset{ID: "weather"}}},
	}, barePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Contains(t, model.Requests()[0].Messages[1].ContentText(), "not available at present; do without them:\n- weather")
	assert.Contains(t, log.String(), "no route to it")

	program, _, err := b.ctl.Compile(t.Context(), b.ws, nil)
	require.NoError(t, err)
	ds := b.ctl.Preflight(t.Context(), b.ws, program)
	require.Len(t, ds, 1)
	assert.Equal(t, workspace.SeverityNotice, ds[0].Severity)
}

func TestARequiredServerThatIsNotThereFailsTheStepWithItsWords(t *testing.T) {
	t.Parallel()
	b := setup(t, workflow.Config{Models: agent.Single(agenttest.New(t)), Toolsets: []agent.Toolset{failingToolset{}}}, barePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "server failing: ")
	assert.NotContains(t, err.Error(), "panic")
}

// leaving is an optional server that goes while it is used.
type leaving struct {
	agenttest.Toolset
	gone bool
}

func (*leaving) Optional() bool { return true }

func (*leaving) Sharing() agent.Sharing { return agent.SharePerRun }

func (l *leaving) Open(context.Context, agent.Scope) (agent.ToolSession, error) { return l, nil }

func (*leaving) Close() error { return nil }

func (l *leaving) Tools(context.Context) ([]agent.Tool, error) {
	if l.gone {
		return nil, errors.New("it has gone")
	}
	return []agent.Tool{&agenttest.Tool{Name: "forecast", Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		l.gone = true
		return agent.TextResult("rain"), nil
	}}}, nil
}

func TestTheToolsOfAnOptionalServerThatGoesAreGoneAtTheNextTurn(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t, agenttest.Call("forecast", nil), agenttest.Reply("done"))
	b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{&leaving{Toolset: agenttest.Toolset{ID: "weather"}}}}, barePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"forecast", "search_large_output"}, toolNames(model.Requests()[0]))
	assert.Empty(t, toolNames(model.Requests()[1]))
}

// growing is a server with a tool that adds another one.
type growing struct{ tools []agent.Tool }

func newGrowing() *growing {
	g := &growing{}
	g.tools = []agent.Tool{&agenttest.Tool{Name: "grow", Effect: agent.Idempotent, Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		g.tools = append(g.tools[:1:1], &agenttest.Tool{Name: "fruit", Effect: agent.ReadOnly, Do: returns("an apple")})
		return agent.TextResult("grown"), nil
	}}}
	return g
}

func (g *growing) Name() string { return "garden" }

func (g *growing) Sharing() agent.Sharing { return agent.SharePerGroup }

func (g *growing) Open(context.Context, agent.Scope) (agent.ToolSession, error) { return g, nil }

func (g *growing) Tools(context.Context) ([]agent.Tool, error) { return g.tools, nil }

func (g *growing) Close() error { return nil }

func TestAToolThatAServerAddsIsThereAtTheNextTurnAndAfterAResume(t *testing.T) {
	t.Parallel()
	garden := newGrowing()
	broken := errors.New("the line is dead")
	model := agenttest.New(t, agenttest.Call("grow", nil), agenttest.Call("fruit", nil), agenttest.Turn{Err: broken})
	config := workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{garden}, Retry: agent.NoRetry}
	b := setup(t, config, barePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorIs(t, err, broken)
	requests := model.Requests()
	require.Len(t, requests, 3)
	assert.Equal(t, []string{"grow", "search_large_output"}, toolNames(requests[0]))
	assert.Equal(t, []string{"grow", "fruit", "search_large_output"}, toolNames(requests[1]))

	// Another process, whose server has the tool from the start.
	next := agenttest.New(t, agenttest.Call("fruit", nil), agenttest.Reply("done"))
	config.Models = agent.Single(next)
	b.ctl, err = workflow.NewController(config)
	require.NoError(t, err)
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	last := next.Requests()[1]
	assert.Equal(t, []string{"grow", "fruit", "search_large_output"}, toolNames(last))
	assert.Equal(t, "an apple", last.Messages[len(last.Messages)-1].ContentText())
}

// unreachable is a server that does not start.
type unreachable struct{ agenttest.Toolset }

func (*unreachable) Open(context.Context, agent.Scope) (agent.ToolSession, error) {
	return nil, errors.New("no such program")
}

func TestAServerThatDoesNotStartFailsTheStepAndClosesTheOthers(t *testing.T) {
	t.Parallel()
	opened := &closing{Toolset: agenttest.Toolset{ID: "first"}}
	config := workflow.Config{
		Models:   agent.Single(agenttest.New(t)),
		Toolsets: []agent.Toolset{opened, &unreachable{agenttest.Toolset{ID: "second"}}},
	}
	b := setup(t, config, barePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorContains(t, err, "server second: no such program")
	assert.NotContains(t, err.Error(), "panic")
	assert.Equal(t, 1, opened.closed)
}

// closing is a server of each step that counts how often it is closed.
type closing struct {
	agenttest.Toolset
	closed int
}

func (c *closing) Open(context.Context, agent.Scope) (agent.ToolSession, error) { return c, nil }

func (*closing) Tools(context.Context) ([]agent.Tool, error) { return nil, nil }

func (c *closing) Close() error {
	c.closed++
	return nil
}

func TestAToolThatIsNamedAndNotOfferedIsRefusedByARunAsByPreflight(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ config, unknown string }{
		"of a server":   {`{"selected_tools":["crafts:weave","crafts:knit"]}`, "weave"},
		"of a category": {`{"enabled_custom_tools":["forging:bend"]}`, "bend"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var opened []agent.Scope
			config := workflow.Config{
				Models:      agent.Single(agenttest.New(t)),
				Toolsets:    []agent.Toolset{scopes("crafts", &opened, "knit", "sew")},
				CustomTools: []agent.Toolset{scopes("forging", &opened, "hammer")},
			}
			b := setup(t, config, `{"steps":[{"id":"a","type":"regular","description":"Do."}]}`,
				workspace.StepConfigFile, `{"steps":[{"id":"a","agent_configs":`+c.config+`}]}`)
			_, err := b.ctl.Run(t.Context(), b.ws, nil)
			var unknown *workflow.UnknownToolError
			require.ErrorAs(t, err, &unknown)
			assert.Equal(t, c.unknown, unknown.Name)
			assert.NotEmpty(t, unknown.Offered)
		})
	}
}

// listed is a toolset of a type that cannot be compared.
type listed struct{ tools []agent.Tool }

func (listed) Name() string { return "listed" }

func (l listed) Open(context.Context, agent.Scope) (agent.ToolSession, error) { return l, nil }

func (l listed) Tools(context.Context) ([]agent.Tool, error) { return l.tools, nil }

func (listed) Close() error { return nil }

func TestAToolsetMayBeOfAnyType(t *testing.T) {
	t.Parallel()
	config := workflow.Config{Models: agent.Single(agenttest.New(t, agenttest.Reply("a"), agenttest.Reply("b"))), Toolsets: []agent.Toolset{listed{}}}
	b := setup(t, config, `{"steps":[{"id":"a","type":"regular","description":"Do."},{"id":"b","type":"regular","description":"Do."}]}`)
	program, _, err := b.ctl.Compile(t.Context(), b.ws, nil)
	require.NoError(t, err)
	assert.Empty(t, b.ctl.Preflight(t.Context(), b.ws, program))
	_, err = b.ctl.Run(t.Context(), b.ws, nil)
	require.NoError(t, err)
}

// TestAChangeOfTheToolsOutlivesACrashBeforeTheNextReply is about a server that lives on,
// such as one that is reached over HTTP.
func TestAChangeOfTheToolsOutlivesACrashBeforeTheNextReply(t *testing.T) {
	t.Parallel()
	garden := newGrowing()
	broken := errors.New("the line is dead")
	model := agenttest.New(t, agenttest.Call("grow", nil), agenttest.Turn{Err: broken})
	config := workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{garden}, Retry: agent.NoRetry}
	b := setup(t, config, barePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorIs(t, err, broken)

	next := agenttest.New(t, agenttest.Call("fruit", nil), agenttest.Reply("done"))
	config.Models = agent.Single(next)
	b.ctl, err = workflow.NewController(config)
	require.NoError(t, err)
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, []string{"grow", "fruit", "search_large_output"}, toolNames(next.Requests()[0]))
	last := next.Requests()[1]
	assert.Equal(t, "an apple", last.Messages[len(last.Messages)-1].ContentText())
}

// TestToolsThatARestartedServerHasNotAreNotOfferedAfterAResume is about a server that
// starts anew with each process.
func TestToolsThatARestartedServerHasNotAreNotOfferedAfterAResume(t *testing.T) {
	t.Parallel()
	broken := errors.New("the line is dead")
	model := agenttest.New(t, agenttest.Call("grow", nil), agenttest.Call("fruit", nil), agenttest.Turn{Err: broken})
	config := workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{newGrowing()}, Retry: agent.NoRetry}
	b := setup(t, config, barePlan)
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.ErrorIs(t, err, broken)

	next := agenttest.New(t, agenttest.Call("grow", nil), agenttest.Call("fruit", nil), agenttest.Reply("done"))
	config.Models, config.Toolsets = agent.Single(next), []agent.Toolset{newGrowing()}
	b.ctl, err = workflow.NewController(config)
	require.NoError(t, err)
	_, err = b.ctl.Run(t.Context(), b.ws, resume("iteration-1"))
	require.NoError(t, err)
	assert.Equal(t, []string{"grow", "search_large_output"}, toolNames(next.Requests()[0]))
	assert.Equal(t, []string{"grow", "fruit", "search_large_output"}, toolNames(next.Requests()[1]))
}

// slowToClose is a server that ends when all others are being closed too.
type slowToClose struct {
	agenttest.Toolset
	together *sync.WaitGroup
	sharing  agent.Sharing
}

func (s *slowToClose) Sharing() agent.Sharing { return s.sharing }

func (s *slowToClose) Open(context.Context, agent.Scope) (agent.ToolSession, error) { return s, nil }

func (*slowToClose) Tools(context.Context) ([]agent.Tool, error) { return nil, nil }

func (s *slowToClose) Close() error {
	s.together.Done()
	s.together.Wait()
	return nil
}

func TestServersAreClosedSideBySide(t *testing.T) {
	t.Parallel()
	for _, sharing := range []agent.Sharing{agent.SharePerRun, agent.SharePerStep} {
		var together sync.WaitGroup
		together.Add(3)
		config := workflow.Config{Models: agent.Single(agenttest.New(t, agenttest.Reply("done")))}
		for _, name := range []string{"a", "b", "c"} {
			config.Toolsets = append(config.Toolsets, &slowToClose{agenttest.Toolset{ID: name}, &together, sharing})
		}
		b := setup(t, config, barePlan)
		_, err := b.ctl.Run(t.Context(), b.ws, nil)
		require.NoError(t, err)
	}
}
