package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/learning"
	"github.com/treadle-dev/treadle/stepconfig"
)

// steadySuccesses is after how many successes on one description the mode auto
// trusts the checks alone.
const steadySuccesses = 3

// verdictTries bounds how often a process asks for a verdict on one attempt, when
// the model gives none.
const verdictTries = 2

// Verdict is what a model says of the outputs of a step.
type Verdict struct {
	// Reasoning comes first so that the model thinks before it decides.
	Reasoning string `json:"reasoning" jsonschema:"description=Why the work passes or not: what was looked at and what it shows"`
	// Issues are what must be mended; empty when the work passes.
	Issues []string `json:"issues" jsonschema:"description=What must be mended. Empty when the work passes"`
	Passed bool     `json:"passed" jsonschema:"description=Whether the work does what the task asks for"`
}

// feedback is what the step's agent is told.
func (v *Verdict) feedback() string {
	var b strings.Builder
	b.WriteString("A reviewer does not accept the outputs: " + strings.TrimSpace(v.Reasoning))
	for _, issue := range v.Issues {
		b.WriteString("\n- " + strings.TrimSpace(issue))
	}
	return b.String()
}

// ModelValidationLog is validation-{N}.json, and validation.json for the last one.
type ModelValidationLog struct {
	StepID      string          `json:"step_id"`
	StepPath    string          `json:"step_path"`
	RunID       string          `json:"run_id"`
	Attempt     int             `json:"attempt"`
	Iteration   int             `json:"iteration"`
	Status      string          `json:"status"` // passed, failed or interrupted
	Verdict     *Verdict        `json:"verdict,omitempty"`
	Error       string          `json:"error,omitempty"`
	Provider    string          `json:"provider,omitempty"`
	Model       string          `json:"model,omitempty"`
	StartedAt   time.Time       `json:"started_at"`
	CompletedAt time.Time       `json:"completed_at"`
	DurationMS  int64           `json:"duration_ms"`
	LLMCalls    []LLMCallLog    `json:"llm_calls"`
	History     []agent.Message `json:"conversation_history"`
}

// wantsVerdict decides, at the start of a visit, whether a model judges its outputs.
func (sc *StepContext) wantsVerdict(ctx context.Context) (bool, error) {
	switch sc.step.effective.ModelValidation() {
	case stepconfig.ValidationAlways:
		return true, nil
	case stepconfig.ValidationAuto:
		m, err := learning.ReadMetadata(ctx, sc.run.ws.Storage(), sc.step.id)
		if err != nil {
			return false, err
		}
		return !m.Steady(sc.step.Base().Description, steadySuccesses), nil
	}
	return false, nil
}

// countSuccess counts a visit that passed, for the mode auto.
func (sc *StepContext) countSuccess(ctx context.Context) {
	if sc.step.effective.ModelValidation() != stepconfig.ValidationAuto {
		return
	}
	st := sc.run.ws.Storage()
	m, err := learning.ReadMetadata(ctx, st, sc.step.id)
	if err == nil {
		m.Succeeded(sc.run.id+"/"+sc.leaf.key, sc.step.Base().Description)
		err = m.Write(ctx, st)
	}
	if err != nil {
		sc.Logger().Warn("count a success", "error", sc.run.redactError(err))
	}
}

// verdict asks a model whether the outputs of an attempt do what the task asks for.
// A model that gives no verdict is asked once more from the start.
func (r *regularVisit) verdict(ctx context.Context, attempt int) (*Verdict, error) {
	scope, err := r.sc.journal()
	if err != nil {
		return nil, err
	}
	left := verdictTries
	for try := 1; ; try++ {
		at := scope.Under(verdictName(attempt, try))
		if _, failed, err := at.Recorded("failed"); err != nil {
			return nil, err
		} else if failed {
			continue
		}
		verdict, err := r.askForVerdict(ctx, at, attempt, try)
		var none *agent.OutputError
		if !errors.As(err, &none) {
			return verdict, err
		}
		if err := at.Note("failed", []byte(strconv.Quote(none.Err.Error()))); err != nil {
			return nil, err
		}
		if left--; left == 0 {
			return nil, fmt.Errorf("the model that validates the step gave no verdict: %w", none)
		}
	}
}

func verdictName(attempt, try int) string { return fmt.Sprintf("attempt/%d/verdict/%d", attempt, try) }

func (r *regularVisit) askForVerdict(ctx context.Context, scope *journal.Scope, attempt, try int) (*Verdict, error) {
	sc := r.sc
	loop, err := r.verdictLoop(ctx)
	if err != nil {
		return nil, err
	}
	messages, err := r.verdictMessages(ctx, scope)
	if err != nil {
		return nil, err
	}
	name := verdictName(attempt, try)
	log := &ModelValidationLog{
		StepID: sc.step.id, StepPath: sc.leaf.key, RunID: sc.run.id, Attempt: attempt, Iteration: sc.leaf.visit,
		Provider: loop.Provider, Model: loop.Request.Model, StartedAt: sc.run.ctl.config.Now().UTC(),
	}
	loop.Journal = scope
	loop.KeyPrefix = sc.run.id + "/" + sc.leaf.key + "/" + name + "/"
	loop.OnReply = func(turn int, reply *agent.Reply) {
		log.LLMCalls = append(log.LLMCalls, llmCallLog(turn, reply))
		sc.countReply(sc.leaf.key+"/"+name, turn, reply)
	}
	loop.OnRetry = func(turn int, failed *agent.FailedTry, wait time.Duration, again bool) {
		sc.countFailed(sc.leaf.key+"/"+name, turn, failed, wait, again)
	}
	conv := agent.NewNamedConversation(sc.run.id+"/"+sc.leaf.key+"/"+name, messages...)
	result, err := loop.Run(ctx, conv)
	verdict := &Verdict{}
	if err == nil {
		err = json.Unmarshal(result.Output, verdict)
	}
	log.History = conv.Messages()
	r.logVerdict(log, verdict, err)
	if err != nil {
		return nil, err
	}
	return verdict, nil
}

func (r *regularVisit) logVerdict(log *ModelValidationLog, verdict *Verdict, cause error) {
	sc := r.sc
	log.CompletedAt = sc.run.ctl.config.Now().UTC()
	log.DurationMS = log.CompletedAt.Sub(log.StartedAt).Milliseconds()
	switch {
	case cause != nil:
		log.Status, log.Error = "interrupted", errorText(cause)
	case verdict.Passed:
		log.Status, log.Verdict = "passed", verdict
	default:
		log.Status, log.Verdict = "failed", verdict
	}
	layout := sc.run.layout
	sc.writeLog(layout.ModelValidationLog(sc.step.id, log.Attempt, log.Iteration), log)
	sc.writeLog(layout.ModelValidationLog(sc.step.id, 0, 0), log)
}

// verdictLoop is the agent that judges: the model of validation_llm, else the step's
// own, with those of the step's tools that change nothing.
func (r *regularVisit) verdictLoop(ctx context.Context) (*agent.Loop, error) {
	sc, program, config := r.sc, r.sc.run.program, &r.sc.run.ctl.config
	refs, err := program.verdictModels(sc.step, config)
	if err != nil {
		return nil, err
	}
	backends, err := sc.run.ctl.backends(ctx, refs)
	if err != nil {
		return nil, err
	}
	schema, err := agent.SchemaFor[Verdict]()
	if err != nil {
		return nil, err
	}
	output, err := agent.NewOutput("verdict", schema, agent.SchemaProfileFor(backends[0].Provider))
	if err != nil {
		return nil, err
	}
	tools, err := r.liveTools(ctx)
	if err != nil {
		return nil, err
	}
	looking := slices.DeleteFunc(slices.Clone(tools), func(t agent.Tool) bool { return t.Spec().Effect != agent.ReadOnly })
	return &agent.Loop{
		LLM: backends[0].LLM, Provider: backends[0].Provider, Fallbacks: backends[1:], Retry: config.Retry,
		Request: agent.Request{Model: backends[0].Model, Options: backends[0].Options, SerialTools: r.loop.Request.SerialTools},
		Tools:   looking, Offload: r.loop.Offload, Output: output, OnUnchecked: r.loop.OnUnchecked,
		MaxTurns: sc.step.effective.ValidationMaxTurns, MaxDuration: config.Limits.AttemptDuration,
		MaxTokens: config.Limits.AttemptTokens, MaxParallelTools: config.Limits.ParallelTools, Meter: config.Meter,
		Condenser: &agent.Condenser{Window: config.Limits.ContextWindow},
	}, nil
}

// verdictPrompt is the data of verdict.md.
type verdictPrompt struct {
	ID, Title, Description, WorkDir, Claim string
	Outputs                                []gathered
}

// verdictMessages are what the judge is told, recorded before its first call.
func (r *regularVisit) verdictMessages(ctx context.Context, scope *journal.Scope) ([]agent.Message, error) {
	sc := r.sc
	var messages []agent.Message
	if data, ok, err := scope.Recorded("given"); err != nil {
		return nil, err
	} else if ok {
		return messages, json.Unmarshal(data, &messages)
	}
	description, _ := sc.run.vars.Expand(sc.step.Base().Description)
	workDir := sc.run.layout.Work(sc.leaf.key)
	prompt := verdictPrompt{
		ID: sc.step.id, Title: sc.titleOf(sc.step), Description: strings.TrimSpace(description),
		WorkDir: sc.toolPath(workDir), Claim: r.final,
	}
	room := maxInlineInputs
	for _, output := range sc.outputs() {
		name := workDir + "/" + output
		out := gathered{Name: output, Path: sc.toolPath(name), Text: sc.inline(ctx, name, room)}
		room -= len(out.Text)
		prompt.Outputs = append(prompt.Outputs, out)
	}
	text, err := render(sc.run.ctl.prompts.verdict, prompt)
	if err != nil {
		return nil, err
	}
	messages = []agent.Message{agent.SystemMessage(sc.run.ctl.prompts.verdictSystem), agent.UserMessage(text)}
	return messages, sc.noteGiven(scope, &messages)
}
