package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// standingLine is a run in a listing as JSON.
type standingLine struct {
	*workflow.RunStanding
	Resume string `json:"resume,omitempty"` // the command
}

func listRuns(c *command, args []string) (int, error) {
	asJSON := c.jsonFlag()
	if err := c.parse(args); err != nil {
		return 0, err
	}
	ws, err := c.open()
	if err != nil {
		return 0, err
	}
	defer ws.Close()
	runs, err := workflow.Runs(context.Background(), ws)
	if err != nil {
		return 0, err
	}
	if *asJSON {
		return exitCompleted, c.printStandings(runs)
	}
	if len(runs) == 0 {
		fmt.Fprintln(c.stdout, "no runs")
		return exitCompleted, nil
	}
	table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "RUN\tSTATUS\tSTEPS\tAT\tSTARTED\tTOOK\tTOKENS")
	for i := range runs {
		s := &runs[i]
		at := s.NextStep
		if s.Problem != "" {
			at = "damaged"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.RunFolder, s.Status, stepsText(s), dash(at),
			timeText(s.StartedAt), dash(standingTook(s)), atLeast(fmt.Sprint(s.Totals.Tokens()), s.Totals.TokensAtLeast()))
	}
	return exitCompleted, table.Flush()
}

func showStatus(c *command, args []string) (int, error) {
	name := c.runFlag("the run; every unfinished one and the latest otherwise")
	asJSON := c.jsonFlag()
	if err := c.parse(args); err != nil {
		return 0, err
	}
	ws, err := c.open()
	if err != nil {
		return 0, err
	}
	defer ws.Close()
	runs, err := standings(context.Background(), ws, *name)
	if err != nil {
		return 0, err
	}
	if *asJSON {
		return exitCompleted, c.printStandings(runs)
	}
	if len(runs) == 0 {
		fmt.Fprintln(c.stdout, "no runs")
	}
	for i := range runs {
		if i > 0 {
			fmt.Fprintln(c.stdout)
		}
		c.printStanding(&runs[i])
	}
	return exitCompleted, nil
}

// standings are the named run, or the unfinished ones and the latest.
func standings(ctx context.Context, ws *workspace.Workspace, name string) ([]workflow.RunStanding, error) {
	if name != "" {
		standing, err := workflow.RunStatus(ctx, ws, name)
		if err != nil {
			return nil, err
		}
		return []workflow.RunStanding{*standing}, nil
	}
	runs, err := workflow.Runs(ctx, ws)
	if err != nil {
		return nil, err
	}
	var shown []workflow.RunStanding
	for i, s := range runs {
		if s.Status != workflow.StatusCompleted || i == len(runs)-1 {
			shown = append(shown, s)
		}
	}
	return shown, nil
}

func (c *command) printStandings(runs []workflow.RunStanding) error {
	for i := range runs {
		line := standingLine{RunStanding: &runs[i]}
		if line.Resumable() {
			line.Resume = c.resumeCommand(line.RunFolder)
		}
		if err := c.printJSON(line); err != nil {
			return err
		}
	}
	return nil
}

// printStanding tells where a run is, why it stopped, and what resumes it.
func (c *command) printStanding(s *workflow.RunStanding) {
	fmt.Fprintf(c.stdout, "%s  %s\n", s.RunFolder, s.Status)
	if s.RunID != "" {
		c.field("  id", "%s", clean(s.RunID))
	}
	if s.Group != "" {
		c.field("  group", "%s", clean(s.Group))
	}
	c.field("  folder", "%s", workspace.RunLayout(s.RunFolder).Dir())
	steps := stepsText(s) + " completed"
	if s.NextStep != "" {
		steps += ", at " + clean(s.NextStep)
	}
	c.field("  steps", "%s", steps)
	if !s.StartedAt.IsZero() {
		started := timeText(s.StartedAt)
		if took := standingTook(s); took != "" {
			started += ", took " + took
		}
		c.field("  started", "%s", started)
	}
	c.field("  tokens", "%s", tokensText(&s.Totals))
	if cost := costText(&s.Totals); cost != "" {
		c.field("  cost", "%s", cost)
	}
	if s.Holder != "" {
		c.field("  held by", "%s", clean(s.Holder))
	}
	if s.Error != "" {
		c.field("  reason", "%s", indent(cleanLines(s.Error)))
	}
	if s.Problem != "" {
		c.field("  problem", "%s", clean(s.Problem))
	}
	if s.Resumable() {
		c.field("  resume", "%s", c.resumeCommand(s.RunFolder))
	}
}

// stepsText is "2 of 3", or "2" where nothing tells how many there are.
func stepsText(s *workflow.RunStanding) string {
	if s.Steps == 0 {
		return fmt.Sprint(s.StepsCompleted)
	}
	return fmt.Sprintf("%d of %d", s.StepsCompleted, s.Steps)
}

// standingTook is empty for a run that goes on.
func standingTook(s *workflow.RunStanding) string {
	if s.DurationMS == nil {
		return ""
	}
	return tookText(time.Duration(*s.DurationMS) * time.Millisecond)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return clean(text)
}
