package workflow

import (
	"context"
	"encoding/json"

	"github.com/treadle-dev/treadle/agent"
)

// given is what the agent of a visit is told and may call. It is recorded before
// the first model call and used again after a resume, whatever the library's
// prompts or the host's tools are then. Which model serves it is not part of it: a
// resume may use another one.
type given struct {
	Messages []agent.Message  `json:"messages"`
	Tools    []agent.ToolSpec `json:"tools,omitempty"`
}

// recallGiven takes what the agent is given from the journal, or makes and
// records it.
func (r *regularVisit) recallGiven(tools []agent.Tool) (*given, error) {
	sc := r.sc
	scope, err := sc.journal()
	if err != nil {
		return nil, err
	}
	g := &given{}
	if data, ok, err := scope.Recorded("given"); err != nil {
		return nil, err
	} else if ok {
		return g, json.Unmarshal(data, g)
	}
	if g.Messages, err = sc.messages(); err != nil {
		return nil, err
	}
	for _, tool := range tools {
		g.Tools = append(g.Tools, tool.Spec())
	}
	data, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	if redactor := sc.run.ctl.redactor; redactor != nil {
		// The agent is given what the record says, and nothing secret.
		data = redactor.JSON(data)
		g = &given{}
		if err := json.Unmarshal(data, g); err != nil {
			return nil, err
		}
	}
	return g, scope.Note("given", data)
}

// pinTools gives the recorded tools, by the specs recorded, whatever the servers
// say now. One that is gone answers that it is.
func pinTools(specs []agent.ToolSpec, live []agent.Tool) []agent.Tool {
	byName := make(map[string]agent.Tool, len(live))
	for _, tool := range live {
		byName[tool.Spec().Name] = tool
	}
	pinned := make([]agent.Tool, len(specs))
	for i, spec := range specs {
		pinned[i] = pinnedTool{spec: spec, tool: byName[spec.Name]}
	}
	return pinned
}

type pinnedTool struct {
	spec agent.ToolSpec
	tool agent.Tool // nil when it is gone
}

func (t pinnedTool) Spec() agent.ToolSpec { return t.spec }

func (t pinnedTool) Call(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	if t.tool == nil {
		return agent.ErrorResult(t.spec.Name + " is not available any more; go on without it"), nil
	}
	return t.tool.Call(ctx, call)
}
