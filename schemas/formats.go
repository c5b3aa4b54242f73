package schemas

import (
	"reflect"

	"github.com/invopop/jsonschema"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// All are the schemas of every format, in the order in which a workflow's files are
// written and read. The step types are a host's own; see [Plan].
func All(types ...*workflow.StepType) ([]*Document, error) {
	plan, err := Plan(types...)
	if err != nil {
		return nil, err
	}
	k, err := know()
	if err != nil {
		return nil, err
	}
	all := []*Document{plan}
	for _, f := range formats() {
		all = append(all, f.document(k))
	}
	return all, nil
}

// format is what a schema is made of that needs no step types.
type format struct {
	name, title, about string
	schema             func(*knowledge) *jsonschema.Schema
}

func (f *format) document(k *knowledge) *Document {
	return document(f.name, f.title, f.about, f.schema(k))
}

// formats are all but that of plans.
func formats() []format {
	return []format{
		{"step-config", "Step configuration", "The file planning/step_config.json, or that of one run: how the agent of each step works.", stepConfigSchema},
		{"settings", "Settings", "The file workflow.json.", settingsSchema},
		{"variables", "Variables", "The file variables/variables.json.", whole[workflow.VariablesFile](reading)},
		{"validation", "Validation schema", "The validation_schema of a step: what its outputs must satisfy.", validationSchema},
		{"run-metadata", "Run metadata", "The file run_metadata.json of a run.", whole[workflow.Metadata](writing)},
		{"event", "Run event", "One thing that happened in a run, as a line of JSON.", whole[workflow.RunEvent](writing)},
		{"journal-record", "Journal record", "One line of the file journal.jsonl of a run.", journalSchema},
		{"ledger", "Daily costs", "A file of the ledger, costs/{scope}/{group}/{day}.json.", whole[dailyFile](reading)},
		{"diagnostic", "Diagnostic", "One finding about a workflow's files, as a line of JSON.", whole[workspace.Diagnostic](writing)},
	}
}

// whole is a format that is one Go type.
func whole[T any](direction direction) func(*knowledge) *jsonschema.Schema {
	return func(k *knowledge) *jsonschema.Schema { return newReflection(direction, k).root(reflect.TypeFor[T]()) }
}

// stepConfigSchema takes the older form, too, which is the list of steps alone.
func stepConfigSchema(k *knowledge) *jsonschema.Schema {
	r := newReflection(reading, k)
	file := r.ref(reflect.TypeFor[stepconfig.File]())
	steps := &jsonschema.Schema{
		Description: "The older form.", Deprecated: true,
		Type: "array", Items: r.ref(reflect.TypeFor[stepconfig.StepConfig]()),
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{file, steps}, Definitions: r.defs}
}

func settingsSchema(k *knowledge) *jsonschema.Schema {
	r := newReflection(reading, k)
	root := r.root(reflect.TypeFor[workflow.Settings]())
	r.defs["DatedItem"] = datedItem()
	return root
}

// validationSchema is also the word "none", and null, which is no schema at all.
func validationSchema(k *knowledge) *jsonschema.Schema {
	r := newReflection(reading, k)
	schema := r.ref(reflect.TypeFor[validation.Schema]())
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{schema, {Const: "none"}, {Type: "null"}}, Definitions: r.defs}
}
