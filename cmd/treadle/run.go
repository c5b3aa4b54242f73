package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// variableFlags collects --var NAME=VALUE.
type variableFlags workflow.Variables

func (v variableFlags) String() string { return "" }

func (v variableFlags) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return errors.New("write it as NAME=VALUE")
	}
	if _, twice := v[name]; twice {
		return fmt.Errorf("%s is given twice", name)
	}
	v[name] = value
	return nil
}

func runWorkflow(c *command, args []string) (int, error) {
	name := c.runFlag("take up this unfinished run")
	group := c.flags.String("group", "", "the group of variables of a new run: its `name`")
	variables := variableFlags{}
	c.flags.Var(variables, "var", "the value of a variable of a new run, as `NAME=VALUE`; may be repeated")
	asJSON := c.jsonFlag()
	if err := c.parse(args); err != nil {
		return 0, err
	}
	if *name != "" && len(variables) > 0 {
		return 0, &usageError{"--var is for new runs; a run that is taken up keeps what it was started with"}
	}
	if *name != "" && *group != "" {
		return 0, &usageError{"--group is for new runs; a run that is taken up keeps its group"}
	}
	ws, err := c.open()
	if err != nil {
		return 0, err
	}
	defer ws.Close()
	return c.drive(ws, &workflow.RunOptions{Run: *name, Group: *group, Variables: workflow.Variables(variables)}, *asJSON)
}

func resumeRun(c *command, args []string) (int, error) {
	name := c.runFlag("the run; the latest unfinished one otherwise")
	asJSON := c.jsonFlag()
	if err := c.parse(args); err != nil {
		return 0, err
	}
	ws, err := c.open()
	if err != nil {
		return 0, err
	}
	defer ws.Close()
	standing, err := runToResume(context.Background(), ws, *name)
	if err != nil {
		return 0, err
	}
	if standing.Status != workflow.StatusCompleted {
		return c.drive(ws, &workflow.RunOptions{Run: standing.RunFolder}, *asJSON)
	}
	if *asJSON {
		return exitCompleted, c.printJSON(resultLine{lineKind: lineKind{"result"}, Result: resultOf(standing)})
	}
	if *name == "" {
		fmt.Fprintf(c.stdout, "nothing to resume: every run has completed, the latest is %s\n", standing.RunFolder)
		return exitCompleted, nil
	}
	fmt.Fprintf(c.stdout, "%s has completed; there is nothing to resume\n", standing.RunFolder)
	return exitCompleted, nil
}

// runToResume is the named run, or the latest unfinished one, or the latest when
// all have completed.
func runToResume(ctx context.Context, ws *workspace.Workspace, name string) (*workflow.RunStanding, error) {
	if name != "" {
		return workflow.RunStatus(ctx, ws, name)
	}
	runs, err := workflow.Runs(ctx, ws)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, &refusal{errors.New("there is no run to resume; start one with treadle run")}
	}
	for i := len(runs) - 1; i >= 0; i-- {
		if runs[i].Status != workflow.StatusCompleted {
			return &runs[i], nil
		}
	}
	return &runs[len(runs)-1], nil
}

func resultOf(s *workflow.RunStanding) *workflow.Result {
	return &workflow.Result{RunID: s.RunID, Folder: s.RunFolder, Group: s.Group, Status: s.Status, Steps: []string{}, Totals: s.Totals}
}

// drive runs until the run ends, and tells on the way what happens.
func (c *command) drive(ws *workspace.Workspace, opts *workflow.RunOptions, asJSON bool) (int, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer c.onInterrupt(cancel)()
	run, err := c.start(ctx, ws, opts)
	if err != nil {
		if asJSON {
			err = errors.Join(err, c.printJSON(newErrorLine(err)))
		}
		return 0, err
	}
	defer context.AfterFunc(ctx, run.Cancel)()
	for ev, eventErr := range run.Events(context.Background(), workflow.FromStart) {
		if eventErr != nil {
			err = errors.Join(err, eventErr)
			break
		}
		if asJSON {
			err = errors.Join(err, c.printJSON(ev))
			continue
		}
		fmt.Fprintln(c.stderr, eventLine(&ev, run.Folder()))
	}
	result, runErr := run.Wait(context.Background())
	if asJSON {
		err = errors.Join(err, c.printJSON(c.newResultLine(result, runErr)))
	} else {
		c.printResult(result, runErr)
	}
	return exitOfRun(result.Status, runErr), err
}

func (c *command) start(ctx context.Context, ws *workspace.Workspace, opts *workflow.RunOptions) (*workflow.Run, error) {
	ctl, err := c.controller(ctx, ws)
	if err != nil {
		return nil, err
	}
	return ctl.Start(ctx, ws, opts)
}

// onInterrupt calls cancel at the first signal to end and ends the process at the
// second. The func that it returns undoes it.
func (c *command) onInterrupt(cancel func()) (stop func()) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done, ended := make(chan struct{}), make(chan struct{})
	stderr := c.stderr // the command may change its own meanwhile
	go func() {
		defer close(ended)
		for count := 0; ; count++ {
			select {
			case <-signals:
			case <-done:
				return
			}
			if count > 0 {
				os.Exit(exitCanceled)
			}
			fmt.Fprintln(stderr, "treadle: canceling the run; once more ends the process at once")
			cancel()
		}
	}()
	return func() {
		signal.Stop(signals)
		close(done)
		<-ended
	}
}
