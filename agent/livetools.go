package agent

import (
	"bytes"
	"context"
	"slices"
)

// LiveTools are the tools of an agent whose servers may change their lists while it
// works. What the model is given changes between two of its calls only, and a change is
// recorded with the reply, so that a [Loop] that resumes gives each turn the tools
// that it had. It serves one loop at a time, and may serve several one after another.
type LiveTools struct {
	list  func(ctx context.Context) ([]Tool, error)
	given []Tool
	seen  []ToolSpec // of the last list that given was made from
}

// NewLiveTools returns tools that begin as given and follow list from then on. Given
// may differ from what list says at first, such as when an earlier process gave it;
// what counts is a change of list after this call, whose tools are listed. The list
// is asked for before each model call and should be quick; names are unique in it.
func NewLiveTools(given, listed []Tool, list func(ctx context.Context) ([]Tool, error)) *LiveTools {
	return &LiveTools{list: list, given: given, seen: ToolSpecs(listed)}
}

// ResumeLiveTools is as [NewLiveTools] for an agent that was given tools by an earlier
// process. Each is served by the one of its name among those listed now. When tools have
// come or gone since, that is a change.
func ResumeLiveTools(given []ToolSpec, listed []Tool, list func(ctx context.Context) ([]Tool, error)) *LiveTools {
	return &LiveTools{list: list, given: PinTools(given, listed), seen: seenTools(given, listed)}
}

// refresh takes over a change of the list, and returns the specs when there is one.
func (r *run) refresh(ctx context.Context) ([]ToolSpec, error) {
	if r.Live == nil {
		return nil, nil
	}
	now, err := r.Live.list(ctx)
	if err != nil {
		return nil, err
	}
	specs := ToolSpecs(now)
	if slices.EqualFunc(specs, r.Live.seen, equalSpecs) {
		return nil, nil
	}
	if err := r.give(now); err != nil {
		return nil, err
	}
	r.Live.seen = specs
	return specs, nil
}

// refreshRecorded gives the model what it was given in a recorded call. A server that
// has started anew since may not have all of it: that is a change, which the next call
// of the model takes over.
func (r *run) refreshRecorded(ctx context.Context, specs []ToolSpec) error {
	live := r.Tools
	if r.Live != nil {
		var err error
		if live, err = r.Live.list(ctx); err != nil {
			return err
		}
		r.Live.seen = seenTools(specs, live)
	}
	return r.give(PinTools(specs, live))
}

// seenTools are the specs that a change of the list is to be measured by, for an agent
// that was given tools in an earlier process: those it was given when tools have come or
// gone since, so that it learns of it at its next model call, else those listed now. That
// a tool of the same name is described otherwise, as by another version of the host, is no
// change.
func seenTools(given []ToolSpec, listed []Tool) []ToolSpec {
	now := ToolSpecs(listed)
	names := make(map[string]bool, len(given))
	for i := range given {
		names[given[i].Name] = true
	}
	for i := range now {
		if !names[now[i].Name] {
			return given
		}
	}
	if len(now) != len(names) {
		return given
	}
	return now
}

func (r *run) give(tools []Tool) (err error) {
	if r.tools, err = newToolbox(tools, r.OnUnchecked); err == nil && r.Live != nil {
		r.Live.given = tools
	}
	return err
}

func equalSpecs(a, b ToolSpec) bool {
	return a.Name == b.Name && a.Description == b.Description && a.Effect == b.Effect && a.Origin == b.Origin &&
		bytes.Equal(a.InputSchema, b.InputSchema)
}

// ToolSpecs returns the spec of each tool, never nil.
func ToolSpecs(tools []Tool) []ToolSpec {
	specs := make([]ToolSpec, len(tools))
	for i, tool := range tools {
		specs[i] = tool.Spec()
	}
	return specs
}

// PinTools returns tools with exactly the given specs, each served by the live tool
// of its name. One that has no live tool answers every call with a failed result that
// says so.
func PinTools(specs []ToolSpec, live []Tool) []Tool {
	byName := make(map[string]Tool, len(live))
	for _, tool := range live {
		byName[tool.Spec().Name] = tool
	}
	pinned := make([]Tool, len(specs))
	for i, spec := range specs {
		pinned[i] = pinnedTool{spec: spec, tool: byName[spec.Name]}
	}
	return pinned
}

type pinnedTool struct {
	spec ToolSpec
	tool Tool // nil when it is gone
}

func (t pinnedTool) Spec() ToolSpec { return t.spec }

func (t pinnedTool) Call(ctx context.Context, call *ToolCall) (*ToolResult, error) {
	if t.tool == nil {
		return ErrorResult(t.spec.Name + " is not available any more; go on without it"), nil
	}
	return t.tool.Call(ctx, call)
}
