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

// selection is what a step may use: its own configuration over the workflow's.
func (p *Program) selection(s *compiledStep) agent.Selection {
	selected := agent.Selection{
		Servers: p.settings.Capabilities.SelectedServers,
		Tools:   p.settings.Capabilities.SelectedTools,
	}
	if s.config != nil {
		if len(s.config.SelectedServers) > 0 {
			selected.Servers = s.config.SelectedServers
		}
		if s.config.SelectedTools != nil {
			selected.Tools = s.config.SelectedTools
		}
	}
	return selected
}

// CheckSelections reports every toolset that the workflow or a step selects and
// the host does not have. It is offline; a run that starts does the same.
func (c *Controller) CheckSelections(p *Program) workspace.Diagnostics {
	var ds workspace.Diagnostics
	check := func(selection agent.Selection, file, pointer string) {
		if _, err := selection.Toolsets(c.config.Toolsets); err != nil {
			ds = append(ds, workspace.Diagnostic{
				Code: "selection.server.unknown", Severity: workspace.SeverityError, File: file, Pointer: pointer,
				Message: err.Error(), Hint: "configure the server, or correct selected_servers and selected_tools",
			})
		}
	}
	if caps := p.settings.Capabilities; len(caps.SelectedServers)+len(caps.SelectedTools) > 0 {
		check(agent.Selection{Servers: caps.SelectedServers, Tools: caps.SelectedTools}, workspace.SettingsFile, "/capabilities")
	}
	for _, s := range p.steps {
		if s.config != nil && len(s.config.SelectedServers)+len(s.config.SelectedTools) > 0 {
			check(agent.Selection{Servers: s.config.SelectedServers, Tools: s.config.SelectedTools}, p.configFile, s.configPointer)
		}
	}
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
		return nil, fmt.Errorf("server %s: %w", ts.Name(), err)
	}
	if s.open == nil {
		s.open = map[string]agent.ToolSession{}
	}
	s.open[ts.Name()] = session
	s.list = append(s.list, session)
	return session, nil
}

// close closes every session, the latest first.
func (s *sessions) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, session := range slices.Backward(s.list) {
		errs = append(errs, session.Close())
	}
	s.open, s.list = nil, nil
	return errors.Join(errs...)
}

// tools opens what the step selects and returns its tools, and what closes the
// sessions that are the step's alone.
func (sc *StepContext) tools(ctx context.Context) (tools []agent.Tool, done func() error, err error) {
	var own []agent.ToolSession
	done = func() error {
		var errs []error
		for _, session := range slices.Backward(own) {
			errs = append(errs, session.Close())
		}
		return errors.Join(errs...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, done())
		}
	}()
	selection := sc.run.program.selection(sc.step)
	toolsets, err := selection.Toolsets(sc.run.ctl.config.Toolsets)
	if err != nil {
		return nil, done, err
	}
	for _, ts := range toolsets {
		session, mine, err := sc.session(ctx, ts)
		if err != nil {
			return nil, done, err
		}
		if mine {
			own = append(own, session)
		}
		offered, err := session.Tools(ctx)
		if err != nil {
			return nil, done, fmt.Errorf("tools of server %s: %w", ts.Name(), err)
		}
		for _, tool := range offered {
			if selection.Allows(ts.Name(), tool.Spec()) {
				tools = append(tools, tool)
			}
		}
	}
	return tools, done, nil
}

func (sc *StepContext) session(ctx context.Context, ts agent.Toolset) (session agent.ToolSession, mine bool, err error) {
	scope := agent.Scope{Workspace: sc.run.ws, RunID: sc.run.id, RunFolder: sc.run.folder}
	if sharer, ok := ts.(agent.Sharer); ok && sharer.Sharing() == agent.SharePerRun {
		session, err = sc.run.sessions.shared(ctx, ts, scope)
		return session, false, err
	}
	scope.Step = sc.step.id
	if scope.WorkDir, err = sc.WorkDir(); err != nil {
		return nil, false, err
	}
	if session, err = ts.Open(ctx, scope); err != nil {
		return nil, false, fmt.Errorf("tools %s: %w", ts.Name(), err)
	}
	return session, true, nil
}
