package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

// Plan is planning/plan.json: the steps in order, and steps that only others
// refer to.
type Plan struct {
	Steps       []Step
	OrphanSteps []Step
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
		return nil, workspace.Diagnostics{jsonDiagnostic("plan", workspace.PlanFile, "", data, err)}
	}
	var ds workspace.Diagnostics
	for _, old := range []struct {
		key   string
		value json.RawMessage
	}{{"objective", raw.Objective}, {"success_criteria", raw.SuccessCriteria}} {
		if old.value != nil {
			ds = append(ds, planNotice("plan.legacy_key", "/"+old.key, fmt.Sprintf("%q belongs in %s and is ignored here", old.key, workspace.SoulFile), ""))
		}
	}
	for _, key := range unknownKeys(data, reflect.TypeFor[rawPlan]()) {
		ds = append(ds, planNotice("plan.key.unknown", "/"+workspace.PointerEscape(key), fmt.Sprintf("a plan has no key %q; it has no effect", key), ""))
	}
	plan := &Plan{}
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
	var head struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(raw, &head); err != nil {
		return nil, workspace.Diagnostics{jsonDiagnostic("plan", workspace.PlanFile, pointer, raw, err)}
	}
	if head.Type == "" {
		return nil, workspace.Diagnostics{planError("plan.step.type.missing", pointer+"/type", "the step has no type", "set it to one of: "+types.names())}
	}
	t := types[head.Type]
	if t == nil {
		return nil, workspace.Diagnostics{planError("plan.step.type.unknown", pointer+"/type", fmt.Sprintf("there is no step type %q", head.Type), "use one of: "+types.names())}
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
		return nil, workspace.Diagnostics{jsonDiagnostic("plan", workspace.PlanFile, pointer, raw, err)}
	}
	var ds workspace.Diagnostics
	for _, key := range unknownKeys(raw, reflect.TypeOf(step)) {
		ds = append(ds, planNotice("plan.step.key.unknown", pointer+"/"+workspace.PointerEscape(key), fmt.Sprintf("steps of type %q have no key %q; it has no effect", head.Type, key), ""))
	}
	return step, ds
}

// unknownKeys are the keys of an object that the struct of a type has no field for,
// in order.
func unknownKeys(object []byte, of reflect.Type) []string {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return nil
	}
	known := map[string]bool{}
	addFields(known, of)
	var unknown []string
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if !known[strings.ToLower(key)] { // encoding/json matches names by folding case
			unknown = append(unknown, key)
		}
	}
	return unknown
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

func planError(code, pointer, message, hint string) workspace.Diagnostic {
	return workspace.Diagnostic{Code: code, Severity: workspace.SeverityError, File: workspace.PlanFile, Pointer: pointer, Message: message, Hint: hint}
}

func planNotice(code, pointer, message, hint string) workspace.Diagnostic {
	return workspace.Diagnostic{Code: code, Severity: workspace.SeverityNotice, File: workspace.PlanFile, Pointer: pointer, Message: message, Hint: hint}
}

// jsonDiagnostic explains an error of encoding/json about a document or, with a
// pointer, about a part of one.
func jsonDiagnostic(prefix, file, pointer string, data []byte, err error) workspace.Diagnostic {
	d := workspace.Diagnostic{Code: prefix + ".json", Severity: workspace.SeverityError, File: file, Pointer: pointer, Message: err.Error()}
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		line, column := position(data, syntax.Offset)
		d.Code = prefix + ".json.syntax"
		d.Message = fmt.Sprintf("not valid JSON at line %d, column %d: %s", line, column, syntax.Error())
	case errors.As(err, &mismatch):
		d.Code = prefix + ".json.type"
		for token := range strings.SplitSeq(mismatch.Field, ".") {
			// encoding/json names the struct that a step type embeds, too.
			if token != "" && token != "StepBase" {
				d.Pointer += "/" + workspace.PointerEscape(token)
			}
		}
		d.Message = fmt.Sprintf("a JSON %s where a %s belongs", mismatch.Value, jsonKind(mismatch))
	case len(bytes.TrimSpace(data)) == 0:
		d.Code = prefix + ".json.syntax"
		d.Message = "the file is empty"
	}
	return d
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
