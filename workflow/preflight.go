package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// Preflight checks what needs the outside: it opens every toolset that a step
// selects, looks for the tools that are selected by name, and closes them again.
// Toolsets that the host does not have are left to [Controller.CheckSelections].
// A toolset whose check outlasts the context is reported as one that failed.
func (c *Controller) Preflight(ctx context.Context, ws *workspace.Workspace, p *Program) workspace.Diagnostics {
	var ds workspace.Diagnostics
	for _, ts := range c.config.Toolsets {
		uses := p.usesOf(ts, c.config.Toolsets)
		if len(uses) == 0 {
			continue
		}
		specs, err := offeredBy(ctx, ts, ws)
		if err != nil {
			ds = append(ds, workspace.Diagnostic{
				Code: "preflight.server.failed", Severity: workspace.SeverityError, File: uses[0].file, Pointer: uses[0].pointer,
				Message: c.redactor.Text(fmt.Sprintf("server %s: %v", ts.Name(), err)),
				Hint:    "mend the server, or do not select it",
			})
			continue
		}
		for _, u := range uses {
			ds = append(ds, u.missingTools(ts, specs)...)
		}
	}
	return ds
}

// use is a selection that a toolset is in, and where it is written.
type use struct {
	agent.Selection
	file, pointer string
}

// usesOf are the different selections of a toolset by the steps, in plan order.
func (p *Program) usesOf(ts agent.Toolset, all []agent.Toolset) []use {
	var uses []use
	for _, s := range p.steps {
		u := use{Selection: p.selection(s), file: workspace.SettingsFile, pointer: "/capabilities"}
		if s.config != nil && len(s.config.SelectedServers)+len(s.config.SelectedTools) > 0 {
			u.file, u.pointer = p.configFile, s.configPointer
		}
		selected, err := u.Toolsets(all)
		if err != nil || !slices.Contains(selected, ts) {
			continue
		}
		known := func(other use) bool { return other.file == u.file && other.pointer == u.pointer }
		if !slices.ContainsFunc(uses, known) {
			uses = append(uses, u)
		}
	}
	return uses
}

func offeredBy(ctx context.Context, ts agent.Toolset, ws *workspace.Workspace) (specs []agent.ToolSpec, err error) {
	session, err := ts.Open(ctx, agent.Scope{Workspace: ws})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	tools, err := session.Tools(ctx)
	if err != nil {
		return nil, err
	}
	for _, tool := range tools {
		specs = append(specs, tool.Spec())
	}
	return specs, nil
}

// missingTools reports the tools of a toolset that are selected by name and that
// it does not offer.
func (u *use) missingTools(ts agent.Toolset, specs []agent.ToolSpec) (ds workspace.Diagnostics) {
	for _, pattern := range u.Tools {
		server, tool, _ := strings.Cut(pattern, ":")
		if tool == "" || tool == "*" {
			continue
		}
		only := agent.Selection{Tools: []string{pattern}}
		of := agent.Selection{Servers: []string{server}}
		if _, err := of.Toolsets([]agent.Toolset{ts}); err != nil {
			continue // of another toolset
		}
		if slices.ContainsFunc(specs, func(spec agent.ToolSpec) bool { return only.Allows(ts.Name(), spec) }) {
			continue
		}
		names := make([]string, len(specs))
		for i, spec := range specs {
			names[i] = spec.OriginName()
		}
		ds = append(ds, workspace.Diagnostic{
			Code: "preflight.tool.unknown", Severity: workspace.SeverityError, File: u.file, Pointer: u.pointer,
			Message: fmt.Sprintf("server %s offers no tool %q", ts.Name(), tool),
			Hint:    "it offers: " + strings.Join(names, ", "),
		})
	}
	return ds
}
