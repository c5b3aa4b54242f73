package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// quickstart is the whole program after its arguments are read.
func quickstart(ctx context.Context, opts options, lookup func(string) (string, bool), out io.Writer) error {
	model, err := chooseModel(lookup)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, model.firstLine)
	if opts.dir == "" {
		if opts.dir, err = os.MkdirTemp("", "treadle-quickstart-"); err != nil {
			return err
		}
	}
	if err := place(opts.dir, opts.seed); err != nil {
		return err
	}
	fmt.Fprintf(out, "Workspace: %s\n\n", opts.dir)

	result, err := runWorkflow(ctx, opts, model, out)
	if err != nil {
		return explain(err, opts.dir, result)
	}
	return conclude(out, opts.dir, model, result)
}

// runWorkflow is all that a host does: a controller with its model and tools, a
// workspace, a run, its events.
func runWorkflow(ctx context.Context, opts options, model chosenModel, out io.Writer) (*workflow.Result, error) {
	files, err := fileServer(opts.dir)
	if err != nil {
		return nil, err
	}
	ctl, err := workflow.NewController(workflow.Config{
		Models:   agent.Single(model.llm),
		Model:    model.name,
		Toolsets: []agent.Toolset{files},
		Logger:   slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return nil, err
	}
	ws, err := workspace.OpenDir(opts.dir)
	if err != nil {
		return nil, err
	}
	defer ws.Close()

	run, err := ctl.Start(ctx, ws, &workflow.RunOptions{Run: opts.run})
	if err != nil {
		return nil, err
	}
	// An interrupt cancels the run; the events then end by themselves, and Wait says
	// how far it came.
	stop := context.AfterFunc(ctx, run.Cancel)
	defer stop()
	unhurried := context.WithoutCancel(ctx)
	show := progress{out: out}
	for ev, err := range run.Events(unhurried, workflow.FromStart) {
		if err != nil {
			return nil, err
		}
		show.event(&ev)
	}
	return run.Wait(unhurried)
}

// fileServer is this program again, serving the workspace's files.
func fileServer(dir string) (*mcp.Toolset, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return mcp.New(mcp.Server{Name: "files", Command: self, Args: []string{serverVerb, dir}})
}

// explain adds to a run that did not complete what to do next. What it has paid for
// so far is recorded and not paid again.
func explain(err error, dir string, result *workflow.Result) error {
	if result == nil {
		return err
	}
	return fmt.Errorf("%w\ngo on with it: go run ./examples/quickstart -dir %s -run %s", err, shellWord(dir), result.Folder)
}
