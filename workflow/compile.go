package workflow

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
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
	// Variables override values of variables.json; each must be declared there.
	Variables Variables

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
	c := &compiler{src: src, opts: opts, program: &Program{byID: map[string]int32{}}}
	c.compile()
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

	producers map[string][]int      // step indices by output file name
	configs   map[string]int        // indices in the step configuration by step id
	silent    *stepconfig.Effective // of steps without a configuration
}

func (c *compiler) compile() {
	types, err := newTypeRegistry(c.opts.StepTypes)
	if err != nil {
		c.ds = append(c.ds, planError("plan.types", "", err.Error(), "mend the host's StepTypes"))
		return
	}
	c.readSettings()
	c.readVariables()
	c.readConfig()
	if c.src.Plan == nil {
		c.ds = append(c.ds, planError("plan.missing", "", "the workflow has no plan", "write "+workspace.PlanFile+" with a list \"steps\""))
		return
	}
	plan, ds := parsePlan(c.src.Plan, types)
	c.ds = append(c.ds, ds...)
	if plan == nil {
		return
	}
	if len(plan.Steps) == 0 {
		c.ds = append(c.ds, planError("plan.steps.empty", "/steps", "the plan has no steps", "add at least one step"))
		return
	}
	c.addSteps(plan, types)
	c.checkConfigIDs(plan)
	for _, s := range c.program.steps {
		c.resolveStep(s)
	}
	if c.ds.HasErrors() {
		return
	}
	c.lower()
	c.program.revision = c.revision()
}

func (c *compiler) readSettings() {
	settings, ds := parseSettings(c.src.Settings)
	c.program.settings, c.ds = settings, append(c.ds, ds...)
	c.silent = stepconfig.Resolve(nil, settings.stepDefaults())
}

func (c *compiler) readVariables() {
	vars, declared, ds := parseVariables(c.src.Variables)
	c.ds = append(c.ds, ds...)
	c.program.declared = make(map[string]bool, len(declared))
	for _, name := range declared {
		c.program.declared[name] = true
	}
	for name, value := range c.opts.Variables {
		if !c.program.declared[name] && !c.opts.recalled {
			c.ds = append(c.ds, workspace.Diagnostic{
				Code: "variables.override.unknown", Severity: workspace.SeverityError, File: workspace.VariablesFile,
				Message: fmt.Sprintf("a value was given for %q, which the workflow does not declare", name),
				Hint:    "declare it in " + workspace.VariablesFile + ", or correct the name",
			})
		}
		vars[name] = value
	}
	c.program.vars = vars
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

// addSteps enters the steps that run, in plan order, and checks their ids.
func (c *compiler) addSteps(plan *Plan, types typeRegistry) {
	orphans := map[string]bool{}
	seen := map[string]string{}
	for i, step := range plan.OrphanSteps {
		if step != nil {
			c.checkID(step.Base().ID, fmt.Sprintf("/orphan_steps/%d", i), seen)
			orphans[step.Base().ID] = true
		}
	}
	c.program.steps = make([]*compiledStep, 0, len(plan.Steps))
	c.producers = make(map[string][]int, len(plan.Steps))
	for i, step := range plan.Steps {
		if step == nil {
			continue
		}
		base := step.Base()
		pointer := "/steps/" + strconv.Itoa(i)
		if !c.checkID(base.ID, pointer, seen) {
			continue
		}
		index := len(c.program.steps)
		c.program.steps = append(c.program.steps, &compiledStep{
			Step: step, id: base.ID, pointer: pointer, typ: types[base.Type],
			index: int32(index), next: -1, position: i + 1,
		})
		c.program.byID[base.ID] = int32(index)
		for _, output := range base.ContextOutput {
			c.producers[output] = append(c.producers[output], index)
		}
	}
}

func (c *compiler) checkID(id, pointer string, seen map[string]string) bool {
	switch former, taken := seen[id]; {
	case id == "":
		c.error("plan.step.id.missing", pointer+"/id", "the step has no id", "give it a short name that never changes")
	case !stepID.MatchString(id):
		c.error("plan.step.id.invalid", pointer+"/id", fmt.Sprintf("%q is no step id", id), "use at most 100 letters, digits, \"_\", \"-\" and \".\", starting with a letter or digit")
	case id == endStep || id == "archived" || id == "Downloads":
		c.error("plan.step.id.reserved", pointer+"/id", fmt.Sprintf("the id %q has a meaning of its own", id), "choose another id")
	case taken:
		c.error("plan.step.id.duplicate", pointer+"/id", fmt.Sprintf("the id %q is taken by %s", id, former), "ids are unique over steps and orphan_steps")
	default:
		if other, taken := seen[strings.ToLower(id)]; taken && other != pointer {
			c.error("plan.step.id.case", pointer+"/id", fmt.Sprintf("the id %q differs from that of %s only by case, and folders are named after ids", id, other), "choose another id")
			return false
		}
		seen[id], seen[strings.ToLower(id)] = pointer, pointer
		return true
	}
	return false
}

// checkConfigIDs reports configurations of steps that do not exist.
func (c *compiler) checkConfigIDs(plan *Plan) {
	known := map[string]bool{}
	for _, steps := range [][]Step{plan.Steps, plan.OrphanSteps} {
		for _, step := range steps {
			if step != nil {
				known[step.Base().ID] = true
			}
		}
	}
	for i := range c.program.config.Steps {
		if id := c.program.config.Steps[i].ID; id != "" && !known[id] {
			c.ds = append(c.ds, workspace.Diagnostic{
				Code: "step_config.step.unknown", Severity: workspace.SeverityNotice, File: c.program.configFile,
				Pointer: c.program.config.Pointer(i) + "/id", Message: fmt.Sprintf("the plan has no step %q; its configuration has no effect", id),
			})
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
	for _, name := range usedVariables(s.Base().Description) {
		c.checkVariable(name, s.pointer+"/description")
	}
}

func (c *compiler) checkVariable(name, pointer string) {
	if _, ok := c.program.vars[name]; ok {
		return
	}
	if c.program.declared[name] {
		c.error("variables.value.missing", pointer, fmt.Sprintf("the variable %q has no value", name), "give one in "+workspace.VariablesFile+" or when the run is started")
		return
	}
	c.error("variables.unknown", pointer, fmt.Sprintf("the variable %q is not declared", name), "declare it in "+workspace.VariablesFile+", or correct the name")
}

// resolveNext finds the step that follows. Steps of the present types have one
// way on, so a way back could never end.
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
	switch {
	case !ok:
		c.error("plan.next.unknown", s.pointer+"/next_step_id", fmt.Sprintf("there is no step %q to go to", next), "name a step of the plan, or \"end\"")
	case target <= s.index:
		c.error("plan.next.endless", s.pointer+"/next_step_id", fmt.Sprintf("going back to %q always leads here again, so the run would never end", next), "remove next_step_id, or name a later step")
	default:
		s.next = target
	}
}

func (c *compiler) resolveOutputs(s *compiledStep) {
	for _, output := range s.Base().ContextOutput {
		for _, name := range usedVariables(output) {
			c.checkVariable(name, s.pointer+"/context_output")
		}
		if expanded, _ := c.program.vars.Expand(output); !localName(expanded) {
			c.error("plan.output.invalid", s.pointer+"/context_output", fmt.Sprintf("%q is no name of a file in the step's own folder", output), "use a relative path without \"..\"")
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

// resolveSchema compiles the step's validation. A schema in the step
// configuration is used instead of the plan's.
func (c *compiler) resolveSchema(s *compiledStep) {
	schema, file, pointer := s.Base().ValidationSchema, workspace.PlanFile, s.pointer+"/validation_schema"
	if i, ok := c.configs[s.id]; ok {
		if own := c.program.config.Steps[i].ValidationSchema; len(own) > 0 && string(own) != "null" {
			file, pointer = c.program.configFile, c.program.config.Pointer(i)+"/validation_schema"
			schema = &validation.Schema{}
			if err := json.Unmarshal(own, schema); err != nil {
				c.ds = append(c.ds, jsonDiagnostic("step_config", file, pointer, own, err))
				return
			}
		}
	}
	if schema == nil {
		return
	}
	checker, ds := schema.Compile(file, pointer)
	c.ds = append(c.ds, ds...)
	s.schema, s.checker, s.schemaFile, s.schemaPointer = schema, checker, file, pointer
}

// lower turns the steps into nodes and joins them.
func (c *compiler) lower() {
	p := c.program
	p.nodes = make([]node, 0, len(p.steps)+1)
	entries := make([]int32, len(p.steps))
	open := make([][]int32, len(p.steps))
	for i, s := range p.steps {
		l := &Lowering{program: p, step: int32(i), entry: -1}
		if err := l.lower(s); err != nil {
			c.error("plan.step.lower", s.pointer, fmt.Sprintf("step type %q: %v", s.typ.Name, err), "")
			continue
		}
		entries[i], open[i] = l.entry, l.open
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
	c.checkReachable()
}

// checkReachable reports steps that no way leads to.
func (c *compiler) checkReachable() {
	reached := make([]bool, len(c.program.steps))
	for i := int32(0); i >= 0; i = c.program.steps[i].next {
		reached[i] = true
	}
	for i, s := range c.program.steps {
		if !reached[i] {
			c.error("plan.step.unreachable", s.pointer, fmt.Sprintf("no way leads to step %q", s.id), "let a next_step_id lead there, or move it to orphan_steps")
		}
	}
}

// revision names the plan by content, whatever its white space. Values of
// variables and step configurations are of the run: they may change between a
// stop and a resume.
func (c *compiler) revision() string {
	var compact bytes.Buffer
	if err := json.Compact(&compact, c.src.Plan); err != nil {
		compact.Write(c.src.Plan)
	}
	sum := sha256.Sum256(compact.Bytes())
	return hex.EncodeToString(sum[:8])
}

func (c *compiler) error(code, pointer, message, hint string) {
	c.ds = append(c.ds, planError(code, pointer, message, hint))
}
