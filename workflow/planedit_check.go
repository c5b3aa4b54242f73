package workflow

import (
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// planFault is an error of a workflow's files, named so that it is the same before and after
// an edit: by the step and not by where the step stands.
type planFault struct{ code, file, step, key string }

// worse are the errors that a workflow has after an edit of its plan and did not have
// before.
func worse(before, after *Source, types []*StepType, renamed []rename) workspace.Diagnostics {
	opts := &CompileOptions{StepTypes: types}
	_, had := Compile(before, opts)
	had = errorsOf(had)
	left := map[planFault]int{}
	for _, d := range had {
		f := faultOf(before, d)
		if now := follow(renamed, f.step); now != "" {
			f.step = now
		}
		left[f]++
	}
	_, found := Compile(after, opts)
	var made workspace.Diagnostics
	for _, d := range errorsOf(found) {
		if f := faultOf(after, d); left[f] > 0 {
			left[f]--
			continue
		}
		made = append(made, d)
	}
	return made
}

func errorsOf(ds workspace.Diagnostics) workspace.Diagnostics {
	var found workspace.Diagnostics
	for _, d := range ds {
		if d.Severity == workspace.SeverityError {
			found = append(found, d)
		}
	}
	return found
}

func faultOf(src *Source, d workspace.Diagnostic) planFault {
	f := planFault{code: d.Code, file: d.File, key: d.Pointer}
	text := src.Plan
	switch d.File {
	case workspace.PlanFile:
	case workspace.StepConfigFile:
		text = src.StepConfig
	default:
		return f
	}
	list, index, key := splitPointer(d.Pointer)
	if list == "" || text == nil {
		return f
	}
	f.step = stepIDOf(jsonedit.At(text, memberKey(text, list), index))
	f.key = key
	return f
}

// splitPointer takes apart /steps/3/description/…; the list is empty when the pointer is
// not into a step. Of what is in the step the first key is enough: elements of its lists
// have no names that would stay.
func splitPointer(pointer string) (list, index, key string) {
	tokens := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	if len(tokens) < 2 || tokens[0] != listKeys[mainList] && tokens[0] != listKeys[orphanList] {
		return "", "", ""
	}
	if _, err := strconv.Atoi(tokens[1]); err != nil {
		return "", "", ""
	}
	if len(tokens) > 2 {
		key = tokens[2]
	}
	return tokens[0], tokens[1], key
}
