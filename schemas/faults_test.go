package schemas

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// structural are the codes of the faults that a schema shows, too: something of a wrong
// type, missing, none of the words that are known, or out of range. With "yes" a schema
// shows each of them, else all but those that the text tells of.
var structural = map[string]string{
	"plan.json.type":         "yes",
	"plan.steps.empty":       "yes",
	"plan.step.type.missing": "yes",
	"plan.step.type.unknown": "yes",
	"plan.step.id.missing":   "yes",
	"plan.step.id.invalid":   "yes",

	"stepconfig.format.invalid":                     "yes",
	"stepconfig.steps.missing":                      "yes",
	"stepconfig.id.missing":                         "yes",
	"stepconfig.field.type":                         "a whole number spelled with a fraction, an exponent or as -0, or over 64 bits",
	"stepconfig.value.unknown":                      "yes",
	"stepconfig.value.range":                        "yes",
	"stepconfig.prerequisite.step.missing":          "yes",
	"stepconfig.learning_objective.missing":         "yes",
	"stepconfig.knowledgebase_contribution.missing": "yes",

	"settings.json.type":              "numbers, as stepconfig.field.type",
	"settings.block.malformed":        "numbers, as stepconfig.field.type",
	"settings.block.value":            "yes",
	"settings.value.unknown":          "yes",
	"settings.value.range":            "yes",
	"settings.schema_version.unknown": "yes",
	"settings.schedule.invalid":       "an id that stands twice, and a date that its month does not have",

	"variables.json.type":          "yes",
	"variables.name.invalid":       "yes",
	"variables.group.name.missing": "yes",

	"validation.field.type":          "numbers, as stepconfig.field.type",
	"validation.files.limit":         "yes",
	"validation.checks.limit":        "yes",
	"validation.db.limit":            "yes",
	"validation.db.rows":             "yes",
	"validation.limit.negative":      "yes",
	"validation.value_type.unknown":  "yes",
	"validation.consistency.unknown": "yes",
	"validation.file_name.missing":   "yes",
	"validation.path.missing":        "yes",
	"validation.db.sql.missing":      "a query of comments and semicolons alone",
}

// beyond are the codes of errors that no schema shows, with the reason.
var beyond = map[string]string{
	"plan.types":              "the host's",
	"plan.missing":            "there is no file",
	"plan.json.syntax":        "no JSON",
	"plan.step.id.reserved":   "a word of ours in any case",
	"stepconfig.json.invalid": "no JSON",
	"settings.json.syntax":    "no JSON",
	"variables.json.syntax":   "no JSON",

	"plan.step.lower":              "the type's own code",
	"plan.step.id.duplicate":       "several values",
	"plan.step.id.case":            "several values",
	"plan.next.unknown":            "several values",
	"plan.next.orphan":             "several values",
	"plan.next.endless":            "several values",
	"plan.output.invalid":          "a path",
	"plan.dependency.invalid":      "a path",
	"plan.dependency.unknown":      "several values",
	"plan.dependency.order":        "several values",
	"plan.dependency.own":          "several values",
	"plan.orphan.unknown":          "several values",
	"plan.orphan.unshared":         "several values",
	"stepconfig.read_path.outside": "a path",
	"stepconfig.read_path.wide":    "a path",

	"evaluation.json.syntax": "another file", "evaluation.json.type": "another file",

	"variables.name.duplicate": "several values", "variables.name.case": "several values",
	"variables.name.reserved": "a word of ours", "variables.group.name.reserved": "a word of ours",
	"variables.group.name.invalid": "Unicode, and the length in bytes",
	"variables.group.duplicate":    "several values", "variables.group.collision": "several values",
	"variables.group.value.undeclared": "several values", "variables.group.value.missing": "several values",
	"variables.unknown": "several files", "variables.value.missing": "several files",
	"variables.input.missing": "a run's", "variables.override.unknown": "a run's",
	"variables.group.unknown": "a run's", "variables.group.required": "a run's",
}

// decoders give the codes of the errors that reading a document finds, by the name of its
// schema.
func decoders() map[string]func(*testing.T, []byte) workspace.Diagnostics {
	return map[string]func(*testing.T, []byte) workspace.Diagnostics{
		"plan": func(_ *testing.T, text []byte) workspace.Diagnostics {
			return inFile(workspace.PlanFile, &workflow.Source{Plan: text})
		},
		"settings": func(_ *testing.T, text []byte) workspace.Diagnostics {
			return inFile(workspace.SettingsFile, &workflow.Source{Settings: text})
		},
		"variables": func(_ *testing.T, text []byte) workspace.Diagnostics {
			return inFile(workspace.VariablesFile, &workflow.Source{Variables: text})
		},
		"step-config": readStepConfig,
		"validation":  readValidation,
		"ledger":      readLedger,
	}
}

func inFile(name string, source *workflow.Source) workspace.Diagnostics {
	_, all := workflow.Compile(source, nil)
	var found workspace.Diagnostics
	for _, d := range all {
		if d.File == name {
			found = append(found, d)
		}
	}
	return found
}

// readStepConfig compiles the validation schemas, too, as is done for steps of the plan.
func readStepConfig(t *testing.T, text []byte) workspace.Diagnostics {
	file, found := stepconfig.Parse(workspace.StepConfigFile, text)
	if file == nil {
		return found
	}
	for _, step := range file.Steps {
		if step.ValidationSchema != nil {
			found = append(found, readValidation(t, step.ValidationSchema)...)
		}
	}
	return found
}

func readValidation(t *testing.T, text []byte) workspace.Diagnostics {
	var schema *validation.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	_, found := schema.Compile("schema.json", "")
	return found
}

// readLedger has no codes: a file is damaged or not.
func readLedger(t *testing.T, text []byte) workspace.Diagnostics {
	ctx, st := context.Background(), workspace.NewMem()
	require.NoError(t, st.WriteFile(ctx, workspace.DailyCosts(costs.ScopeExecution, "group", "2026-01-02"), text, workspace.Lazy))
	_, err := costs.Read(ctx, st, costs.Filter{})
	if err == nil {
		return nil
	}
	require.ErrorIs(t, err, costs.ErrDamaged)
	return workspace.Diagnostics{{Code: damaged, Severity: workspace.SeverityError, Message: err.Error()}}
}

const damaged = "ledger.damaged"

// faults are the diagnostics that a schema must show.
func faults(found workspace.Diagnostics) workspace.Diagnostics {
	var shown workspace.Diagnostics
	for _, d := range found {
		twice := d.Code == "settings.schedule.invalid" && strings.Contains(d.Message, "is that of schedule")
		if (structural[d.Code] != "" || d.Code == damaged) && !twice {
			shown = append(shown, d)
		}
	}
	return shown
}

func TestEveryCodeOfAnErrorIsStructuralOrBeyondSchemas(t *testing.T) {
	t.Parallel()
	for _, d := range append(stepconfig.Codes(), workflow.Codes()...) {
		format, _, _ := strings.Cut(d.Code, ".")
		if d.Severity != workspace.SeverityError || !slices.Contains([]string{"plan", "stepconfig", "settings", "variables", "evaluation"}, format) {
			continue
		}
		_, in := structural[d.Code]
		_, out := beyond[d.Code]
		assert.NotEqual(t, in, out, "%s (%s)", d.Code, d.Message)
	}
}
