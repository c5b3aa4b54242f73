package main

import (
	"fmt"
	"strings"

	"github.com/treadle-dev/treadle/workflow"
)

// maxReason bounds an error in a line of progress, in runes.
const maxReason = 300

// eventLine tells an event in one line.
func eventLine(ev *workflow.RunEvent, run string) string {
	return ev.Time.Local().Format("15:04:05") + " " + eventText(ev, run)
}

func eventText(ev *workflow.RunEvent, run string) string {
	reason := ""
	if ev.Error != "" {
		reason = ": " + cut(clean(ev.Error), maxReason)
	}
	switch ev.Kind {
	case workflow.RunStarted:
		return run + " started"
	case workflow.RunResumed:
		return run + " resumed"
	case workflow.RunEnded:
		return run + " " + string(ev.Status) + reason
	case workflow.StepStarted:
		if ev.Visit > 1 {
			return fmt.Sprintf("%s: started, visit %d", ev.Step, ev.Visit)
		}
		return ev.Step + ": started"
	case workflow.StepCompleted:
		return ev.Step + ": completed"
	case workflow.StepFailed:
		return ev.Step + ": failed" + reason
	case workflow.AttemptFailed:
		return fmt.Sprintf("%s: attempt %d did not pass%s", ev.Step, ev.Attempt, reason)
	case workflow.ModelReplied:
		return position(ev) + replyText(ev) + recordedMark(ev)
	case workflow.ModelFailed:
		text := position(ev) + "a model call failed"
		if ev.Retrying {
			text += ", trying again"
		}
		return text + reason
	case workflow.ToolCalled:
		return position(ev) + "called " + clean(ev.Tool) + recordedMark(ev) + reason
	}
	return strings.TrimSpace(ev.Step + " " + string(ev.Kind) + reason)
}

func position(ev *workflow.RunEvent) string {
	return fmt.Sprintf("%s: attempt %d, turn %d: ", ev.Step, ev.Attempt, ev.Turn)
}

func replyText(ev *workflow.RunEvent) string {
	text := "the model replied"
	if ev.Model != "" {
		text = clean(ev.Model) + " replied"
	}
	if u := ev.Usage; u != nil && (u.Input != nil || u.CacheRead != nil || u.Output != nil) {
		text += fmt.Sprintf(", %d tokens in, %d out", sum(u.Input, u.CacheRead, u.CacheWrite), sum(u.Output))
	}
	return text
}

func recordedMark(ev *workflow.RunEvent) string {
	if ev.Replayed {
		return " (recorded before)"
	}
	return ""
}
