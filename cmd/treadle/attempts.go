package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// attempt is what the log files tell of one attempt, as far as it is shown. Record
// is nil for one that is under way, or that was interrupted by force.
type attempt struct {
	Step       string                 `json:"step_id"`
	Visit      int                    `json:"visit"`
	Attempt    int                    `json:"attempt"`
	Record     *workflow.AttemptLog   `json:"record,omitempty"`
	LLMCalls   []workflow.LLMCallLog  `json:"llm_calls,omitempty"`
	ToolCalls  []workflow.ToolCallLog `json:"tool_calls,omitempty"`
	Validation *validation.Log        `json:"validation,omitempty"`
	// Damaged names log files that could not be read.
	Damaged []string `json:"damaged,omitempty"`

	began time.Time
}

var attemptFile = regexp.MustCompile(`^execution-attempt-([1-9][0-9]*)-iteration-([1-9][0-9]*)-prompts\.json$`)

// readAttempts reads the log files of a run, or of one of its steps, in the order
// in which the attempts began.
func readAttempts(ctx context.Context, ws *workspace.Workspace, run, step string) ([]attempt, error) {
	layout := workspace.RunLayout(run)
	steps := []string{step}
	if step == "" {
		entries, err := readDir(ctx, ws, layout.Dir()+"/logs")
		if err != nil {
			return nil, err
		}
		steps = steps[:0]
		for _, e := range entries {
			if e.IsDir() {
				steps = append(steps, e.Name())
			}
		}
	}
	var attempts []attempt
	for _, step := range steps {
		if !fs.ValidPath(step) {
			return nil, &usageError{fmt.Sprintf("%q is no id of a step", step)}
		}
		entries, err := readDir(ctx, ws, layout.StepLogs(step)+"/execution")
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if m := attemptFile.FindStringSubmatch(e.Name()); m != nil {
				a, err := readAttempt(ctx, ws, layout, step, m)
				if err != nil {
					return nil, err
				}
				attempts = append(attempts, *a)
			}
		}
	}
	slices.SortFunc(attempts, func(a, b attempt) int {
		return cmp.Or(a.began.Compare(b.began), cmp.Compare(a.Step, b.Step), cmp.Compare(a.Visit, b.Visit), cmp.Compare(a.Attempt, b.Attempt))
	})
	return attempts, nil
}

func readDir(ctx context.Context, ws *workspace.Workspace, name string) ([]fs.DirEntry, error) {
	entries, err := ws.Storage().ReadDir(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return entries, err
}

func readAttempt(ctx context.Context, ws *workspace.Workspace, layout workspace.Layout, step string, m []string) (*attempt, error) {
	a := &attempt{Step: step}
	var err error
	if a.Attempt, err = strconv.Atoi(m[1]); err != nil {
		return nil, err
	}
	if a.Visit, err = strconv.Atoi(m[2]); err != nil {
		return nil, err
	}
	prompts := layout.AttemptLog(step, a.Attempt, a.Visit, "prompts")
	if info, err := ws.Storage().Stat(ctx, prompts); err == nil {
		a.began = info.ModTime()
	}
	record, talk, report := &workflow.AttemptLog{}, &workflow.ConversationLog{}, &validation.Log{}
	if a.read(ctx, ws, layout.AttemptLog(step, a.Attempt, a.Visit, ""), record) {
		a.Record, a.began = record, record.StartedAt
	}
	if a.read(ctx, ws, layout.AttemptLog(step, a.Attempt, a.Visit, "conversation"), talk) {
		a.LLMCalls, a.ToolCalls = talk.LLMCalls, talk.ToolCalls
		slices.SortStableFunc(a.ToolCalls, func(x, y workflow.ToolCallLog) int {
			return cmp.Or(cmp.Compare(x.Turn, y.Turn), cmp.Compare(x.Index, y.Index))
		})
	}
	if a.read(ctx, ws, layout.AttemptValidationLog(step, a.Attempt, a.Visit), report) {
		a.Validation = report
	}
	return a, ctx.Err()
}

// read reads one log file and reports whether it could.
func (a *attempt) read(ctx context.Context, ws *workspace.Workspace, name string, into any) bool {
	data, err := ws.Storage().ReadFile(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	if err == nil {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		a.Damaged = append(a.Damaged, fmt.Sprintf("%s: %v", name, err))
		return false
	}
	return true
}
