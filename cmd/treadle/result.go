package main

import (
	"errors"
	"fmt"

	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// lineKind tells the lines of a run as JSON apart; those of events have a kind, too.
type lineKind struct {
	Kind string `json:"kind"`
}

// resultLine is the last line of a run as JSON, of the kind "result".
type resultLine struct {
	lineKind
	*workflow.Result
	Error  string `json:"error,omitempty"`
	Resume string `json:"resume,omitempty"` // the command
}

// errorLine is the only line, as JSON, of a run that did not begin: of the kind
// "error".
type errorLine struct {
	lineKind
	Error       string                `json:"error"`
	Diagnostics workspace.Diagnostics `json:"diagnostics,omitempty"`
}

func newErrorLine(err error) errorLine {
	line := errorLine{lineKind: lineKind{"error"}, Error: err.Error()}
	if errors.As(err, &line.Diagnostics) {
		return line
	}
	if servers, ok := errors.AsType[mcp.ConfigErrors](err); ok {
		line.Diagnostics = servers.Diagnostics()
	}
	return line
}

func (c *command) newResultLine(result *workflow.Result, err error) resultLine {
	line := resultLine{lineKind: lineKind{"result"}, Result: result}
	if err != nil {
		line.Error = err.Error()
	}
	if result.Status != workflow.StatusCompleted {
		line.Resume = c.resumeCommand(result.Folder)
	}
	return line
}

// printResult tells how a run ended, where its files are, and what comes next.
func (c *command) printResult(result *workflow.Result, err error) {
	c.field("status", "%s, %s completed in %s", result.Status, count(len(result.Steps), "step"), tookText(result.Took))
	c.field("run", "%s", workspace.RunLayout(result.Folder).Dir())
	c.field("tokens", "%s", tokensText(&result.Totals))
	if cost := costText(&result.Totals); cost != "" {
		c.field("cost", "%s", cost)
	}
	if err != nil {
		c.field("reason", "%s", indent(cleanLines(err.Error())))
	}
	if result.Status != workflow.StatusCompleted {
		c.field("resume", "%s", c.resumeCommand(result.Folder))
	}
}

// field prints a line of a block that describes something.
func (c *command) field(name, format string, args ...any) {
	fmt.Fprintf(c.stdout, "%-9s "+format+"\n", append([]any{name}, args...)...)
}
