package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workflow"
)

// grouping is a value of --by.
type grouping struct {
	name string
	rows func(*costs.Summary) []costs.Row
	key  func(costs.Key) string
}

func groupings() []grouping {
	return []grouping{
		{"step", (*costs.Summary).ByStep, stepName},
		{"model", (*costs.Summary).ByModel, costs.Key.String},
		{"run", (*costs.Summary).ByRunFolder, func(k costs.Key) string { return k.RunFolder }},
		{"day", (*costs.Summary).ByDay, func(k costs.Key) string { return k.Day }},
		{"group", (*costs.Summary).ByGroup, func(k costs.Key) string { return k.Group }},
	}
}

// stepName names a step, and its phase where that is not the usual one.
func stepName(k costs.Key) string {
	if k.Phase == costs.PhaseExecution && k.Step != "" {
		return k.Step
	}
	return k.String()
}

func findGrouping(name string) (grouping, error) {
	var names []string
	for _, g := range groupings() {
		if g.name == name {
			return g, nil
		}
		names = append(names, g.name)
	}
	return grouping{}, &usageError{fmt.Sprintf("--by %s is not known; there are %s", name, strings.Join(names, ", "))}
}

func showCosts(c *command, args []string) (int, error) {
	name := c.runFlag("count this run only")
	by := c.flags.String("by", "step", "what to group by: step, model, run, day or group; its `name`")
	asJSON := c.jsonFlag()
	if err := c.parse(args); err != nil {
		return 0, err
	}
	group, err := findGrouping(*by)
	if err != nil {
		return 0, err
	}
	ws, err := c.open()
	if err != nil {
		return 0, err
	}
	defer ws.Close()
	ctx := context.Background()
	// What is damaged comes last, after all that could be read.
	summary, damage := workflow.Costs(ctx, ws, &workflow.CostsOptions{Filter: costs.Filter{RunFolder: *name}})
	if summary == nil {
		return 0, damage
	}
	rows := group.rows(summary)
	if *name != "" && len(rows) == 0 {
		// A run may be gone and its costs still known, not the other way round.
		if _, err := workflow.RunStatus(ctx, ws, *name); err != nil {
			return 0, errors.Join(err, damage)
		}
	}
	if group.name == "run" {
		slices.SortStableFunc(rows, func(a, b costs.Row) int { return workflow.CompareRunFolders(a.Key.RunFolder, b.Key.RunFolder) })
	}
	total := summary.Total()
	if *asJSON {
		return exitCompleted, errors.Join(c.printCostLines(rows, total), damage)
	}
	return exitCompleted, errors.Join(c.printCostTable(group, rows, &total), damage)
}

func (c *command) printCostLines(rows []costs.Row, total costs.Amount) error {
	for _, row := range rows {
		if err := c.printJSON(row); err != nil {
			return err
		}
	}
	return c.printJSON(struct {
		Total costs.Amount `json:"total"`
	}{total})
}

func (c *command) printCostTable(group grouping, rows []costs.Row, total *costs.Amount) error {
	table := tabwriter.NewWriter(c.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%s\tCALLS\tINPUT\tCACHE READ\tCACHE WRITE\tOUTPUT\tTOKENS\tCOST\n", strings.ToUpper(group.name))
	for i := range rows {
		printCostRow(table, dash(group.key(rows[i].Key)), &rows[i].Amount)
	}
	printCostRow(table, "total", total)
	return table.Flush()
}

func printCostRow(table *tabwriter.Writer, name string, a *costs.Amount) {
	fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", name, a.Calls,
		reported(a.Usage.Input), reported(a.Usage.CacheRead), reported(a.Usage.CacheWrite), reported(a.Usage.Output),
		atLeast(fmt.Sprint(a.Tokens()), a.TokensAtLeast()), costCell(a))
}

// reported is "-" for a count that no call reported.
func reported(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func costCell(a *costs.Amount) string {
	switch cost := costText(a); {
	case cost != "":
		return cost
	case a.Calls == 0:
		return "$0"
	}
	return "unknown"
}
