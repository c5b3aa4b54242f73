package workflow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"

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
		case attempt >= sc.run.ctl.config.Attempts:
			return nil, fmt.Errorf("%w in %d attempts:\n%s", ErrValidation, attempt, r.report.Feedback)
		}
	}
}

// regularVisit is one visit of a regular step.
type regularVisit struct {
	sc     *StepContext
	given  *given
	conv   *agent.Conversation
	loop   agent.Loop
	done   func() error // closes the step's own tool sessions
	report *checked     // of the last attempt
	final  string       // the last reply's text
	trace  attemptTrace // of the attempt under way
	shown  int          // messages that earlier attempts' logs hold
	closed bool

	mu sync.Mutex // of trace.toolCalls: tools run side by side
}

// given is what the visit's agent is given. It is recorded before the first model
// call and used again after a resume, whatever the library or the host's tools
// are then.
type given struct {
	Messages []agent.Message  `json:"messages"`
	Tools    []agent.ToolSpec `json:"tools,omitempty"`
	Provider string           `json:"provider,omitempty"`
	Model    string           `json:"model,omitempty"`
}

// checked is the recorded result of an attempt's validation.
type checked struct {
	Passed   bool   `json:"passed"`
	Feedback string `json:"feedback,omitempty"`
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
	tools, done, err := sc.tools(ctx)
	if err != nil {
		return err
	}
	r.done = done
	if err := r.prepare(ctx, tools); err != nil {
		return errors.Join(err, r.close())
	}
	return nil
}

func (r *regularVisit) prepare(ctx context.Context, tools []agent.Tool) error {
	sc := r.sc
	var err error
	if r.given, err = r.recallGiven(tools); err != nil {
		return err
	}
	if sc.run.ctl.config.Models == nil {
		return errors.New("the step needs a model and the host has configured none (Config.Models)")
	}
	llm, err := sc.run.ctl.config.Models.LLM(ctx, r.given.Provider)
	if err != nil {
		return err
	}
	r.conv = agent.NewConversation(r.given.Messages...)
	r.loop = agent.Loop{
		LLM:      llm,
		Provider: r.given.Provider,
		Request:  agent.Request{Model: r.given.Model},
		Tools:    pinTools(r.given.Tools, tools),
		MaxTurns: sc.run.program.maxTurns(sc.step),
		OnReply:  r.onReply,
		OnTool:   r.onTool,
	}
	r.loop.Request.SerialTools = sc.run.program.serialTools(sc.step)
	if sink := sc.run.ctl.config.Sink; sink != nil {
		r.loop.Sink = func(d agent.Delta) { sink(sc.step.id, d) }
	}
	if sc.step.config != nil && sc.step.config.ExecutionLLM != nil {
		r.loop.Request.Options = sc.step.config.ExecutionLLM.Options
	}
	return nil
}

// close ends what could still write to the work folder. It may be called again.
func (r *regularVisit) close() error {
	if r.closed {
		return nil
	}
	r.closed = true
	return r.done()
}

// recallGiven takes what the agent is given from the journal, or makes and
// records it.
func (r *regularVisit) recallGiven(tools []agent.Tool) (*given, error) {
	sc := r.sc
	scope, err := sc.journal()
	if err != nil {
		return nil, err
	}
	g := &given{}
	if data, ok, err := scope.Recorded("given"); err != nil {
		return nil, err
	} else if ok {
		return g, json.Unmarshal(data, g)
	}
	if g.Messages, err = sc.messages(); err != nil {
		return nil, err
	}
	g.Provider, g.Model = sc.run.program.model(sc.step, &sc.run.ctl.config)
	for _, tool := range tools {
		g.Tools = append(g.Tools, tool.Spec())
	}
	data, err := json.Marshal(g)
	if err != nil {
		return nil, err
	}
	if redactor := sc.run.ctl.redactor; redactor != nil {
		// The agent is given what the record says, and nothing secret.
		data = redactor.JSON(data)
		g = &given{}
		if err := json.Unmarshal(data, g); err != nil {
			return nil, err
		}
	}
	return g, scope.Note("given", data)
}

// attempt lets the agent work and checks what it has produced.
func (r *regularVisit) attempt(ctx context.Context, attempt int) (passed bool, err error) {
	sc := r.sc
	sc.attempt = attempt
	scope, err := sc.journal()
	if err != nil {
		return false, err
	}
	name := fmt.Sprintf("attempt/%d", attempt)
	r.begin(attempt)
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

// check validates the work folder, or recalls what a validation before an
// interruption said: the files may have changed since.
func (r *regularVisit) check(ctx context.Context, attempt int, name string) (*checked, error) {
	sc := r.sc
	scope, err := sc.journal()
	if err != nil {
		return nil, err
	}
	result := &checked{Passed: true}
	if data, ok, err := scope.Recorded(name + "/validation"); err != nil {
		return nil, err
	} else if ok {
		return result, json.Unmarshal(data, result)
	}
	if err := r.validate(ctx, result); err != nil {
		return nil, err
	}
	if !result.Passed {
		result.Repair, err = render(sc.run.ctl.prompts.repair, repairPrompt{
			Attempt: attempt, Left: sc.run.ctl.config.Attempts - attempt, Feedback: result.Feedback,
		})
		if err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(result)
	if err != nil {
		return nil, err
	}
	return result, scope.Note(name+"/validation", data)
}

// validate checks that the declared outputs are there, then the schema.
func (r *regularVisit) validate(ctx context.Context, result *checked) error {
	sc := r.sc
	workDir := sc.run.layout.Work(sc.leaf.key)
	var feedback []string
	for _, output := range sc.step.Base().ContextOutput {
		there, err := exists(ctx, sc.run.ws.Storage(), workDir+"/"+output)
		if err != nil {
			return err
		}
		if !there {
			feedback = append(feedback, fmt.Sprintf("The output file %s does not exist.", sc.toolPath(workDir+"/"+output)))
		}
	}
	if sc.step.checker != nil {
		report, err := sc.step.checker.Check(ctx, sc.run.ws.Storage(), workDir)
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
	return &Outcome{Result: result, Attempts: attempts}, nil
}

// model is the provider and the model of a step: its own configuration, else the
// host's.
func (p *Program) model(s *compiledStep, config *Config) (provider, model string) {
	if s.config != nil && s.config.ExecutionLLM != nil {
		return s.config.ExecutionLLM.Provider, s.config.ExecutionLLM.ModelID
	}
	return config.Provider, config.Model
}

func (p *Program) maxTurns(s *compiledStep) int {
	switch {
	case s.config != nil && s.config.ExecutionMaxTurns != nil:
		return *s.config.ExecutionMaxTurns
	case p.settings.ExecutionDefaults.ExecutionMaxTurns != nil:
		return *p.settings.ExecutionDefaults.ExecutionMaxTurns
	}
	return agent.DefaultMaxTurns
}

func (p *Program) serialTools(s *compiledStep) bool {
	switch {
	case s.config != nil && s.config.DisableParallelToolExecution != nil:
		return *s.config.DisableParallelToolExecution
	case p.settings.ExecutionDefaults.DisableParallelToolExecution != nil:
		return *p.settings.ExecutionDefaults.DisableParallelToolExecution
	}
	return false
}

// pinTools gives the recorded tools, by the specs recorded, whatever the servers
// say now. One that is gone answers that it is.
func pinTools(specs []agent.ToolSpec, live []agent.Tool) []agent.Tool {
	byName := make(map[string]agent.Tool, len(live))
	for _, tool := range live {
		byName[tool.Spec().Name] = tool
	}
	pinned := make([]agent.Tool, len(specs))
	for i, spec := range specs {
		pinned[i] = pinnedTool{spec: spec, tool: byName[spec.Name]}
	}
	return pinned
}

type pinnedTool struct {
	spec agent.ToolSpec
	tool agent.Tool // nil when it is gone
}

func (t pinnedTool) Spec() agent.ToolSpec { return t.spec }

func (t pinnedTool) Call(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	if t.tool == nil {
		return agent.ErrorResult(t.spec.Name + " is not available any more; go on without it"), nil
	}
	return t.tool.Call(ctx, call)
}
