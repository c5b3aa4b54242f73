package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// faultyLoom is a loom with one thing wrong.
type faultyLoom struct {
	loom
	defect string
	number int64 // of the toolset
	asked  atomic.Int64

	shared agent.ToolSession
	once   sync.Once
	calls  int
}

var loomsMade atomic.Int64

func newFaultyLoom(defect string) *faultyLoom {
	return &faultyLoom{loom: *newLoom(), defect: defect, number: loomsMade.Add(1)}
}

func (f *faultyLoom) has(defect string) bool { return f.defect == defect }

func (f *faultyLoom) Name() string {
	switch f.defect {
	case "no name":
		return ""
	case "a colon in its name":
		return "loom:main"
	case "a name of the day":
		return fmt.Sprintf("loom-%d", f.asked.Add(1))
	case "a name by number":
		return fmt.Sprintf("loom-%d", f.number)
	}
	return "loom"
}

func (f *faultyLoom) Sharing() agent.Sharing {
	switch {
	case f.has("changes its sharing"):
		return agent.Sharing(f.asked.Add(1) % 2)
	case f.has("an unknown sharing"):
		return 7
	}
	return agent.SharePerGroup
}

var loomAliases = []string{"weaving", "looms"}

func (f *faultyLoom) Aliases() []string {
	switch f.defect {
	case "a colon in an alias":
		return []string{"loom:two"}
	case "shares its aliases":
		return loomAliases
	}
	return slices.Clone(loomAliases)
}

func (f *faultyLoom) Optional() bool { return !f.has("optional by number") || f.number%2 == 0 }

func (f *faultyLoom) Open(ctx context.Context, scope agent.Scope) (agent.ToolSession, error) {
	switch f.defect {
	case "opens nothing":
		return nil, nil
	case "hangs at a canceled start":
		if ctx.Err() != nil {
			select {}
		}
	case "an unclear failed start":
		if ctx.Err() != nil {
			return nil, errors.New("the loom is not ready")
		}
	case "leaks at a canceled start":
		if ctx.Err() != nil {
			go func() { select {} }()
		}
	case "needs a step":
		if scope.RunID == "" {
			return nil, errors.New("there is no run")
		}
	case "one session for all":
		f.once.Do(func() { f.shared, _ = f.loom.Open(context.WithoutCancel(ctx), scope) })
		return f.shared, nil
	}
	inner, err := f.loom.Open(ctx, scope)
	if err != nil {
		return nil, err
	}
	return &faultySession{ToolSession: inner, loom: f, start: ctx, closing: make(chan struct{})}, nil
}

type faultySession struct {
	agent.ToolSession
	loom    *faultyLoom
	start   context.Context
	listed  atomic.Int64
	closed  atomic.Int64
	closing chan struct{}
	dead    atomic.Bool
	list    []agent.Tool
	once    sync.Once
	answers sync.Map
}

func (s *faultySession) has(defect string) bool { return s.loom.has(defect) }

func (s *faultySession) Tools(ctx context.Context) ([]agent.Tool, error) {
	if s.has("lists after Close") && s.closed.Load() > 0 {
		return nil, nil
	}
	inner, err := s.ToolSession.Tools(ctx)
	if err != nil {
		return nil, err
	}
	tools := make([]agent.Tool, len(inner))
	for i, tool := range inner {
		tools[i] = &faultyTool{Tool: tool, session: s, spec: tool.Spec()}
	}
	switch listed := s.listed.Add(1); {
	case s.has("lists in any order") && listed%2 == 0, s.has("lists by number") && s.loom.number%2 == 0:
		slices.Reverse(tools)
	case s.has("forgets a tool"):
		tools = tools[:3]
	case s.has("shares its list"):
		s.once.Do(func() { s.list = tools })
		return s.list, nil
	case s.has("a nil tool"):
		tools[3] = nil
	}
	return tools, nil
}

func (s *faultySession) Close() error {
	times := s.closed.Add(1)
	switch {
	case s.has("closes once") && times > 1:
		return errors.New("it is closed")
	case s.has("panics at the second Close"):
		close(s.closing)
	case s.has("hangs at the second Close") && times > 1:
		select {}
	case s.has("leaves a goroutine") && times == 1:
		go func() { select {} }()
	case s.has("leaves calls running"), s.has("never closes"):
		return nil
	case s.has("lets calls be done first"):
		<-s.closing
	}
	return s.ToolSession.Close()
}

type faultyTool struct {
	agent.Tool
	session *faultySession
	spec    agent.ToolSpec
	asked   atomic.Int64
}

func (t *faultyTool) has(defect string) bool { return t.session.has(defect) }

func (t *faultyTool) Spec() agent.ToolSpec {
	if t.has("shares its schema") {
		return t.spec
	}
	spec := t.Tool.Spec()
	if spec.Name == "list" {
		switch t.session.loom.defect {
		case "a name that endpoints refuse":
			spec.Name = "list.all"
		case "two tools of one name":
			spec.Name = "cut"
		case "two tools of one origin":
			spec.Origin = "cut"
		case "forgets an origin":
			spec.Name = "loom__list"
		}
	}
	if t.spec.Name == "weave" {
		switch t.session.loom.defect {
		case "a schema that is no JSON":
			spec.InputSchema = json.RawMessage(`{"type":`)
		case "a schema of a string":
			spec.InputSchema = json.RawMessage(`{"type":"string"}`)
		case "a schema without a type":
			spec.InputSchema = json.RawMessage(`{"properties":{}}`)
		case "a schema that allows everything":
			spec.InputSchema = json.RawMessage(`true`)
		case "a schema that does not compile":
			spec.InputSchema = json.RawMessage(`{"type":"object","required":"thread"}`)
		case "a schema that lies elsewhere":
			spec.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}`)
		case "an unknown effect":
			spec.Effect = "harmless"
		case "another description each time":
			spec.Description = fmt.Sprint(t.asked.Add(1))
		case "another description once closed":
			spec.Description = fmt.Sprint(t.session.closed.Load() > 0)
		}
	}
	return spec
}

// Call has a case for each defect of a call.
func (t *faultyTool) Call(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	if t.session.dead.Load() {
		return nil, errors.New("the loom is broken")
	}
	inner := ctx
	switch t.session.loom.defect {
	case "ends with the context of its start":
		if t.session.start.Err() != nil {
			return nil, t.session.start.Err()
		}
	case "refuses absent arguments":
		if len(call.Arguments) == 0 {
			return nil, errors.New("there are no arguments")
		}
	case "tells null from nothing":
		if string(call.Arguments) == "null" {
			return agent.TextResult("nothing"), nil
		}
	case "changes its call":
		call.Arguments[len(call.Arguments)-1] = ' '
		defer func() { call.Arguments[len(call.Arguments)-1] = '}' }()
		call.Key += "!"
	case "writes behind the arguments":
		_ = append(call.Arguments, '\n')
	case "ignores a context that has ended":
		if ctx.Err() != nil {
			inner = context.WithoutCancel(ctx)
		}
	case "ignores the caller":
		inner = context.WithoutCancel(ctx)
	case "breaks at a canceled call":
		defer func() { t.session.dead.CompareAndSwap(false, ctx.Err() != nil && t.spec.Name == "wait") }()
	case "one at a time":
		if t.session.closed.Load() == 0 && t.spec.Name == "weave" {
			if _, busy := t.session.answers.LoadOrStore("busy", true); busy {
				return nil, errors.New("the loom is busy")
			}
			defer t.session.answers.Delete("busy")
			<-time.After(time.Millisecond) // long enough to meet another
		}
	case "counts without a lock":
		t.session.loom.calls++
	case "works after Close", "leaves calls running":
		if t.session.closed.Load() > 0 && t.spec.Name == "weave" {
			return weave(ctx, call)
		}
	case "hangs after Close":
		if t.session.closed.Load() > 0 {
			<-ctx.Done()
		}
	case "panics after Close":
		if t.session.closed.Load() > 0 {
			panic("the loom is gone")
		}
	}
	result, err := t.Tool.Call(inner, call)
	return t.spoil(ctx, result, err)
}

// spoil has a case for each defect of what a call returns.
func (t *faultyTool) spoil(ctx context.Context, result *agent.ToolResult, err error) (*agent.ToolResult, error) {
	switch t.session.loom.defect {
	case "returns nothing":
		return nil, err
	case "leaves a goroutine a call":
		go func() { select {} }()
	}
	switch {
	case err != nil:
		return t.spoilEnd(ctx, err)
	case result.IsError:
		return t.spoilFailure(result)
	}
	switch t.session.loom.defect {
	case "structured text":
		result.Structured = json.RawMessage("wove")
	case "text that is no text":
		result.Content = append(result.Content, agent.Part{Type: agent.PartText, Text: "\xff"})
	case "an unknown part":
		result.Content = append(result.Content, agent.Part{Type: "cloth"})
	case "swaps answers":
		if strings.Contains(result.Text(), "thread-0") {
			result.Content = agent.Text("wove thread-15")
		}
	}
	return result, nil
}

func (t *faultyTool) spoilEnd(ctx context.Context, err error) (*agent.ToolResult, error) {
	switch t.session.loom.defect {
	case "hides cancellation":
		return nil, errors.New("something went wrong")
	case "takes cancellation for success":
		if ctx.Err() == nil {
			return agent.TextResult("stopped"), nil
		}
	case "ends calls with a panic":
		if t.spec.Name == "wait" {
			panic("the shuttle is lost")
		}
	}
	return nil, err
}

func (t *faultyTool) spoilFailure(result *agent.ToolResult) (*agent.ToolResult, error) {
	switch t.session.loom.defect {
	case "hides failures":
		result.IsError = false
	case "fails without a word":
		result.Content = nil
	case "takes failures for the end of the context":
		return nil, context.Canceled
	case "takes failures for errors":
		return nil, errors.New(result.Text())
	case "suspends at failures":
		return nil, &agent.SuspendError{}
	case "breaks at a failure":
		t.session.dead.Store(true)
	}
	return result, nil
}
