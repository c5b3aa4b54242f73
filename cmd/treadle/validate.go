package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

func validateWorkflow(c *command, args []string) (int, error) {
	offline := c.flags.Bool("offline", false, "look at the files only: start no server, and take missing environment variables for notices")
	asJSON := c.jsonFlag()
	if err := c.parse(args); err != nil {
		return 0, err
	}
	ws, err := c.open()
	if err != nil {
		return 0, err
	}
	defer ws.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ds, err := c.diagnose(ctx, ws, *offline)
	switch {
	case ctx.Err() != nil:
		return exitCanceled, nil
	case err != nil:
		return 0, err
	}
	return c.printDiagnostics(ds, *asJSON)
}

// diagnose finds everything that keeps the workflow from running.
func (c *command) diagnose(ctx context.Context, ws *workspace.Workspace, offline bool) (workspace.Diagnostics, error) {
	servers, secrets, err := c.servers(ctx, ws)
	c.hide(secrets)
	var faulty mcp.ConfigErrors
	if err != nil && !errors.As(err, &faulty) {
		return nil, err
	}
	custom, err := c.customTools()
	if err != nil {
		return nil, err
	}
	config := workflow.Config{Secrets: secrets, Logger: c.logger(), Toolsets: toolsets(servers, faulty), CustomTools: custom}
	ctl, err := workflow.NewController(config)
	if err != nil {
		return nil, &refusal{err}
	}
	program, ds, err := ctl.Diagnose(ctx, ws)
	if err != nil {
		return nil, err
	}
	ds = append(ds, serverDiagnostics(faulty, offline)...)
	if program == nil {
		return ds, nil
	}
	if len(faulty) == 0 || allNamed(faulty) {
		ds = append(ds, ctl.CheckSelections(program)...)
	}
	if !offline {
		ds = append(ds, c.checkModel()...)
		if len(faulty) == 0 {
			ds = append(ds, ctl.Preflight(ctx, ws, program)...)
		}
	}
	return ds, nil
}

// checkModel tells that a run would be refused here; the workflow is not to blame.
func (c *command) checkModel() workspace.Diagnostics {
	_, err := openai.FromEnv(c.lookup)
	if err == nil {
		return nil
	}
	d := codes[0]
	d.File, d.Message = workspace.PlanFile, err.Error()
	return workspace.Diagnostics{d}
}

// serverDiagnostics are the findings about .mcp.json. What only this environment
// lacks does not count against the files when they alone are looked at.
func serverDiagnostics(faulty mcp.ConfigErrors, offline bool) workspace.Diagnostics {
	ds := faulty.Diagnostics()
	for i, e := range faulty {
		if offline && errors.Is(e, mcp.ErrMissingVariable) {
			ds[i].Severity = workspace.SeverityNotice
		}
	}
	return ds
}

// allNamed reports whether it is known which servers the file means to have.
func allNamed(faulty mcp.ConfigErrors) bool {
	return !slices.ContainsFunc(faulty, func(e *mcp.ConfigError) bool { return e.Server == "" })
}

// toolsets are the servers of the file, also those that cannot be used: selecting
// one of these is no second mistake.
func toolsets(servers []mcp.Server, faulty mcp.ConfigErrors) []agent.Toolset {
	var all []agent.Toolset
	add := func(ts agent.Toolset) {
		if !slices.ContainsFunc(all, func(other agent.Toolset) bool { return other.Name() == ts.Name() }) {
			all = append(all, ts)
		}
	}
	for _, server := range servers {
		if ts, err := mcp.New(server); err == nil {
			add(ts)
		}
	}
	for _, e := range faulty {
		if e.Server != "" {
			add(faultyServer{e})
		}
	}
	return all
}

// faultyServer stands for a server whose configuration is wrong.
type faultyServer struct{ err *mcp.ConfigError }

func (s faultyServer) Name() string { return s.err.Server }

func (s faultyServer) Open(context.Context, agent.Scope) (agent.ToolSession, error) {
	return nil, s.err
}

// sortDiagnostics puts what is found in the order in which a reader comes by.
func sortDiagnostics(ds workspace.Diagnostics) {
	slices.SortStableFunc(ds, func(a, b workspace.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// printDiagnostics prints them by file and line, then how many there are.
func (c *command) printDiagnostics(ds workspace.Diagnostics, asJSON bool) (int, error) {
	sortDiagnostics(ds)
	counts := struct {
		Errors  int `json:"errors"`
		Notices int `json:"notices"`
	}{}
	for _, d := range ds {
		if d.Severity == workspace.SeverityError {
			counts.Errors++
		} else {
			counts.Notices++
		}
		if asJSON {
			if err := c.printJSON(d); err != nil {
				return 0, err
			}
			continue
		}
		fmt.Fprintln(c.stdout, clean(d.String()))
	}
	if asJSON {
		if err := c.printJSON(counts); err != nil {
			return 0, err
		}
	} else {
		fmt.Fprintf(c.stdout, "%s, %s\n", count(counts.Errors, "error"), count(counts.Notices, "notice"))
	}
	if counts.Errors > 0 {
		return exitUsage, nil
	}
	return exitCompleted, nil
}
