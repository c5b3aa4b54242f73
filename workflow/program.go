package workflow

import (
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
)

// Program is a compiled plan: the steps with everything resolved, and the nodes
// they were lowered to. It is immutable and safe for concurrent use; many runs
// may share one.
type Program struct {
	steps      []*compiledStep
	byID       map[string]int32
	nodes      []node
	start      int32
	settings   *Settings
	config     *stepconfig.File
	configFile string // where config was read
	variables  *VariablesFile
	sets       []valueSet      // the values that it was compiled for
	group      string          // that it was compiled for; empty is none or all
	declared   map[string]bool // variables
	revision   string
	source     *Source // for the lines of what is found later
}

// compiledStep is one step with what the compiler found out about it.
type compiledStep struct {
	Step
	id            string
	pointer       string
	typ           *StepType
	index         int32                    // in Program.steps
	config        *stepconfig.AgentConfigs // as written; nil when there is none
	configPointer string                   // of config in its file
	effective     *stepconfig.Effective    // config over the defaults; shared where config is nil
	schema        *validation.Schema       // nil when there is none
	checker       *validation.Checker
	expands       bool   // schema has variables in the names of files; see withVariables
	schemaFile    string // where schema is written
	schemaPointer string
	inputs        []input
	next          int32 // index of the step that follows; -1 at the end
	position      int   // in the plan, from 1
}

// nodeKind is the closed set of what control does. Lowering makes them, Next
// walks them.
type nodeKind uint8

const (
	nodeExec nodeKind = iota // run a leaf
	nodeEnd                  // the token's way ends; the last one ends the run
)

type node struct {
	kind nodeKind
	step int32 // index in Program.steps
	next int32 // node that follows
}

// Revision names the plan by what it says, see [PlanRevision]; a run is resumed with the
// revision that it started with.
func (p *Program) Revision() string { return p.revision }

// StepIDs returns the ids of the plan's steps in plan order.
func (p *Program) StepIDs() []string {
	ids := make([]string, len(p.steps))
	for i, s := range p.steps {
		ids[i] = s.id
	}
	return ids
}

// Step returns a step of the plan by id, or nil.
func (p *Program) Step(id string) Step {
	if i, ok := p.byID[id]; ok {
		return p.steps[i].Step
	}
	return nil
}
