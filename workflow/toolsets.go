package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// CheckSelections reports every server and every category of custom tools that the
// workflow or a step selects and the host does not have. It is offline; a run that
// starts does the same.
func (c *Controller) CheckSelections(p *Program) workspace.Diagnostics {
	var ds workspace.Diagnostics
	report := func(code, file, pointer string, err error) {
		if err != nil {
			ds = append(ds, finding(code, file, pointer, err.Error(), ""))
		}
	}
	check := func(selection agent.Selection, file, pointer string) {
		_, err := selection.Toolsets(c.config.Toolsets)
		report(codeServerUnknown, file, pointer, err)
		_, err = selection.Categories(c.config.CustomTools)
		report(codeCategoryUnknown, file, pointer, err)
	}
	caps := p.settings.Capabilities
	check(agent.Selection{Servers: caps.SelectedServers, Tools: caps.SelectedTools}, workspace.SettingsFile, "/capabilities")
	check(agent.Selection{Servers: []string{agent.NoServers}, Custom: p.settings.ExecutionDefaults.EnabledCustomTools}, workspace.SettingsFile, "/execution_defaults/enabled_custom_tools")
	for _, s := range p.steps {
		if s.config == nil {
			continue
		}
		own := agent.Selection{Servers: s.config.SelectedServers, Tools: s.config.SelectedTools, Custom: s.config.EnabledCustomTools}
		if len(own.Servers)+len(own.Tools)+len(own.Custom) > 0 {
			check(own, p.configFile, s.configPointer)
		}
	}
	p.source.locate(ds)
	return ds
}

// sessions are the toolsets that a run has open for all its steps.
type sessions struct {
	mu   sync.Mutex
	open map[string]agent.ToolSession
	list []agent.ToolSession // in the order opened
}

// shared returns the run's session of a toolset and opens it at first use.
func (s *sessions) shared(ctx context.Context, ts agent.Toolset, scope agent.Scope) (agent.ToolSession, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.open[ts.Name()]; session != nil {
		return session, nil
	}
	session, err := ts.Open(ctx, scope)
	if err != nil {
		return nil, err
	}
	if s.open == nil {
		s.open = map[string]agent.ToolSession{}
	}
	s.open[ts.Name()] = session
	s.list = append(s.list, session)
	return session, nil
}

// close closes every session.
func (s *sessions) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := closeAll(s.list)
	s.open, s.list = nil, nil
	return err
}

// closeAll closes sessions side by side: each may take the seconds that a server is given
// to go by itself, and who cancels a run waits for all.
func closeAll(opened []agent.ToolSession) error {
	errs := make([]error, len(opened))
	var wg sync.WaitGroup
	for i, session := range opened {
		wg.Go(func() { errs[i] = session.Close() })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// stepTools are the tools of one visit, and where they come from.
type stepTools struct {
	guard   *workspace.Guard
	sources []toolSource
	own     []agent.ToolSession // the visit's alone
	without []string            // optional servers that are not there
	guarded bool                // a source was given the guard
}

// toolSource is an open toolset.
type toolSource struct {
	selectedToolset
	session agent.ToolSession
}

// selectedToolset is a toolset of the host in the eyes of a selection.
type selectedToolset struct {
	toolset   agent.Toolset
	selection agent.Selection
	custom    bool
}

// selected are the toolsets of the host that a selection is of: servers, then
// categories of custom tools.
func (c *Controller) selected(s agent.Selection) ([]selectedToolset, error) {
	servers, err := s.Toolsets(c.config.Toolsets)
	if err != nil {
		return nil, err
	}
	categories, err := s.Categories(c.config.CustomTools)
	if err != nil {
		return nil, err
	}
	selected := make([]selectedToolset, 0, len(servers)+len(categories))
	for _, ts := range servers {
		selected = append(selected, selectedToolset{ts, s, false})
	}
	for _, ts := range categories {
		selected = append(selected, selectedToolset{ts, s, true})
	}
	return selected, nil
}

func (t *selectedToolset) allows(spec agent.ToolSpec) bool {
	if t.custom {
		return t.selection.AllowsCustom(t.toolset, spec)
	}
	return t.selection.Allows(t.toolset, spec)
}

// patterns are what names single tools, of this toolset and others of its kind.
func (t *selectedToolset) patterns() []string {
	if t.custom {
		return t.selection.Custom
	}
	return t.selection.Tools
}

func optional(ts agent.Toolset) bool {
	o, ok := ts.(agent.Optional)
	return ok && o.Optional()
}

// openTools opens what the step selects. A toolset that is optional and not there is
// left out and noted.
func (sc *StepContext) openTools(ctx context.Context) (*stepTools, error) {
	tools := &stepTools{guard: sc.guard()}
	selected, err := sc.run.ctl.selected(selectionOf(sc.step.effective))
	for _, ts := range selected {
		if err = tools.add(ctx, sc, ts); err != nil {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, tools.close())
	}
	return tools, nil
}

func (t *stepTools) add(ctx context.Context, sc *StepContext, selected selectedToolset) error {
	ts := selected.toolset
	session, err := t.session(ctx, sc, ts)
	if err == nil && optional(ts) {
		_, err = session.Tools(ctx)
	}
	switch {
	case err == nil:
		t.sources = append(t.sources, toolSource{selected, session})
		return nil
	case optional(ts) && ctx.Err() == nil:
		sc.Logger().Warn("an optional server is not there; the step goes on without it", "server", ts.Name(), "error", err)
		t.without = append(t.without, ts.Name())
		return nil
	}
	return fmt.Errorf("server %s: %w", ts.Name(), err)
}

func (t *stepTools) session(ctx context.Context, sc *StepContext, ts agent.Toolset) (agent.ToolSession, error) {
	scope := agent.Scope{Workspace: sc.run.ws, RunID: sc.run.id, RunFolder: sc.run.folder, Group: sc.run.group}
	if sharer, ok := ts.(agent.Sharer); ok && sharer.Sharing() != agent.SharePerStep {
		// A run is of one group.
		return sc.run.sessions.shared(ctx, ts, scope)
	}
	var err error
	if scope.WorkDir, err = sc.WorkDir(); err != nil {
		return nil, err
	}
	scope.Step, scope.Guard = sc.step.id, t.guard
	session, err := ts.Open(ctx, scope)
	if err != nil {
		return nil, err
	}
	t.own, t.guarded = append(t.own, session), true
	return session, nil
}

// list returns what the step may use now. An optional server that has gone has none.
func (t *stepTools) list(ctx context.Context) ([]agent.Tool, error) {
	var tools []agent.Tool
	for _, source := range t.sources {
		offered, err := source.session.Tools(ctx)
		if err != nil && optional(source.toolset) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("tools of server %s: %w", source.toolset.Name(), err)
		}
		for _, tool := range offered {
			if source.allows(tool.Spec()) {
				tools = append(tools, tool)
			}
		}
	}
	return tools, nil
}

// requireNamed refuses tools that are selected by name and that their toolset, which is
// there, does not offer. Who names a tool that there is not gets fewer than it thinks.
func (t *stepTools) requireNamed(ctx context.Context) error {
	var errs []error
	for i := range t.sources {
		source := &t.sources[i]
		if !slices.ContainsFunc(source.patterns(), namesOneTool) {
			continue
		}
		offered, err := source.session.Tools(ctx)
		if err != nil && optional(source.toolset) && ctx.Err() == nil {
			continue
		}
		if err != nil {
			return fmt.Errorf("tools of server %s: %w", source.toolset.Name(), err)
		}
		for _, missing := range source.missing(agent.ToolSpecs(offered)) {
			errs = append(errs, missing)
		}
	}
	return errors.Join(errs...)
}

func (t *stepTools) close() error { return closeAll(t.own) }

// hideInSpecs returns tools whose specs hold nothing secret.
func (c *Controller) hideInSpecs(tools []agent.Tool) []agent.Tool {
	if c.redactor == nil {
		return tools
	}
	specs := agent.ToolSpecs(tools)
	for i := range specs {
		specs[i].Description = c.redactor.Text(specs[i].Description)
		specs[i].InputSchema = c.redactor.JSON(specs[i].InputSchema)
	}
	return agent.PinTools(specs, tools)
}
