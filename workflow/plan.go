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
	"unicode/utf8"

	"github.com/treadle-dev/treadle/internal/codetable"
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
	ds = append(ds, oddKeys(jsonedit.Members(data), "", keysOf(reflect.TypeFor[rawPlan]()), codePlanKeyUnknown, codePlanKeyDuplicate, func(key string) string {
		return fmt.Sprintf("a plan has no key %q; it has no effect", key)
	})...)
	plan := &Plan{raw: raw}
	reader := &stepReader{types: types, keys: map[reflect.Type]map[string]bool{}}
	plan.Steps, ds = reader.steps(raw.Steps, "/steps", ds)
	plan.OrphanSteps, ds = reader.steps(raw.OrphanSteps, "/orphan_steps", ds)
	return plan, ds
}

// stepReader decodes the steps of a plan.
type stepReader struct {
	types typeRegistry
	keys  map[reflect.Type]map[string]bool // that a type has fields for
}

func (r *stepReader) steps(raws []json.RawMessage, pointer string, ds workspace.Diagnostics) ([]Step, workspace.Diagnostics) {
	steps := make([]Step, 0, len(raws))
	for i, raw := range raws {
		step, found := r.step(raw, pointer+"/"+strconv.Itoa(i))
		ds = append(ds, found...)
		steps = append(steps, step)
	}
	return steps, ds
}

// step decodes one step. It returns nil where the form is so wrong that
// nothing else can be said of the step.
func (r *stepReader) step(raw json.RawMessage, pointer string) (Step, workspace.Diagnostics) {
	if string(raw) == "null" {
		return nil, workspace.Diagnostics{finding(codePlanType, workspace.PlanFile, pointer, "null where an object belongs", "")}
	}
	members := jsonedit.Members(raw)
	name, err := typeNamed(raw, members)
	if err != nil {
		return nil, workspace.Diagnostics{jsonDiagnostic(planJSON, workspace.PlanFile, pointer, raw, err)}
	}
	if name == "" {
		return nil, workspace.Diagnostics{finding(codeStepTypeMissing, workspace.PlanFile, pointer+"/type", "the step has no type, as in plans of the first generation, which are not read", "set it to one of: "+r.types.names())}
	}
	t := r.types[name]
	if t == nil {
		return nil, workspace.Diagnostics{finding(codeStepTypeUnknown, workspace.PlanFile, pointer+"/type", fmt.Sprintf("there is no step type %q", name), "use one of: "+r.types.names())}
	}
	step := t.newStep()
	if err := json.Unmarshal(raw, step); err != nil {
		return nil, workspace.Diagnostics{jsonDiagnostic(planJSON, workspace.PlanFile, pointer, raw, err)}
	}
	ds := oddKeys(members, pointer, r.keysOf(step), codeStepKeyUnknown, codeStepKeyDuplicate, func(key string) string {
		return fmt.Sprintf("steps of type %q have no key %q; it has no effect", name, key)
	})
	if shared := step.Base().SharedWith; shared != nil {
		ds = append(ds, oddKeys(jsonedit.Members(jsonedit.Get(raw, "shared_with")), pointer+"/shared_with", r.keysOf(shared), codeStepKeyUnknown, codeStepKeyDuplicate, func(key string) string {
			return fmt.Sprintf("shared_with has no key %q; it has no effect", key)
		})...)
	}
	return step, ds
}

// typeNamed is the type of a step. The usual spelling is read without decoding the whole
// step for it.
func typeNamed(raw []byte, members []jsonedit.Member) (string, error) {
	found := -1
	for i := range members {
		if strings.EqualFold(members[i].Key, "type") {
			found = i // the last one counts, as when the step is decoded
		}
	}
	if found >= 0 {
		value := members[found].Value
		if n := len(value); n > 1 && value[0] == '"' && !bytes.ContainsAny(value, "\\") && utf8.Valid(value) {
			return string(value[1 : n-1]), nil
		}
	}
	var head struct {
		Type string `json:"type"`
	}
	err := json.Unmarshal(raw, &head)
	return head.Type, err
}

// maxGuesses is for how many findings it is guessed what was meant: guesses take time.
const maxGuesses = 100

// oddKeys reports the keys of an object that are not known, and those that stand twice.
func oddKeys(members []jsonedit.Member, pointer string, known map[string]bool, unknown, duplicate string, message func(key string) string) workspace.Diagnostics {
	var ds workspace.Diagnostics
	times := make(map[string]int, len(members))
	for _, m := range members {
		times[m.Key]++
		switch {
		case times[m.Key] == 2:
			ds = append(ds, finding(duplicate, workspace.PlanFile, pointer+"/"+workspace.PointerEscape(m.Key), fmt.Sprintf("key %q is given more than once, the last one counts", m.Key), ""))
		case times[m.Key] == 1 && !known[m.Key] && !known[strings.ToLower(m.Key)]: // encoding/json matches names by folding case
			hint := ""
			if len(ds) < maxGuesses {
				hint = codetable.DidYouMean(m.Key, slices.Sorted(maps.Keys(known)))
			}
			ds = append(ds, finding(unknown, workspace.PlanFile, pointer+"/"+workspace.PointerEscape(m.Key), message(m.Key), hint))
		}
	}
	return ds
}

// keysOf are the keys that the struct of a value has fields for.
func (r *stepReader) keysOf(value any) map[string]bool {
	of := reflect.TypeOf(value)
	if r.keys[of] == nil {
		r.keys[of] = keysOf(of)
	}
	return r.keys[of]
}

// keysOf are the keys that the struct of a type has fields for, in lower case.
func keysOf(of reflect.Type) map[string]bool {
	known := map[string]bool{}
	addFields(known, of)
	return known
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
		return finding(codes.syntax, file, pointer, "not valid JSON: "+jsonedit.Problem(data), "")
	case errors.As(err, &mismatch):
		for token := range strings.SplitSeq(mismatch.Field, ".") {
			// encoding/json names the struct that a step type embeds, too.
			if token != "" && token != "StepBase" {
				pointer += "/" + workspace.PointerEscape(token)
			}
		}
		return finding(codes.kind, file, pointer, fmt.Sprintf("must be %s, is %s", jsonKind(mismatch), foundKind(mismatch)), "")
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
		return "a list"
	case "struct", "map", "ptr", "interface":
		return "an object"
	case "bool":
		return "true or false"
	case "string":
		return "a string"
	default:
		return "a number"
	}
}

// foundKind names the JSON form that was found.
func foundKind(err *json.UnmarshalTypeError) string {
	switch word, _, _ := strings.Cut(err.Value, " "); word {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "bool":
		return "true or false"
	default: // string, or number with its digits
		return "a " + err.Value
	}
}
