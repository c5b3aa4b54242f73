package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/validation"
)

// regularType is the step that an agent does with its tools.
func regularType() *StepType {
	return &StepType{
		Name:     "regular",
		Manifest: regularManifest(),
		New:      func() Step { return &RegularStep{} },
		Execute:  executeRegular,
	}
}

// RegularStep is a step of type "regular": an agent works on the description
// until the outputs pass the validation schema, in a bounded number of attempts
// that continue one conversation.
type RegularStep struct {
	StepBase
}

func executeRegular(sc *StepContext) (outcome *Outcome, err error) {
	r := &regularVisit{sc: sc}
	if err := r.open(sc.Context()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	for attempt := 1; ; attempt++ {
		passed, err := r.attempt(sc.Context(), attempt)
		switch {
		case err != nil:
			return nil, err
		case passed:
			return r.outcome(attempt)
		case attempt >= sc.run.ctl.config.Attempts && !r.begun(attempt+1):
			return nil, fmt.Errorf("%w in %d attempts:\n%s", ErrValidation, attempt, r.report.Feedback)
		}
	}
}

// begun reports whether an attempt is recorded, from a time when more were allowed.
func (r *regularVisit) begun(attempt int) bool {
	scope, err := r.sc.journal()
	if err != nil {
		return false
	}
	_, ok, err := scope.Recorded(fmt.Sprintf("attempt/%d/turn/1/reply", attempt))
	return ok && err == nil
}

// regularVisit is one visit of a regular step.
type regularVisit struct {
	sc     *StepContext
	given  *given
	conv   *agent.Conversation
	loop   agent.Loop
	tools  *stepTools
	report *checked     // of the last attempt
	final  string       // the last reply's text
	trace  attemptTrace // of the attempt under way
	shown  int          // messages that earlier attempts' logs hold
	closed bool

	mu sync.Mutex // of trace.toolCalls: tools run side by side
}

// checked is the recorded result of an attempt's validation.
type checked struct {
	At       time.Time `json:"at"`
	Passed   bool      `json:"passed"`
	Feedback string    `json:"feedback,omitempty"`
	// Repair is what the agent is told when another attempt follows.
	Repair string             `json:"repair,omitempty"`
	Report *validation.Report `json:"report,omitempty"`
}

// open finds what the agent works with.
func (r *regularVisit) open(ctx context.Context) error {
	sc := r.sc
	if _, err := sc.WorkDir(); err != nil {
		return err
	}
	tools, err := sc.openTools(ctx)
	if err != nil {
		return err
	}
	r.tools = tools
	if err := r.prepare(ctx); err != nil {
		return errors.Join(err, r.close())
	}
	return nil
}

func (r *regularVisit) prepare(ctx context.Context) error {
	sc, program, config := r.sc, r.sc.run.program, &r.sc.run.ctl.config
	refs, err := program.models(sc.step, config)
	if err != nil {
		return err
	}
	backends, err := sc.run.ctl.backends(ctx, refs)
	if err != nil {
		return err
	}
	r.loop = agent.Loop{
		LLM:              backends[0].LLM,
		Provider:         backends[0].Provider,
		Request:          agent.Request{Model: backends[0].Model, Options: backends[0].Options, SerialTools: sc.step.effective.DisableParallelToolExecution},
		Fallbacks:        backends[1:],
		Retry:            config.Retry,
		MaxTurns:         sc.step.effective.ExecutionMaxTurns,
		MaxDuration:      config.Limits.AttemptDuration,
		MaxTokens:        config.Limits.AttemptTokens,
		MaxParallelTools: config.Limits.ParallelTools,
		Meter:            config.Meter,
		Condenser:        &agent.Condenser{Window: config.Limits.ContextWindow},
		Steering:         sc.run.steering.open(sc.step.id),
		OnReply:          r.onReply,
		OnTool:           r.onTool,
		OnRetry:          r.onRetry,
		OnUnchecked: func(tool string, err error) {
			sc.Logger().Warn("tool arguments are not checked: the input schema does not compile", "tool", tool, "error", err)
		},
	}
	if config.Sink != nil {
		r.loop.Sink = func(d agent.Delta) { config.Sink(sc.step.id, d) }
	}
	if sc.step.effective.EnableContextOffloading {
		r.loop.Offload = &agent.Offload{
			Storage: sc.run.ws.Storage(), Folder: sc.run.layout.ToolOutput(sc.step.id), Show: sc.toolPath,
			Redact: sc.run.ctl.redactor.Text,
		}
	}
	tools, err := r.liveTools(ctx)
	if err != nil {
		return err
	}
	if r.given, err = r.recallGiven(tools); err != nil {
		return err
	}
	r.conv = agent.NewNamedConversation(sc.run.id+"/"+sc.leaf.key, r.given.Messages...)
	r.loop.Live = agent.ResumeLiveTools(r.given.Tools, tools, r.liveTools)
	return nil
}

// liveTools are what the agent could be given now. It is told nothing secret.
func (r *regularVisit) liveTools(ctx context.Context) ([]agent.Tool, error) {
	tools, err := r.tools.list(ctx)
	if err != nil || len(tools) == 0 {
		return nil, err
	}
	if r.loop.Offload != nil {
		tools = append(tools, r.loop.Offload.Tool())
	}
	return r.sc.run.ctl.hideInSpecs(tools), nil
}

// close ends what could still write to the work folder. It may be called again.
func (r *regularVisit) close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	r.sc.run.steering.close(r.sc.step.id)
	return r.tools.close()
}

// attempt lets the agent work and checks what it has produced.
func (r *regularVisit) attempt(ctx context.Context, attempt int) (passed bool, err error) {
	sc := r.sc
	sc.attempt = attempt
	scope, err := sc.journal()
	if err != nil {
		return false, err
	}
	if _, err := sc.WorkDir(); err != nil { // a tool may have removed it
		return false, err
	}
	name := "attempt/" + strconv.Itoa(attempt)
	r.report = nil
	if err := r.begin(scope.Under(name), attempt); err != nil {
		return false, err
	}
	r.loop.Journal = scope.Under(name)
	r.loop.KeyPrefix = sc.run.id + "/" + sc.leaf.key + "/" + name + "/"
	result, err := r.loop.Run(ctx, r.conv)
	if err != nil {
		r.log(attempt, result, err)
		return false, err
	}
	r.final = result.Final.ContentText()
	if r.report, err = r.check(ctx, attempt, name); err != nil {
		return false, err
	}
	r.log(attempt, result, nil)
	if r.report.Passed {
		return true, nil
	}
	sc.run.emit(RunEvent{Kind: AttemptFailed, Step: sc.step.id, Visit: sc.leaf.visit, Attempt: attempt, Error: r.report.Feedback})
	r.conv.Append(agent.UserMessage(r.report.Repair))
	return false, nil
}

// check validates the work folder, or recalls how a validation failed before an
// interruption: the files may have changed since, and the next attempt was told.
func (r *regularVisit) check(ctx context.Context, attempt int, name string) (*checked, error) {
	sc := r.sc
	scope, err := sc.journal()
	if err != nil {
		return nil, err
	}
	result := &checked{At: sc.run.ctl.config.Now().UTC()}
	if data, ok, err := scope.Recorded(name + "/validation"); err != nil {
		return nil, err
	} else if ok {
		return result, json.Unmarshal(data, result)
	}
	if err := r.validate(ctx, result); err != nil {
		return nil, err
	}
	if result.Passed && r.given.Verdict {
		verdict, err := r.verdict(ctx, attempt)
		if err != nil {
			return nil, err
		}
		if result.Passed = verdict.Passed; !result.Passed {
			result.Feedback = sc.run.ctl.redactor.Text(verdict.feedback())
		}
	}
	if result.Passed {
		return result, nil // the outcome follows at once
	}
	result.Repair, err = render(sc.run.ctl.prompts.repair, repairPrompt{
		Attempt: attempt, Left: max(sc.run.ctl.config.Attempts-attempt, 0), Feedback: result.Feedback,
	})
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return result, scope.Note(name+"/validation", data)
}

// database is what db checks ask; nil where the host has none.
func (sc *StepContext) database() validation.Database {
	if open := sc.run.ctl.config.Database; open != nil {
		return open(sc.run.ws.Storage())
	}
	return nil
}

// validate checks that the declared outputs are there, then the schema.
func (r *regularVisit) validate(ctx context.Context, result *checked) error {
	sc := r.sc
	workDir := sc.run.layout.Work(sc.leaf.key)
	var feedback []string
	files := sc.hostView()
	for _, output := range sc.outputs() {
		problem, err := missingOutput(ctx, files, workDir+"/"+output)
		if err != nil {
			return err
		}
		if problem != "" {
			feedback = append(feedback, fmt.Sprintf("The output file %s %s.", sc.toolPath(workDir+"/"+output), problem))
		}
	}
	unkept, err := unkeepable(ctx, sc.run.ws.Storage(), workDir)
	if err != nil {
		return err
	}
	feedback = append(feedback, unkept...)
	if sc.step.checker != nil {
		report, err := sc.step.checker.Check(ctx, files, workDir, sc.database())
		if err != nil {
			return err
		}
		result.Report = report
		if !report.OverallPass {
			feedback = append(feedback, report.Feedback())
		}
	}
	result.Passed = len(feedback) == 0
	result.Feedback = sc.run.ctl.redactor.Text(strings.Join(feedback, "\n\n"))
	return nil
}

func (r *regularVisit) outcome(attempts int) (*Outcome, error) {
	result, err := json.Marshal(oneLine(r.final, maxLastResult))
	if err != nil {
		return nil, err
	}
	if err := r.close(); err != nil {
		return nil, err
	}
	r.sc.countSuccess(r.sc.run.ctx)
	return &Outcome{Result: result, Attempts: attempts}, nil
}
