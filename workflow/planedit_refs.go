package workflow

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-dev/treadle/internal/jsonedit"
	"github.com/treadle-dev/treadle/workspace"
)

// The keys of a step, of whatever type, that name other steps, and those that lead to
// them. What stands below other keys is not looked at: a key that nobody knows may mean
// anything.
var (
	refKeys = []string{
		"next_step_id", "if_yes_next_step_id", "if_no_next_step_id", "if_true_next_step_id", "if_false_next_step_id",
		"orphan_step_ref",
	}
	refLists = []string{"option_routes", "orchestrator_ids"}
	refWays  = []string{
		"routes", "predefined_routes", "orchestration_routes", "sub_agent_step", "todo_task_step", "decision_step",
		"if_true_steps", "if_false_steps", "option_routes", "shared_with", "orchestrator_ids", "context_dependencies",
	}
)

// refersTo reports whether a text in a step, at a path, names a step, and what follows
// the name: {step}/{file} names one too.
func refersTo(path []string, text, id string) (rest string, ok bool) {
	if len(path) == 0 {
		return "", false
	}
	for _, token := range path[:len(path)-1] {
		if !isIndex(token) && !slices.ContainsFunc(refWays, foldTo(token)) {
			return "", false
		}
	}
	last, parent := path[len(path)-1], ""
	if len(path) > 1 {
		parent = path[len(path)-2]
	}
	switch {
	case slices.ContainsFunc(refLists, foldTo(parent)), slices.ContainsFunc(refKeys, foldTo(last)):
		return "", text == id
	case strings.EqualFold(parent, "context_dependencies"):
		rest, ok = strings.CutPrefix(text, id)
		return rest, ok && strings.HasPrefix(rest, "/")
	}
	return "", false
}

func foldTo(token string) func(string) bool {
	return func(key string) bool { return strings.EqualFold(key, token) }
}

func isIndex(token string) bool {
	n, err := strconv.Atoi(token)
	return err == nil && n >= 0
}

// renameRefs puts another id in the place of one wherever a step names it.
func renameRefs(step json.RawMessage, from, to string) json.RawMessage {
	return jsonedit.MapStrings(step, func(path []string, text string) string {
		if rest, ok := refersTo(path, text, from); ok {
			return to + rest
		}
		return text
	})
}

// refsOf are the JSON pointers of the places in a step that name another one.
func refsOf(step json.RawMessage, id string) []string {
	var pointers []string
	jsonedit.MapStrings(step, func(path []string, text string) string {
		if _, ok := refersTo(path, text, id); ok {
			pointers = append(pointers, pointerOf(path))
		}
		return text
	})
	return pointers
}

func pointerOf(path []string) string {
	var b strings.Builder
	for _, token := range path {
		b.WriteString("/" + workspace.PointerEscape(token))
	}
	return b.String()
}

// nestedStep is a step in a route of another one, or the step itself.
type nestedStep struct {
	id   string
	path []string // in the outermost step
	text json.RawMessage
}

// stepsIn are a step and those that it holds, outermost first.
func stepsIn(step json.RawMessage, path []string) []nestedStep {
	found := []nestedStep{{id: stepIDOf(step), path: path, text: step}}
	if !bytes.Contains(step, []byte("predefined_routes")) {
		return found
	}
	const key = "predefined_routes"
	routes := jsonedit.Get(step, key)
	for i := range jsonedit.Elements(routes) {
		token := strconv.Itoa(i)
		inner := jsonedit.At(routes, token, "sub_agent_step")
		if jsonedit.IsObject(inner) {
			found = append(found, stepsIn(inner, slices.Concat(path, []string{key, token, "sub_agent_step"}))...)
		}
	}
	return found
}

// memberKey is how the key of a field is spelled in an object: where no member has its
// exact name, one that differs by case counts, as encoding/json reads it.
func memberKey(object []byte, key string) string {
	for _, m := range slices.Backward(jsonedit.Members(object)) {
		if strings.EqualFold(m.Key, key) {
			return m.Key
		}
	}
	return key
}

func stepIDOf(step []byte) string {
	var id string
	if json.Unmarshal(jsonedit.Get(step, memberKey(step, "id")), &id) != nil {
		return ""
	}
	return id
}
