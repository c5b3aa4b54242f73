package workflow

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/codetable"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// endStep is the next_step_id that ends a run.
const endStep = "end"

var stepID = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// CompileOptions are what compiling needs from the host. The zero value and nil
// are the built-in step types and the workflow's own variables.
type CompileOptions struct {
	// StepTypes are the host's own, beside the built-in ones.
	StepTypes []*StepType
	// Group is the group of variables that is run, by name. Empty checks the plan with
	// the values of every group.
	Group string
	// Variables override values of variables.json; each must be declared there, unless
	// its name starts with "input.".
	Variables Variables

	forRun   bool // the plan is run now, so a group is needed where there are any
	recalled bool // the variables are of a run that was started before
}

// Compile checks a workflow's files and turns them into a program. It is pure and
// offline, and reports every problem at once. The program is nil when a
// diagnostic is an error; notices alone leave it usable.
func Compile(src *Source, opts *CompileOptions) (*Program, workspace.Diagnostics) {
	if src == nil {
		src = &Source{}
	}
	if opts == nil {
		opts = &CompileOptions{}
	}
	c := &compiler{src: src, opts: opts, program: &Program{byID: map[string]int32{}, source: src}}
	c.compile()
	c.src.locate(c.ds)
	if c.ds.HasErrors() {
		return nil, c.ds
	}
	return c.program, c.ds
}

type compiler struct {
	src     *Source
	opts    *CompileOptions
	program *Program
	ds      workspace.Diagnostics

	producers map[string][]int32    // step indices by output file name
	ids       *identities           // of all steps
	partial   bool                  // some step could not be read, or leads nowhere
	configs   map[string]int        // indices in the step configuration by step id
	silent    *stepconfig.Effective // of steps without a configuration
	looked    int                   // at nodes of the graph: what its questions cost
}

func (c *compiler) compile() {
	types, err := newTypeRegistry(c.opts.StepTypes)
	if err != nil {
		c.report(codePlanTypes, "", err.Error(), "")
		return
	}
	c.readSettings()
	c.readVariables()
	c.checkSchedules()
	if c.src.Soul != nil {
		_, ds := parseSoul(c.src.Soul, c.src.Plan)
		c.ds = append(c.ds, ds...)
	}
	c.readConfig()
	if c.src.Plan == nil {
		c.report(codePlanMissing, "", "the workflow has no plan", "")
		return
	}
	plan, ds := parsePlan(c.src.Plan, types)
	c.ds = append(c.ds, slices.DeleteFunc(ds, c.readAsSoul)...)
	if plan == nil {
		return
	}
	if len(plan.Steps) == 0 {
		c.report(codeStepsEmpty, "/steps", "the plan has no steps", "")
		return
	}
	c.identify(plan)
	c.addSteps(plan, types)
	c.checkConfigIDs()
	for _, s := range c.program.steps {
		c.resolveStep(s)
	}
	c.resolveOrphans(plan)
	if !c.partial {
		c.lower()
	}
	c.program.revision = PlanRevision(c.src.Plan)
}

// readAsSoul reports whether what is found at an old key of the plan is told already,
// since the objective is read from there.
func (c *compiler) readAsSoul(d workspace.Diagnostic) bool {
	return d.Code == codePlanKeyLegacy && slices.ContainsFunc(c.ds, func(told workspace.Diagnostic) bool {
		return told.File == d.File && told.Pointer == d.Pointer
	})
}

func (c *compiler) readSettings() {
	settings, ds := parseSettings(c.src.Settings)
	c.program.settings, c.ds = settings, append(c.ds, ds...)
	c.silent = stepconfig.Resolve(nil, settings.stepDefaults())
}

func (c *compiler) readConfig() {
	c.program.config, c.program.configFile = &stepconfig.File{}, c.src.StepConfigFile
	if c.program.configFile == "" {
		c.program.configFile = workspace.StepConfigFile
	}
	if c.src.StepConfig == nil {
		return
	}
	file, ds := stepconfig.Parse(c.program.configFile, c.src.StepConfig)
	c.ds = append(c.ds, ds...)
	if file == nil {
		return
	}
	c.program.config = file
	c.configs = make(map[string]int, len(file.Steps))
	for i := range file.Steps {
		c.configs[file.Steps[i].ID] = i // the last one counts
	}
}

// addSteps enters the steps that run, in plan order.
func (c *compiler) addSteps(plan *Plan, types typeRegistry) {
	c.program.steps = make([]*compiledStep, 0, len(plan.Steps))
	c.producers = make(map[string][]int32, len(plan.Steps))
	for i, step := range plan.Steps {
		if step == nil || !c.ids.steps[i] {
			c.partial = true
			continue
		}
		base := step.Base()
		index := int32(len(c.program.steps))
		s := &compiledStep{
			Step: step, id: base.ID, pointer: "/steps/" + strconv.Itoa(i), typ: types[base.Type],
			index: index, next: -1, position: i + 1,
		}
		c.program.steps = append(c.program.steps, s)
		c.program.byID[base.ID] = index
		c.addOutputs(s)
	}
}

func (c *compiler) addOutputs(s *compiledStep) {
	outputs := s.Base().ContextOutput
	for i, output := range outputs {
		if slices.Contains(outputs[:i], output) {
			c.report(codeOutputTwice, s.pointer+"/context_output", fmt.Sprintf("the output %q is declared twice", output), "")
			continue
		}
		c.producers[output] = append(c.producers[output], s.index)
	}
}

// checkConfigIDs reports configurations of steps that do not exist.
func (c *compiler) checkConfigIDs() {
	for i := range c.program.config.Steps {
		if id := c.program.config.Steps[i].ID; id != "" && !c.ids.inPlan(id) {
			c.ds = append(c.ds, finding(codeConfigStepUnknown, c.program.configFile, c.program.config.Pointer(i)+"/id",
				fmt.Sprintf("the plan has no step %q; its configuration has no effect", id), c.nearestStep(id)))
		}
	}
}

// resolveStep resolves everything that a step refers to.
func (c *compiler) resolveStep(s *compiledStep) {
	s.effective = c.silent
	if i, ok := c.configs[s.id]; ok {
		s.config = c.program.config.Steps[i].AgentConfigs
		s.configPointer = c.program.config.Pointer(i) + "/agent_configs"
		s.effective = stepconfig.Resolve(s.config, c.program.settings.stepDefaults())
	}
	c.resolveNext(s)
	c.resolveOutputs(s)
	c.resolveSchema(s)
	for i, dependency := range s.Base().ContextDependencies {
		c.resolveInput(s, i, dependency)
	}
	c.checkVariables(s.Base().Title, s.pointer+"/title")
	c.checkVariables(s.Base().Description, s.pointer+"/description")
}

// resolveNext finds the step that follows.
func (c *compiler) resolveNext(s *compiledStep) {
	next := s.Base().NextStepID
	if next == "" {
		if int(s.index)+1 < len(c.program.steps) {
			s.next = s.index + 1
		}
		return
	}
	if next == endStep {
		return
	}
	target, ok := c.program.byID[next]
	if ok {
		s.next = target
		return
	}
	c.partial = true
	switch {
	case c.ids.broken(next): // reported
	case c.ids.orphans[next] != nil:
		c.report(codeNextOrphan, s.pointer+"/next_step_id", fmt.Sprintf("%q is an orphan step, which is not part of the walk", next), "")
	default:
		c.report(codeNextUnknown, s.pointer+"/next_step_id", fmt.Sprintf("there is no step %q to go to", next), c.nearestStep(next))
	}
}

// nearestStep is a hint at the step that a misspelled id means; empty where there is none,
// and in plans that are too large to look through for every finding.
func (c *compiler) nearestStep(id string) string {
	if len(c.program.steps) > 10*maxGuesses || len(c.ds) > maxGuesses {
		return ""
	}
	return codetable.DidYouMean(id, c.program.StepIDs())
}

func (c *compiler) resolveOutputs(s *compiledStep) {
	for _, output := range s.Base().ContextOutput {
		c.checkVariables(output, s.pointer+"/context_output")
		if slices.ContainsFunc(c.expansions(output), func(name string) bool { return !localName(name) }) {
			c.report(codeOutputInvalid, s.pointer+"/context_output", fmt.Sprintf("%q is no name of a file in the step's own folder", output), "")
		}
	}
}

// localName reports whether a name stays in the folder that it is relative to.
func localName(name string) bool {
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > 255 || strings.HasPrefix(element, ".treadle-tmp-") || strings.ContainsRune(element, 0) {
			return false
		}
	}
	return name != "" && !path.IsAbs(name) && !strings.Contains(name, `\`) && path.Clean(name) == name && name != "." && name != ".." && !strings.HasPrefix(name, "../")
}

// lower turns the steps into nodes, joins them and looks at the graph that they make.
func (c *compiler) lower() {
	p := c.program
	p.nodes = make([]node, 0, len(p.steps)+1)
	entries := make([]int32, len(p.steps))
	open := make([][]int32, len(p.steps))
	for i, s := range p.steps {
		l := &Lowering{program: p, step: int32(i), entry: -1}
		if err := l.lower(s); err != nil {
			c.report(codeStepLower, s.pointer, fmt.Sprintf("step type %q: %v", s.typ.Name, err), "")
			c.partial = true
			continue
		}
		entries[i], open[i] = l.entry, l.open
	}
	if c.partial {
		return
	}
	end := int32(len(p.nodes))
	p.nodes = append(p.nodes, node{kind: nodeEnd, step: -1})
	for i, s := range p.steps {
		next := end
		if s.next >= 0 {
			next = entries[s.next]
		}
		for _, from := range open[i] {
			p.nodes[from].next = next
		}
	}
	p.start = entries[0]
	c.checkGraph(entries)
}

// report adds a finding about the plan. Without a hint it has that of its code.
func (c *compiler) report(code, pointer, message, hint string) {
	c.ds = append(c.ds, finding(code, workspace.PlanFile, pointer, message, hint))
}
