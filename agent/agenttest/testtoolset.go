package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// ToolsetTest is a toolset under test, for [TestToolset]. New and Success are
// needed; the zero value of everything else works.
type ToolsetTest struct {
	// New returns the toolset. It is called many times, also from tests that run side
	// by side, and configures it the same way each time; what needs cleaning up is
	// cleaned up with the test.
	New func(t *testing.T) agent.Toolset
	// Scope returns the scope to open sessions for, once a test. Nil is a scope over a
	// workspace in memory, with the step, its work folder and a guard over that folder
	// where the toolset is shared by no steps.
	Scope func(t *testing.T) agent.Scope

	// Success is a call that succeeds in every session, as often as it is made.
	Success ToolCase
	// Failure is a call that the tool refuses, such as one for a file that there is
	// not. The zero value leaves its test out.
	Failure ToolCase
	// FailureIsError says that Failure is told by an error of Call, of which the loop
	// makes a failed result, and not by a failed result.
	FailureIsError bool
	// Slow is a call that outlasts Timeout unless its context ends. The zero value
	// leaves its tests out.
	Slow ToolCase
	// Bare is a tool that needs no arguments, and returns the same each time. Empty
	// leaves its test out.
	Bare string
	// Each returns the i-th of the calls that are made side by side, with a Want of its
	// own, so that answers that go to the wrong call are seen. Nil makes Success.
	Each func(i int) ToolCase
	// Serial says that calls of one session wait for each other, or cannot succeed side
	// by side. They are then made one after the other.
	Serial bool

	// Names are the tools' names, and Origins their names inside the toolset, both in
	// the order of the list. Nil expects nothing.
	Names, Origins []string

	// Timeout bounds each wait for the toolset. 0 is 10 seconds.
	Timeout time.Duration
}

// ToolCase is a call of a tool, for [ToolsetTest].
type ToolCase struct {
	// Tool is the tool's name, or its name inside the toolset where no tool has that
	// name.
	Tool string
	// Arguments is a JSON object that fits the tool's schema. Empty is {}.
	Arguments string
	// Want is in the text that the call returns, or in its error's. Empty expects
	// nothing.
	Want string
}

// TestToolset checks that a toolset keeps the promises of [agent.Toolset],
// [agent.ToolSession] and [agent.Tool]: names and schemas that model endpoints take,
// the same list each time, specs that are the caller's own, failures that a model can
// read, prompt cancellation that leaves the session usable, concurrent use, sessions
// that live from Open to Close whatever becomes of the context of Open, and a Close
// that ends calls, refuses later ones and leaves nothing behind. What only the race
// detector sees needs -race.
func TestToolset(t *testing.T, cfg ToolsetTest) {
	t.Helper()
	if cfg.New == nil || cfg.Success.Tool == "" {
		t.Fatal("ToolsetTest needs New and Success")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = 10 * time.Second
	}
	s := &toolsetSuite{cfg}
	for _, c := range s.checks() {
		if c.without {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
}

type toolsetCheck struct {
	name    string
	run     func(t *testing.T)
	without bool // there is no case for it
}

func (s *toolsetSuite) checks() []toolsetCheck {
	return []toolsetCheck{
		{name: "the name can be selected", run: s.name},
		{name: "what a toolset says of itself never changes", run: s.sides},
		{name: "tools have names that endpoints take", run: s.toolNames},
		{name: "the list is the same each time", run: s.sameList},
		{name: "input schemas are of an object", run: s.inputSchemas},
		{name: "specs stay as they are", run: s.specs},
		{name: "what a caller changes is its own", run: s.ownValues},

		{name: "a call succeeds", run: s.success},
		{name: "a refused call is a failure that can be read", run: s.failure, without: s.Failure.Tool == ""},
		{name: "no arguments are an empty object", run: s.bare, without: s.Bare == ""},
		{name: "a context that has ended makes no call", run: s.endedContext},
		{name: "canceling ends a call and no more", run: s.cancelCall, without: s.Slow.Tool == ""},
		{name: "a deadline ends a call", run: s.deadline, without: s.Slow.Tool == ""},
		{name: "calls can be made side by side", run: s.sideBySide},

		{name: "sessions are independent", run: s.independentSessions},
		{name: "the context of the start ends nothing later", run: s.startContext},
		{name: "a start that is canceled leaves nothing", run: s.canceledStart},
		{name: "closing meets calls", run: s.closeMeetsCalls},
		{name: "closing ends a call under way", run: s.closeEndsCall, without: s.Slow.Tool == ""},
		{name: "a closed session refuses", run: s.closedRefuses},
		{name: "closing again is fine", run: s.closeAgain},
		{name: "closing leaves nothing", run: s.closeLeavesNothing},
	}
}

type toolsetSuite struct {
	ToolsetTest
}

// underTest is a toolset with the scope of a test.
type underTest struct {
	*toolsetSuite
	agent.Toolset
	scope agent.Scope
}

func (s *toolsetSuite) start(t *testing.T) *underTest {
	t.Helper()
	u := &underTest{toolsetSuite: s, Toolset: s.New(t)}
	if u.Toolset == nil {
		t.Fatal("ToolsetTest.New returned no toolset")
	}
	if s.Scope != nil {
		u.scope = s.Scope(t)
		return u
	}
	const run, step = "iteration-1", "under-test"
	u.scope = agent.Scope{Workspace: workspace.New(workspace.NewMem()), RunID: "01JTEST0000000000000000000", RunFolder: run}
	if sharing(u.Toolset) == agent.SharePerStep {
		u.scope.Step = step
		u.scope.WorkDir = workspace.RunLayout(run).Work(step + "/visit/1")
		u.scope.Guard = &workspace.Guard{Write: []string{u.scope.WorkDir}}
	}
	return u
}

func sharing(ts agent.Toolset) agent.Sharing {
	if sharer, ok := ts.(agent.Sharer); ok {
		return sharer.Sharing()
	}
	return agent.SharePerStep
}

// open opens a session that is closed when the test ends.
func (u *underTest) open(t *testing.T) agent.ToolSession {
	t.Helper()
	return u.openFor(t.Context(), t, u.scope)
}

func (u *underTest) openFor(ctx context.Context, t *testing.T, scope agent.Scope) agent.ToolSession {
	t.Helper()
	session, err := u.tryOpen(ctx, t, scope)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	return session
}

func (u *underTest) tryOpen(ctx context.Context, t *testing.T, scope agent.Scope) (agent.ToolSession, error) {
	t.Helper()
	session, err := inTime(t, u.Timeout, "Open", func() (agent.ToolSession, error) { return u.Open(ctx, scope) })
	switch {
	case err != nil:
		return nil, err
	case session == nil:
		t.Fatal("Open returned neither a session nor an error")
	}
	t.Cleanup(func() { _ = u.close(t, session) }) // a failed Close has a test of its own
	return session, nil
}

func (s *toolsetSuite) close(t *testing.T, session agent.ToolSession) error {
	t.Helper()
	_, err := inTime(t, s.Timeout, "Close", func() (struct{}, error) { return struct{}{}, session.Close() })
	return err
}

func (s *toolsetSuite) mustClose(t *testing.T, session agent.ToolSession) {
	t.Helper()
	if err := s.close(t, session); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func (s *toolsetSuite) tools(t *testing.T, session agent.ToolSession) []agent.Tool {
	t.Helper()
	tools, err := inTime(t, s.Timeout, "Tools", func() ([]agent.Tool, error) { return session.Tools(t.Context()) })
	if err != nil {
		t.Fatalf("Tools: %v", err)
	}
	for i, tool := range tools {
		if tool == nil {
			t.Fatalf("tool %d of the list is nil", i)
		}
	}
	return tools
}

func specsOf(tools []agent.Tool) []agent.ToolSpec {
	specs := make([]agent.ToolSpec, len(tools))
	for i, tool := range tools {
		specs[i] = tool.Spec()
	}
	return specs
}

// find returns the tool of a case.
func (s *toolsetSuite) find(t *testing.T, session agent.ToolSession, name string) agent.Tool {
	t.Helper()
	return pick(t, s.tools(t, session), name)
}

func pick(t *testing.T, tools []agent.Tool, name string) agent.Tool {
	t.Helper()
	specs := specsOf(tools)
	i := slices.IndexFunc(specs, func(spec agent.ToolSpec) bool { return spec.Name == name })
	if i < 0 {
		i = slices.IndexFunc(specs, func(spec agent.ToolSpec) bool { return spec.OriginName() == name })
	}
	if i < 0 {
		names := make([]string, len(specs))
		for i := range specs {
			names[i] = specs[i].Name
		}
		t.Fatalf("there is no tool %q; there are: %s", name, strings.Join(names, ", "))
	}
	return tools[i]
}

// toolCall is a call as the loop makes it.
func (c *ToolCase) toolCall(tool agent.Tool) *agent.ToolCall {
	arguments := c.Arguments
	if arguments == "" {
		arguments = "{}"
	}
	return &agent.ToolCall{
		ID: "call_1", Name: tool.Spec().Name, Arguments: json.RawMessage(arguments),
		Key:   "under-test/visit/1/attempt/1/turn/1/tool/1",
		Extra: map[string]json.RawMessage{"signature": json.RawMessage(`"kept"`)},
	}
}

// call makes a call that must end in time.
func (s *toolsetSuite) call(ctx context.Context, t *testing.T, tool agent.Tool, c *ToolCase) (*agent.ToolResult, error) {
	t.Helper()
	return inTime(t, s.Timeout, "Call of "+c.Tool, func() (*agent.ToolResult, error) { return tool.Call(ctx, c.toolCall(tool)) })
}

// works checks that a session can be used.
func (s *toolsetSuite) works(t *testing.T, session agent.ToolSession, when string) {
	t.Helper()
	tools, err := inTime(t, s.Timeout, "Tools", func() ([]agent.Tool, error) { return session.Tools(t.Context()) })
	if err != nil {
		t.Fatalf("%s: Tools: %v", when, err)
	}
	result, err := s.call(t.Context(), t, pick(t, tools, s.Success.Tool), &s.Success)
	if problem := s.Success.failed(result, err); problem != "" {
		t.Errorf("%s: the call of Success %s", when, problem)
	}
}

// failed says why a call is not the success that it should be, or nothing.
func (c *ToolCase) failed(result *agent.ToolResult, err error) string {
	switch {
	case err != nil:
		return fmt.Sprintf("returned the error %v", err)
	case result == nil:
		return "returned neither a result nor an error"
	case result.IsError:
		return fmt.Sprintf("returned the failed result %q", result.Text())
	case !strings.Contains(result.Text(), c.Want):
		return fmt.Sprintf("returned %q, without %q", result.Text(), c.Want)
	}
	return ""
}
