package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// identities are the ids of all steps that a workflow has: those that run, orphans,
// steps nested in others, and those of the evaluation plan. All of them keep what they
// learn in a folder that is named after the id.
type identities struct {
	places  map[string]string // by id and by id in lower case: where it stands
	steps   []bool            // of plan.Steps: has a good id and can be read
	orphans map[string]*orphan
	refs    []orphanRef

	// Steps that could not be read are reported once, not by everyone who refers to them.
	brokenIDs     map[string]bool
	brokenOutputs map[string]bool
}

func (ids *identities) inPlan(id string) bool { return ids.places[id] != "" || ids.brokenIDs[id] }

func (ids *identities) broken(id string) bool { return ids.brokenIDs[id] }

// identify collects and checks the ids.
func (c *compiler) identify(plan *Plan) {
	c.ids = &identities{
		places: make(map[string]string, 2*len(plan.Steps)), steps: make([]bool, len(plan.Steps)),
		orphans: map[string]*orphan{}, brokenIDs: map[string]bool{}, brokenOutputs: map[string]bool{},
	}
	for i, raw := range plan.raw.OrphanSteps {
		pointer := "/orphan_steps/" + strconv.Itoa(i)
		id, _ := c.identifyStep(plan.OrphanSteps[i], raw, pointer)
		if id != "" {
			c.ids.orphans[id] = &orphan{pointer: pointer, step: plan.OrphanSteps[i]}
		}
	}
	for i, raw := range plan.raw.Steps {
		_, c.ids.steps[i] = c.identifyStep(plan.Steps[i], raw, "/steps/"+strconv.Itoa(i))
	}
	c.identifyEvaluation()
}

// identifyStep checks the id of a step and of those that are nested in it. A step that
// is nil could not be read; its id is found all the same.
func (c *compiler) identifyStep(step Step, raw json.RawMessage, pointer string) (id string, good bool) {
	if step == nil {
		id = c.identifyBroken(raw, pointer)
	} else {
		id = step.Base().ID
		good = c.checkID(workspace.PlanFile, id, pointer)
	}
	if bytes.Contains(raw, []byte(`"predefined_routes"`)) {
		c.identifyNested(id, raw, pointer)
	}
	return id, good
}

func (c *compiler) identifyBroken(raw json.RawMessage, pointer string) string {
	var base struct {
		ID      json.RawMessage `json:"id"`
		Outputs Outputs         `json:"context_output"`
	}
	if !jsonedit.IsObject(raw) {
		return ""
	}
	_ = json.Unmarshal(raw, &base) // what has another form is reported
	for _, output := range base.Outputs {
		c.ids.brokenOutputs[output] = true
	}
	var id string
	if base.ID != nil && json.Unmarshal(base.ID, &id) != nil {
		return "" // of another type, which is reported
	}
	if c.checkID(workspace.PlanFile, id, pointer) {
		c.ids.brokenIDs[id] = true
	}
	return id
}

// identifyNested checks the ids of the steps that a step holds in its routes, and
// remembers the orphans that these refer to.
func (c *compiler) identifyNested(owner string, raw json.RawMessage, pointer string) {
	var holder struct {
		Routes []struct {
			Step   json.RawMessage `json:"sub_agent_step"`
			Orphan json.RawMessage `json:"orphan_step_ref"`
		} `json:"predefined_routes"`
	}
	_ = json.Unmarshal(raw, &holder) // what has another form is the step type's to report
	for i, route := range holder.Routes {
		at := pointer + "/predefined_routes/" + strconv.Itoa(i)
		var ref string
		if json.Unmarshal(route.Orphan, &ref) == nil && ref != "" {
			c.ids.refs = append(c.ids.refs, orphanRef{from: owner, to: ref, pointer: at + "/orphan_step_ref"})
		}
		if nested := bytes.TrimSpace(route.Step); len(nested) > 0 && nested[0] == '{' {
			c.identifyStep(nil, nested, at+"/sub_agent_step")
		}
	}
}

// identifyEvaluation checks that the evaluation plan takes no id of a step.
func (c *compiler) identifyEvaluation() {
	if c.src.Evaluation == nil {
		return
	}
	var plan struct {
		Steps []json.RawMessage `json:"steps"`
	}
	if err := json.Unmarshal(c.src.Evaluation, &plan); err != nil {
		c.ds = append(c.ds, jsonDiagnostic(evaluationJSON, workspace.EvaluationPlanFile, "", c.src.Evaluation, err))
		return
	}
	for i, raw := range plan.Steps {
		pointer := "/steps/" + strconv.Itoa(i)
		var step struct {
			ID string `json:"id"`
		}
		if err := json.Unmarshal(raw, &step); err != nil {
			if _, mismatch := errors.AsType[*json.UnmarshalTypeError](err); mismatch {
				c.ds = append(c.ds, jsonDiagnostic(evaluationJSON, workspace.EvaluationPlanFile, pointer, raw, err))
			}
			continue
		}
		c.checkID(workspace.EvaluationPlanFile, step.ID, pointer)
	}
}

// checkID reports an id that is none, or that another step has.
func (c *compiler) checkID(file, id, pointer string) bool {
	report := func(code, message string) {
		c.ds = append(c.ds, finding(code, file, pointer+"/id", message, ""))
	}
	folded := strings.ToLower(id)
	switch former := c.ids.places[id]; {
	case id == "":
		report(codeIDMissing, "the step has no id")
	case !stepID.MatchString(id):
		report(codeIDInvalid, fmt.Sprintf("%q is no step id", id))
	case folded == endStep || folded == "archived" || folded == "downloads":
		report(codeIDReserved, fmt.Sprintf("the id %q has a meaning of its own", id))
	case former != "":
		report(codeIDDuplicate, fmt.Sprintf("the id %q is taken by %s", id, former))
	case c.ids.places[folded] != "":
		report(codeIDCase, fmt.Sprintf("the id %q differs from that of %s only by case, and folders are named after ids", id, c.ids.places[folded]))
	default:
		place := pointer
		if file != workspace.PlanFile {
			place = file + "#" + pointer
		}
		c.ids.places[id] = place
		if folded != id {
			c.ids.places[folded] = place
		}
		return true
	}
	return false
}
