package schemas

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/treadle-dev/treadle/workflow"
)

// Plan is the schema of planning/plan.json with the built-in step types and a host's
// own. What a type decodes to gives the fields of its steps; a host's type with an
// UnmarshalJSON of its own is described by its fields all the same. The error is that of
// [workflow.StepTypes].
func Plan(types ...*workflow.StepType) (*Document, error) {
	all, err := workflow.StepTypes(types...)
	if err != nil {
		return nil, err
	}
	k, err := know()
	if err != nil {
		return nil, err
	}
	return document("plan", "Plan", "The file planning/plan.json: the steps of a workflow.", planSchema(all, k)), nil
}

func planSchema(types []*workflow.StepType, k *knowledge) *jsonschema.Schema {
	r := newReflection(reading, k)
	step := &jsonschema.Schema{
		Description: "One step. Its type says which fields it has.",
		Type:        "object", Properties: jsonschema.NewProperties(), Required: []string{"type"},
	}
	var names []string
	for _, t := range types {
		names = append(names, t.Name)
		fields := r.ref(decodesTo(t))
		if t.Manifest != nil {
			fields.Description = t.Manifest.Summary
		}
		step.AllOf = append(step.AllOf, &jsonschema.Schema{If: with("type", t.Name), Then: fields})
	}
	step.Properties.Set("type", &jsonschema.Schema{Description: "Which kind of step this is.", Type: "string", Enum: anys(names)})
	r.defs["Step"] = step
	return planRoot(r.defs)
}

// decodesTo is the struct of a type's steps.
func decodesTo(t *workflow.StepType) reflect.Type {
	if t.New == nil {
		return reflect.TypeFor[workflow.StepBase]()
	}
	return reflect.TypeOf(t.New())
}

func planRoot(defs jsonschema.Definitions) *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	steps := func(about string) *jsonschema.Schema {
		return &jsonschema.Schema{Description: about, Type: "array", Items: &jsonschema.Schema{Ref: "#/$defs/Step"}}
	}
	main := steps("The steps in the order in which they run, where no step says otherwise.")
	main.MinItems = new(uint64(1))
	properties.Set("steps", main)
	properties.Set("orphan_steps", orNull(steps("Steps that only others refer to.")))
	for _, key := range []string{"objective", "success_criteria"} {
		properties.Set(key, &jsonschema.Schema{Description: "It belongs in soul/soul.md and has no effect here.", Deprecated: true})
	}
	return &jsonschema.Schema{Type: "object", Properties: properties, Required: []string{"steps"}, Definitions: defs}
}
