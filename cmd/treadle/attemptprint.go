package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/workflow"
)

// maxFinal bounds the text of an agent's last reply, in lines.
const maxFinal = 12

// printAttempt prints an attempt as a block: a heading, then what was done in
// order, then what came of it.
func (c *command) printAttempt(a *attempt) {
	heading := fmt.Sprintf("%s, attempt %d", clean(a.Step), a.Attempt)
	if a.Visit > 1 {
		heading = fmt.Sprintf("%s, visit %d, attempt %d", clean(a.Step), a.Visit, a.Attempt)
	}
	if a.Record == nil {
		fmt.Fprintf(c.stdout, "%s: under way, or ended by force\n", heading)
	} else {
		fmt.Fprintf(c.stdout, "%s: %s, %s, %s, %s\n", heading, clean(a.Record.Status),
			count(len(a.LLMCalls), "model call"), count(len(a.ToolCalls), "tool call"), milliseconds(a.Record.DurationMS))
	}
	tools := a.ToolCalls
	for _, call := range a.LLMCalls {
		c.detail("turn %d: %s", call.Turn, modelText(&call))
		for len(tools) > 0 && tools[0].Turn <= call.Turn {
			c.detail("  %s", toolText(&tools[0]))
			tools = tools[1:]
		}
	}
	for i := range tools {
		c.detail("  %s", toolText(&tools[i]))
	}
	c.printOutcome(a)
}

func (c *command) printOutcome(a *attempt) {
	if v := a.Validation; v != nil {
		c.detail("validation: %d of %d checks passed", v.PassedChecks, v.TotalChecks)
		for _, failure := range v.Errors {
			c.detail("  %s", clean(failure.File+" "+failure.Path+": "+failure.Message))
		}
	}
	if r := a.Record; r != nil {
		if r.Error != "" {
			c.detail("error: %s", clean(r.Error))
		}
		lines := strings.Split(strings.TrimSpace(cleanLines(r.ExecutionResult)), "\n")
		if len(lines) > maxFinal {
			lines = append(lines[:maxFinal:maxFinal], "…")
		}
		for _, line := range lines {
			if line != "" {
				c.detail("| %s", line)
			}
		}
	}
	for _, damaged := range a.Damaged {
		c.detail("damaged log: %s", clean(damaged))
	}
}

func (c *command) detail(format string, args ...any) {
	fmt.Fprintf(c.stdout, "  "+format+"\n", args...)
}

func modelText(call *workflow.LLMCallLog) string {
	model := call.Model
	if model == "" {
		model = "the model"
	}
	u := &call.Usage
	return fmt.Sprintf("%s, %d tokens in, %d out, %s, %s", clean(model),
		sum(u.Input, u.CacheRead, u.CacheWrite), sum(u.Output), milliseconds(call.DurationMS), clean(string(call.Finish)))
}

func toolText(call *workflow.ToolCallLog) string {
	text := fmt.Sprintf("%s, %d bytes in, %d out, %s", clean(call.Name), call.ArgsBytes, call.ResultBytes, milliseconds(call.DurationMS))
	switch {
	case call.InDoubt:
		text += ", in doubt"
	case call.IsError:
		text += ", error"
	}
	return text
}

func milliseconds(n int64) string { return tookText(time.Duration(n) * time.Millisecond) }

// indent sets the lines after the first under the text of a field.
func indent(text string) string {
	return strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n          ")
}
