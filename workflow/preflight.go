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
// A toolset whose check outlasts the context is reported as one that failed; one
// that is optional and fails is a notice.
func (c *Controller) Preflight(ctx context.Context, ws *workspace.Workspace, p *Program) workspace.Diagnostics {
	var ds workspace.Diagnostics
	for _, uses := range c.usesOf(p) {
		ts := uses[0].toolset
		specs, err := offeredBy(ctx, ts, ws)
		if err != nil {
			ds = append(ds, c.unavailable(&uses[0], err))
			continue
		}
		for _, u := range uses {
			ds = append(ds, u.missingTools(specs)...)
		}
	}
	p.source.locate(ds)
	return ds
}

// CheckDatabase reports every step whose validation asks the database when the host
// has given none. It is offline; a run that starts does the same.
func (c *Controller) CheckDatabase(p *Program) workspace.Diagnostics {
	if c.config.Database != nil {
		return nil
	}
	var ds workspace.Diagnostics
	for _, s := range p.steps {
		if s.checker.NeedsDatabase() {
			ds = append(ds, finding(codeDatabaseMissing, s.schemaFile, s.schemaPointer+"/db",
				fmt.Sprintf("the validation of step %s asks the database, and the host has given none", s.id), ""))
		}
	}
	p.source.locate(ds)
	return ds
}

func (c *Controller) unavailable(u *use, err error) workspace.Diagnostic {
	d := finding(codeServerFailed, u.file, u.pointer, c.redactor.Text(fmt.Sprintf("server %s: %v", u.toolset.Name(), err)), "")
	if optional(u.toolset) {
		d.Severity, d.Hint = workspace.SeverityNotice, "it is optional: steps go on without it"
	}
	return d
}

// use is a selected toolset, and where that is written.
type use struct {
	selectedToolset
	file, pointer string
}

// usesOf are the different selections of each toolset by the steps, in plan order,
// for the toolsets in the order in which they first occur.
func (c *Controller) usesOf(p *Program) [][]use {
	var uses [][]use
	for _, s := range p.steps {
		selected, err := c.selected(selectionOf(s.effective))
		if err != nil {
			continue
		}
		file, pointer := workspace.SettingsFile, "/capabilities"
		if s.config != nil && len(s.config.SelectedServers)+len(s.config.SelectedTools)+len(s.config.EnabledCustomTools) > 0 {
			file, pointer = p.configFile, s.configPointer
		}
		for _, ts := range selected {
			uses = addUse(uses, use{ts, file, pointer})
		}
	}
	return uses
}

func addUse(uses [][]use, u use) [][]use {
	for i, same := range uses {
		// Names are unique among servers, and among categories. The toolsets themselves
		// may be of a type that cannot be compared.
		if same[0].custom != u.custom || same[0].toolset.Name() != u.toolset.Name() {
			continue
		}
		known := func(other use) bool { return other.file == u.file && other.pointer == u.pointer }
		if !slices.ContainsFunc(same, known) {
			uses[i] = append(same, u)
		}
		return uses
	}
	return append(uses, []use{u})
}

func offeredBy(ctx context.Context, ts agent.Toolset, ws *workspace.Workspace) (specs []agent.ToolSpec, err error) {
	session, err := ts.Open(ctx, agent.Scope{Workspace: ws})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, session.Close()) }()
	tools, err := session.Tools(ctx)
	return agent.ToolSpecs(tools), err
}

// missingTools reports the tools of a toolset that are selected by name and that
// it does not offer.
func (u *use) missingTools(specs []agent.ToolSpec) (ds workspace.Diagnostics) {
	for _, missing := range u.missing(specs) {
		ds = append(ds, finding(codeToolUnknown, u.file, u.pointer,
			fmt.Sprintf("%s offers no tool %q", missing.Toolset, missing.Name), "it offers: "+strings.Join(missing.Offered, ", ")))
	}
	return ds
}

// UnknownToolError says that a step selects a tool by name that its server, or its
// category of custom tools, does not offer. [Controller.Preflight] finds it before a run.
type UnknownToolError struct {
	Toolset, Name string
	Offered       []string
}

func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("%s offers no tool %q; it offers: %s", e.Toolset, e.Name, strings.Join(e.Offered, ", "))
}

// missing are the tools that are selected by name and not offered.
func (t *selectedToolset) missing(specs []agent.ToolSpec) []*UnknownToolError {
	var all []*UnknownToolError
	for _, pattern := range t.patterns() {
		one := agent.Selection{Custom: []string{pattern}}
		if _, err := one.Categories([]agent.Toolset{t.toolset}); err != nil || !namesOneTool(pattern) {
			continue // of another toolset, or all tools
		}
		offered := func(spec agent.ToolSpec) bool { return one.AllowsCustom(t.toolset, spec) }
		if slices.ContainsFunc(specs, offered) {
			continue
		}
		_, tool, _ := strings.Cut(pattern, ":")
		unknown := &UnknownToolError{Toolset: t.toolset.Name(), Name: tool}
		for i := range specs {
			unknown.Offered = append(unknown.Offered, specs[i].OriginName())
		}
		all = append(all, unknown)
	}
	return all
}

// namesOneTool tells server:tool from server:* and a bare server.
func namesOneTool(pattern string) bool {
	_, tool, _ := strings.Cut(pattern, ":")
	return tool != "" && tool != "*"
}
