package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/treadle-dev/treadle/workflow"
)

func showLogs(c *command, args []string) (int, error) {
	name := c.runFlag("the run")
	step := c.flags.String("step", "", "show this step only: its `id`")
	follow := c.flags.Bool("follow", false, "show what has happened, and what happens until the run ends")
	asJSON := c.jsonFlag()
	if err := c.parse(args); err != nil {
		return 0, err
	}
	if *name == "" {
		return 0, &usageError{"--run says whose logs to show; treadle runs lists the runs"}
	}
	ws, err := c.open()
	if err != nil {
		return 0, err
	}
	defer ws.Close()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	standing, err := workflow.RunStatus(ctx, ws, *name)
	if err != nil {
		return 0, err
	}
	if *follow {
		f := follower{ws: ws, run: standing.RunFolder, show: c.eventPrinter(standing.RunFolder, *step, *asJSON)}
		if err := f.follow(ctx); ctx.Err() == nil {
			return exitCompleted, err
		}
		return exitCanceled, nil
	}
	attempts, err := readAttempts(ctx, ws, standing.RunFolder, *step)
	if err != nil {
		return 0, err
	}
	if *asJSON {
		for i := range attempts {
			if err := c.printJSON(&attempts[i]); err != nil {
				return 0, err
			}
		}
		return exitCompleted, nil
	}
	if len(attempts) == 0 {
		of := standing.RunFolder
		if *step != "" {
			of += ", step " + clean(*step)
		}
		fmt.Fprintf(c.stdout, "%s: no attempts logged\n", of)
	}
	for i := range attempts {
		c.printAttempt(&attempts[i])
	}
	return exitCompleted, nil
}

// eventPrinter prints the events of a step, or of all.
func (c *command) eventPrinter(run, step string, asJSON bool) func(*workflow.RunEvent) error {
	return func(ev *workflow.RunEvent) error {
		if step != "" && ev.Step != "" && ev.Step != step {
			return nil
		}
		if asJSON {
			return c.printJSON(ev)
		}
		_, err := fmt.Fprintln(c.stdout, eventLine(ev, run))
		return err
	}
}
