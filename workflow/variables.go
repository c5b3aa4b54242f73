package workflow

import (
	"regexp"
	"strings"
)

// Variables are the values of {{NAME}} by name. Names are case-sensitive. A name that
// starts with "input." is an input of the run: it is declared nowhere and has to be given
// to the run.
type Variables map[string]string

const inputPrefix = "input."

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	variableUse  = regexp.MustCompile(`\{\{\s*((?:input(?:\.[A-Za-z_][A-Za-z0-9_]*)+)|[A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)
)

// Expand replaces every {{NAME}} of a text by its value and returns the names
// that have none, which stay as they are. What is not a name in braces is left
// alone.
func (v Variables) Expand(text string) (expanded string, missing []string) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	expanded = variableUse.ReplaceAllStringFunc(text, func(use string) string {
		name := variableUse.FindStringSubmatch(use)[1]
		value, ok := v[name]
		if !ok {
			missing = append(missing, name)
			return use
		}
		return value
	})
	return expanded, missing
}

// usedVariables are the names that a text refers to.
func usedVariables(text string) []string {
	if !strings.Contains(text, "{{") {
		return nil
	}
	var names []string
	for _, match := range variableUse.FindAllStringSubmatch(text, -1) {
		names = append(names, match[1])
	}
	return names
}

func isInput(name string) bool { return strings.HasPrefix(name, inputPrefix) }
