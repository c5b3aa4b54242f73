package agent

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// toolbox is the tools of one loop by name.
type toolbox struct {
	byName map[string]*boxedTool
	specs  []ToolSpec
}

// boxedTool is a tool with what the loop knows of it.
type boxedTool struct {
	tool  Tool
	spec  *ToolSpec
	input inputCheck
}

func newToolbox(tools []Tool, onUnchecked func(string, error)) (*toolbox, error) {
	b := &toolbox{byName: make(map[string]*boxedTool, len(tools)), specs: make([]ToolSpec, len(tools))}
	for i, tool := range tools {
		b.specs[i] = tool.Spec()
		spec := &b.specs[i]
		if !toolName.MatchString(spec.Name) {
			return nil, fmt.Errorf("tool name %q: a model endpoint takes 1 to 64 letters, digits, \"_\" and \"-\"", spec.Name)
		}
		if _, taken := b.byName[spec.Name]; taken {
			return nil, fmt.Errorf("two tools are called %q", spec.Name)
		}
		b.byName[spec.Name] = &boxedTool{
			tool: tool, spec: spec,
			input: inputCheck{tool: spec.Name, source: spec.InputSchema, onUnchecked: onUnchecked},
		}
	}
	return b, nil
}

// unknown is what the model is told of a tool that it may not call.
func (b *toolbox) unknown(name string) *ToolResult {
	if len(b.specs) == 0 {
		return ErrorResult(fmt.Sprintf("tool_not_allowed: there is no tool %q here. This step has no tools; answer in text.", name))
	}
	names := make([]string, len(b.specs))
	for i := range b.specs {
		names[i] = b.specs[i].Name
	}
	slices.Sort(names)
	return ErrorResult(fmt.Sprintf("tool_not_allowed: there is no tool %q here. You may use: %s.", name, strings.Join(names, ", ")))
}
