package workflow

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/manifest"
	"github.com/treadle-dev/treadle/validation"
)

// StepType is one kind of step, as "type" in plan.json names it. A host adds its
// own through [Config].StepTypes and [CompileOptions].
type StepType struct {
	// Name is the value of "type".
	Name string
	// Manifest tells panels, documentation and builders about the type. It may be
	// nil.
	Manifest *manifest.Manifest
	// New returns what a step of this type decodes to: a pointer to a struct that
	// embeds [StepBase]. Nil is a bare [StepBase].
	New func() Step
	// Lower declares the nodes of a step. Nil is one node that runs Execute.
	Lower func(*Lowering, Step) error
	// Execute does the work of a leaf. It is called from one goroutine at a time
	// per visit, and for several visits at once. It returns when all that it has
	// started has ended. A nil outcome is a completed step without a result.
	Execute func(*StepContext) (*Outcome, error)
}

// newStep returns what a step of the type decodes to.
func (t *StepType) newStep() Step {
	if t.New == nil {
		return &StepBase{}
	}
	return t.New()
}

// Step is one decoded step of a plan.
type Step interface {
	Base() *StepBase
}

// StepBase is what all steps have. Types of a host embed it.
type StepBase struct {
	// ID is a slug, unique in the plan: letters, digits, "_", "-" and ".", at most
	// 100 characters, starting with a letter or digit.
	ID    string `json:"id"`
	Type  string `json:"type"`
	Title string `json:"title,omitempty"`
	// Description is the instruction to the agent. {{NAME}} stands for a variable.
	Description string `json:"description,omitempty"`
	// ContextDependencies are the inputs: an output of an earlier step by its file
	// name, {step}/{file} for any file that a step published, or the path of a
	// file in the workspace.
	ContextDependencies []string `json:"context_dependencies,omitempty"`
	// ContextOutput is the file, or the files, that the step produces.
	ContextOutput Outputs `json:"context_output,omitempty"`
	// ValidationSchema is what the outputs must satisfy for the step to succeed.
	ValidationSchema *validation.Schema `json:"validation_schema,omitempty"`
	// NextStepID is the step that follows; empty is the next one in the plan, "end"
	// ends the run.
	NextStepID string `json:"next_step_id,omitempty"`
	// SharedWith says which steps may refer to an orphan step. Nil is all of them.
	SharedWith *SharedWith `json:"shared_with,omitempty"`
}

// SharedWith says who may refer to an orphan step.
type SharedWith struct {
	// OrchestratorIDs are ids of steps. Nil and empty are none.
	OrchestratorIDs []string `json:"orchestrator_ids"`
}

// Base returns the step itself.
func (b *StepBase) Base() *StepBase { return b }

// errOutputs is why a context_output is refused.
var errOutputs = errors.New("context_output is a file name or a list of file names")

// Outputs is a list of file names that JSON writes as one string, joined by ", ".
// An array is read too.
type Outputs []string

// UnmarshalJSON reads a string or an array of strings.
func (o *Outputs) UnmarshalJSON(data []byte) error {
	var list []string
	var text string
	if err := json.Unmarshal(data, &list); err != nil {
		if err := json.Unmarshal(data, &text); err != nil {
			return errOutputs
		}
		list = strings.Split(text, ",")
	}
	*o = nil
	for _, name := range list {
		if name = strings.TrimSpace(name); name != "" {
			*o = append(*o, name)
		}
	}
	return nil
}

// MarshalJSON writes one string.
func (o Outputs) MarshalJSON() ([]byte, error) { return json.Marshal(strings.Join(o, ", ")) }

// typeRegistry is the step types of one controller by name.
type typeRegistry map[string]*StepType

func newTypeRegistry(extra []*StepType) (typeRegistry, error) {
	types := typeRegistry{}
	for _, t := range slices.Concat(builtinTypes(), extra) {
		switch {
		case t == nil:
			return nil, errors.New("a step type is nil")
		case t.Name == "":
			return nil, fmt.Errorf("a step type has no name")
		case types[t.Name] != nil:
			return nil, fmt.Errorf("two step types are called %q", t.Name)
		case t.Execute == nil && t.Lower == nil:
			return nil, fmt.Errorf("step type %q has neither Lower nor Execute", t.Name)
		}
		types[t.Name] = t
	}
	return types, nil
}

func (r typeRegistry) names() string {
	names := make([]string, 0, len(r))
	for name := range r {
		names = append(names, name)
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func builtinTypes() []*StepType { return []*StepType{regularType()} }
