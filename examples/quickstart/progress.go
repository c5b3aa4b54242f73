package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/treadle-dev/treadle/workflow"
)

// maxReasonLines is how much of a refusal is shown; the log has all of it.
const maxReasonLines = 8

// progress prints a run's events as they come, a line a turn.
type progress struct {
	out    io.Writer
	tools  []toolCount // called since the last reply
	tokens int64       // of the current step
	failed int         // attempts of the current step
}

type toolCount struct {
	name  string
	count int
}

func (p *progress) event(ev *workflow.RunEvent) {
	switch ev.Kind {
	case workflow.StepStarted:
		p.tokens, p.failed = 0, 0
		p.line("%s", ev.Step)
	case workflow.ModelReplied:
		p.flush()
		if ev.Usage != nil {
			p.tokens += ev.Usage.Total()
		}
	case workflow.ToolCalled:
		p.count(ev.Tool)
		if ev.Error != "" {
			p.line("  %s: %s", ev.Tool, firstLines(ev.Error, 1))
		}
	case workflow.AttemptFailed:
		p.flush()
		p.failed++
		p.line("  attempt %d did not pass its validation:\n%s", ev.Attempt, indent(firstLines(ev.Error, maxReasonLines), "    | "))
	case workflow.StepCompleted:
		p.flush()
		p.line("  passed at attempt %d, %d tokens", p.failed+1, p.tokens)
	case workflow.StepFailed:
		p.flush()
		p.line("  failed: %s", firstLines(ev.Error, maxReasonLines))
	}
}

func (p *progress) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// count adds a call. Names come with their server's prefix, as files__write_file.
func (p *progress) count(tool string) {
	if _, after, ok := strings.Cut(tool, "__"); ok {
		tool = after
	}
	for i := range p.tools {
		if p.tools[i].name == tool {
			p.tools[i].count++
			return
		}
	}
	p.tools = append(p.tools, toolCount{tool, 1})
}

func (p *progress) flush() {
	for _, t := range p.tools {
		times := ""
		if t.count > 1 {
			times = fmt.Sprintf(" × %d", t.count)
		}
		p.line("  %s%s", t.name, times)
	}
	p.tools = nil
}

func firstLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > n {
		lines = append(lines[:n], "...")
	}
	return strings.Join(lines, "\n")
}

func indent(text, with string) string { return with + strings.ReplaceAll(text, "\n", "\n"+with) }
