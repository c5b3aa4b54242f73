package workflow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/internal/redact"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workspace"
)

// Config is what a host puts into a [Controller]. The zero value works for plans
// whose steps need no model.
type Config struct {
	// Models are the model backends. Nil: a step that needs a model fails.
	Models agent.Models
	// Provider and Model are used by steps for which neither their configuration
	// nor a tier names a model. Empty is the default of Models, and of the backend.
	Provider string
	Model    string
	// Tiers are the models of the tiers high, medium and low, for steps that name no
	// model and workflows whose settings name none for the tier.
	Tiers agent.Tiers
	// Retry decides whether a failed model call is repeated; nil is
	// [agent.DefaultRetry].
	Retry agent.Retry
	// Limits bound each attempt of a step.
	Limits Limits
	// Meter limits the model calls of all runs of the controller; nil is no limit.
	Meter agent.Meter
	// Toolsets are the MCP servers and other tools that steps may select, with
	// unique names.
	Toolsets []agent.Toolset
	// CustomTools are categories of tools that a step has only where
	// enabled_custom_tools names them, such as those of workspace/tools. Their names
	// are unique.
	CustomTools []agent.Toolset
	// Database gives the workflow's database to validation schemas with db checks, such
	// as the Reader of workspace/sqlite does. Nil refuses plans with such
	// checks.
	Database func(st workspace.Storage) validation.Database
	// StepTypes are the host's own step types, beside the built-in ones.
	StepTypes []*StepType
	// Secrets are values by name that must not appear in any journal, log, event or
	// error text: "[secret:NAME]" stands in their place. Values under 4 bytes are not
	// redacted; words of the records' own form, such as "user", are refused. An error
	// that [errors.As] finds in a chain below a [RunError] has its own text.
	Secrets map[string]string
	// Prices turn tokens into money. Nil leaves money unknown.
	Prices *costs.Prices
	// Attempts bounds how often a step may try to pass its validation. 0 is 3.
	Attempts int
	// Sink gets the replies of all steps while they arrive; nil lets backends
	// answer in one piece.
	Sink func(step string, delta agent.Delta)
	// Logger gets warnings. Nil is silent.
	Logger *slog.Logger
	// Now and NewID are the clock of records, logs and events, and the maker of run
	// ids, for tests. Nil is the real clock and a ULID. Model and tool calls are
	// timed by the real clock all the same.
	Now   func() time.Time
	NewID func() string
}

// DefaultAttempts is how often a step may try to pass its validation.
const DefaultAttempts = 3

// Controller runs workflows. It is immutable, holds no goroutines of its own, and
// is safe for concurrent use; one serves any number of workspaces.
type Controller struct {
	config   Config
	redactor *redact.Redactor
	prompts  *prompts
	holder   string
}

// NewController returns a controller, or an error that says which part of the
// configuration cannot work.
func NewController(config Config) (*Controller, error) {
	if _, err := newTypeRegistry(config.StepTypes); err != nil {
		return nil, err
	}
	for _, toolsets := range [][]agent.Toolset{config.Toolsets, config.CustomTools} {
		if err := checkToolsets(toolsets); err != nil {
			return nil, err
		}
	}
	if err := checkSecrets(config.Secrets); err != nil {
		return nil, err
	}
	prompts, err := parsePrompts()
	if err != nil {
		return nil, err
	}
	if config.Attempts <= 0 {
		config.Attempts = DefaultAttempts
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.DiscardHandler)
	}
	if config.Now == nil {
		config.Now = time.Now
	}
	if config.NewID == nil {
		config.NewID = func() string { return ulid.Make().String() }
	}
	host, _ := os.Hostname() // for people only
	return &Controller{
		config:   config,
		redactor: redact.New(config.Secrets),
		prompts:  prompts,
		holder:   fmt.Sprintf("%s, process %d", host, os.Getpid()),
	}, nil
}

func checkToolsets(toolsets []agent.Toolset) error {
	names := map[string]bool{}
	for _, ts := range toolsets {
		switch {
		case ts == nil:
			return errors.New("a toolset is nil")
		case names[ts.Name()]:
			return fmt.Errorf("two toolsets are called %q", ts.Name())
		}
		names[ts.Name()] = true
	}
	return nil
}

// RunOptions say what to run. Nil is a new run of the workspace's plan.
type RunOptions struct {
	// Run is an unfinished run to take up again, such as "iteration-2"; empty
	// starts a new one.
	Run string
	// Group is the group of variables that a new run is of, by its name or that of its
	// folder. A workflow with groups needs one, one without has none. A run that is taken
	// up keeps its group.
	Group string
	// Variables override values of variables.json, also those of the group, in a new
	// run; names that start with "input." are inputs, which are declared nowhere. A
	// resumed run keeps what it was started with.
	Variables Variables
	// Program is the compiled plan, for hosts that run one plan many times; nil
	// compiles the workspace's files.
	Program *Program

	starting bool // a run is started, not only looked at
	recalled bool // Variables are what the run was started with
}

// Run runs a workflow to its end. It returns an error when the run did not
// complete; the result then says how far it came, or is nil when the run was
// refused. Cancelling the context cancels the run, which can be resumed.
func (c *Controller) Run(ctx context.Context, ws *workspace.Workspace, opts *RunOptions) (*Result, error) {
	run, err := c.prepare(ctx, ws, opts)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, run.Cancel)
	defer stop()
	run.drive()
	return run.result, run.err
}

// Start starts a workflow and returns at once. The context bounds the start only;
// see [Run.Cancel].
func (c *Controller) Start(ctx context.Context, ws *workspace.Workspace, opts *RunOptions) (*Run, error) {
	run, err := c.prepare(ctx, ws, opts)
	if err != nil {
		return nil, err
	}
	go run.drive()
	return run, nil
}

// Compile reads and compiles a workspace's files with the controller's step types.
func (c *Controller) Compile(ctx context.Context, ws *workspace.Workspace, opts *RunOptions) (*Program, workspace.Diagnostics, error) {
	if opts == nil {
		opts = &RunOptions{}
	}
	src, err := LoadSource(ctx, ws, opts.Run)
	if err != nil {
		return nil, nil, err
	}
	program, ds := Compile(src, &CompileOptions{
		StepTypes: c.config.StepTypes, Group: opts.Group, Variables: opts.Variables, forRun: opts.starting, recalled: opts.recalled,
	})
	return program, ds, nil
}

// prepare compiles, takes the run's folder and journal, and folds what is
// recorded. When it returns a run, drive must follow.
func (c *Controller) prepare(ctx context.Context, ws *workspace.Workspace, opts *RunOptions) (*Run, error) {
	if ws == nil {
		return nil, errors.New("no workspace")
	}
	if opts == nil {
		opts = &RunOptions{}
	}
	recorded, err := c.recall(ctx, ws, &opts)
	if err != nil {
		return nil, err
	}
	program, err := c.programOf(ctx, ws, opts)
	if err != nil {
		return nil, err
	}
	if recorded != nil && recorded.Revision != program.revision {
		return nil, &RunError{Run: opts.Run, Err: planChanged(recorded, program)}
	}
	ds := append(c.CheckSelections(program), c.CheckDatabase(program)...)
	if recorded == nil { // a step of a run that is taken up may have what it needs already
		ds = append(ds, c.CheckModels(ctx, program)...)
	}
	if ds.HasErrors() {
		return nil, ds
	}
	group, err := program.groupOf(recorded, opts)
	if err != nil {
		return nil, err
	}
	folder, lock, err := c.claim(ctx, ws, opts.Run, group)
	if err != nil {
		return nil, err
	}
	run, err := c.open(ctx, ws, program, folder, group, opts)
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	run.lock = lock
	return run, nil
}

// recall reads what a run that is taken up was started with, nil for a new one, and
// puts it in the place of the options.
func (c *Controller) recall(ctx context.Context, ws *workspace.Workspace, opts **RunOptions) (*runRecord, error) {
	recalled := **opts
	*opts = &recalled
	folder := recalled.Run
	if folder == "" {
		recalled.starting = true
		return nil, nil
	}
	if err := knownRun(ctx, ws.Storage(), folder); err != nil {
		return nil, err
	}
	recorded, completed, err := c.recordedRun(ctx, ws, folder)
	switch {
	case err != nil:
		return nil, err
	case completed:
		return nil, fmt.Errorf("%s: %w", folder, ErrRunFinished)
	case recalled.Group != "" && (&Group{Name: recalled.Group}).Folder() != groupOfFolder(folder):
		return nil, fmt.Errorf("%s: a group is given when a run starts, not when it is resumed", folder)
	case recorded == nil:
		recalled.starting, recalled.Group = true, groupOfFolder(folder)
		return nil, nil
	case len(recalled.Variables) > 0:
		return nil, fmt.Errorf("%s: variables are given when a run starts, not when it is resumed", folder)
	}
	recalled.Group, recalled.Variables, recalled.recalled = "", c.reveal(recorded.Variables), true
	return recorded, nil
}

func (c *Controller) programOf(ctx context.Context, ws *workspace.Workspace, opts *RunOptions) (*Program, error) {
	if opts.Program != nil {
		return opts.Program, nil
	}
	program, ds, err := c.Compile(ctx, ws, opts)
	if err != nil {
		return nil, err
	}
	return program, ds.Err()
}

// open makes the run and folds its journal.
func (c *Controller) open(ctx context.Context, ws *workspace.Workspace, program *Program, folder string, group *Group, opts *RunOptions) (*Run, error) {
	run := newRun(c, ws, program, folder)
	if group != nil {
		run.group = group.Name
	}
	w := newWalk(run)
	run.walk = w
	j, err := journal.Open(ctx, ws.Storage(), run.layout.Journal(), journal.Options{
		Blobs:   run.layout.JournalBlobs(),
		Holder:  c.holder,
		Now:     c.config.Now,
		Redact:  run.redactJSON(),
		Closing: recordOutcome,
		Replay:  w.replay,
	})
	if err != nil {
		return nil, &RunError{Run: folder, Err: err}
	}
	run.journal = j
	run.stopGrace = run.boundGrace()
	// A storage that hangs holds the start no longer than the start's context.
	stop := context.AfterFunc(ctx, func() { run.giveUp(context.Cause(ctx)) })
	defer stop()
	if err := w.begin(ctx, opts); err != nil {
		run.stopGrace()
		return nil, errors.Join(&RunError{Run: folder, Err: err}, j.Close())
	}
	return run, nil
}
