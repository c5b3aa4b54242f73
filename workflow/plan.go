package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// Plan is planning/plan.json: the steps in order, and steps that only others
// refer to.
type Plan struct {
	Steps       []Step
	OrphanSteps []Step

	raw rawPlan
}

// rawPlan is the outer form of a plan. Objective and SuccessCriteria are of an
// older form; they live in soul/soul.md now.
type rawPlan struct {
	Steps           []json.RawMessage `json:"steps"`
	OrphanSteps     []json.RawMessage `json:"orphan_steps"`
	Objective       json.RawMessage   `json:"objective"`
	SuccessCriteria json.RawMessage   `json:"success_criteria"`
}

// parsePlan decodes a plan and reports every problem of its form.
func parsePlan(data []byte, types typeRegistry) (*Plan, workspace.Diagnostics) {
	var raw rawPlan
	if err := json.Unmarshal(data, &raw); err != nil {
		return nil, workspace.Diagnostics{jsonDiagnostic(planJSON, workspace.PlanFile, "", data, err)}
	}
	var ds workspace.Diagnostics
	for _, old := range []struct {
		key   string
		value json.RawMessage
	}{{"objective", raw.Objective}, {"success_criteria", raw.SuccessCriteria}} {
		if old.value != nil {
			ds = append(ds, finding(codePlanKeyLegacy, workspace.PlanFile, "/"+old.key, fmt.Sprintf("%q belongs in %s; runs do not read it here", old.key, workspace.SoulFile), ""))
		}
	}
	for _, key := range unknownKeys(data, reflect.TypeFor[rawPlan]()) {
		ds = append(ds, finding(codePlanKeyUnknown, workspace.PlanFile, "/"+workspace.PointerEscape(key), fmt.Sprintf("a plan has no key %q; it has no effect", key), ""))
	}
	plan := &Plan{raw: raw}
	plan.Steps, ds = parseSteps(raw.Steps, "/steps", types, ds)
	plan.OrphanSteps, ds = parseSteps(raw.OrphanSteps, "/orphan_steps", types, ds)
	return plan, ds
}

func parseSteps(raws []json.RawMessage, pointer string, types typeRegistry, ds workspace.Diagnostics) ([]Step, workspace.Diagnostics) {
	steps := make([]Step, 0, len(raws))
	for i, raw := range raws {
		step, found := parseStep(raw, pointer+"/"+strconv.Itoa(i), types)
		ds = append(ds, found...)
		steps = append(steps, step)
	}
	return steps, ds
}

// parseStep decodes one step. It returns nil where the form is so wrong that
// nothing else can be said of the step.
func parseStep(raw json.RawMessage, pointer string, types typeRegistry) (Step, workspace.Diagnostics) {
	if string(raw) == "null" {
		return nil, workspace.Diagnostics{finding(codePlanType, workspace.PlanFile, pointer, "null where an object belongs", "")}
	}
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, workspace.Diagnostics{jsonDiagnostic(planJSON, workspace.PlanFile, pointer, raw, err)}
	}
	if head.Type == "" {
		return nil, workspace.Diagnostics{finding(codeStepTypeMissing, workspace.PlanFile, pointer+"/type", "the step has no type, as in plans of the first generation, which are not read", "set it to one of: "+types.names())}
	}
	t := types[head.Type]
	if t == nil {
		return nil, workspace.Diagnostics{finding(codeStepTypeUnknown, workspace.PlanFile, pointer+"/type", fmt.Sprintf("there is no step type %q", head.Type), "use one of: "+types.names())}
	}
	step := t.newStep()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if dec.Decode(step) == nil {
		return step, nil
	}
	// Either a value of the wrong form, or a key that the type does not know.
	step = t.newStep()
	if err := json.Unmarshal(raw, step); err != nil {
		return nil, workspace.Diagnostics{jsonDiagnostic(planJSON, workspace.PlanFile, pointer, raw, err)}
	}
	var ds workspace.Diagnostics
	for _, key := range unknownKeys(raw, reflect.TypeOf(step)) {
		ds = append(ds, finding(codeStepKeyUnknown, workspace.PlanFile, pointer+"/"+workspace.PointerEscape(key), fmt.Sprintf("steps of type %q have no key %q; it has no effect", head.Type, key), ""))
	}
	return step, ds
}

// unknownKeys are the keys of an object that the struct of a type has no field for,
// in order.
func unknownKeys(object []byte, of reflect.Type) []string {
	known := map[string]bool{}
	addFields(known, of)
	var unknown []string
	for _, m := range jsonedit.Members(object) {
		if !known[strings.ToLower(m.Key)] { // encoding/json matches names by folding case
			unknown = append(unknown, m.Key)
		}
	}
	slices.Sort(unknown)
	return slices.Compact(unknown)
}

func addFields(known map[string]bool, of reflect.Type) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return
	}
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case field.Anonymous && name == "":
			addFields(known, field.Type)
		case name == "":
			known[strings.ToLower(field.Name)] = true
		default:
			known[strings.ToLower(name)] = true
		}
	}
}

// jsonCodes are the codes of the two ways in which a document fails to decode.
type jsonCodes struct{ syntax, kind string }

var (
	planJSON       = jsonCodes{codePlanSyntax, codePlanType}
	evaluationJSON = jsonCodes{codeEvaluationSyntax, codeEvaluationType}
)

// jsonDiagnostic explains an error of encoding/json about a document or, with a
// pointer, about a part of one.
func jsonDiagnostic(codes jsonCodes, file, pointer string, data []byte, err error) workspace.Diagnostic {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return finding(codes.syntax, file, pointer, "not valid JSON"+syntaxPlace(data), "")
	case errors.As(err, &mismatch):
		for token := range strings.SplitSeq(mismatch.Field, ".") {
			// encoding/json names the struct that a step type embeds, too.
			if token != "" && token != "StepBase" {
				pointer += "/" + workspace.PointerEscape(token)
			}
		}
		return finding(codes.kind, file, pointer, fmt.Sprintf("a JSON %s where a %s belongs", mismatch.Value, jsonKind(mismatch)), "")
	}
	if errors.Is(err, errOutputs) {
		pointer += "/context_output"
	}
	return finding(codes.kind, file, pointer, err.Error(), "")
}

// jsonKind names the JSON form of the Go type that was expected.
func jsonKind(err *json.UnmarshalTypeError) string {
	switch kind := err.Type.Kind().String(); kind {
	case "slice", "array":
		return "list"
	case "struct", "map", "ptr":
		return "object"
	case "bool":
		return "boolean"
	case "string":
		return "string"
	default:
		return "number"
	}
}

// position gives the line and column, from 1, of a byte offset.
func position(data []byte, offset int64) (line, column int) {
	before := data[:min(max(offset-1, 0), int64(len(data)))]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = len(before) - bytes.LastIndexByte(before, '\n')
	return line, column
}
