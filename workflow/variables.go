package workflow

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

// Variables are the values of {{NAME}} by name.
type Variables map[string]string

var (
	variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	variableUse  = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}`)
)

type rawVariables struct {
	Variables []struct {
		Name        string  `json:"name"`
		Value       *string `json:"value"`
		Description string  `json:"description"`
	} `json:"variables"`
	Groups []json.RawMessage `json:"groups"`
}

// parseVariables reads variables/variables.json. A variable without a value is
// declared and has to be given to the run.
func parseVariables(data []byte) (vars Variables, declared []string, ds workspace.Diagnostics) {
	vars = Variables{}
	if data == nil {
		return vars, nil, nil
	}
	var raw rawVariables
	if err := json.Unmarshal(data, &raw); err != nil {
		return vars, nil, workspace.Diagnostics{jsonDiagnostic("variables", workspace.VariablesFile, "", data, err)}
	}
	report := func(code, pointer, message, hint string) {
		ds = append(ds, workspace.Diagnostic{Code: code, Severity: workspace.SeverityError, File: workspace.VariablesFile, Pointer: pointer, Message: message, Hint: hint})
	}
	if len(raw.Groups) > 0 {
		report("variables.groups.unsupported", "/groups", "groups of variables cannot be run yet", "remove the groups and give values with the variables")
	}
	for i, v := range raw.Variables {
		pointer := fmt.Sprintf("/variables/%d/name", i)
		switch {
		case !variableName.MatchString(v.Name):
			report("variables.name.invalid", pointer, fmt.Sprintf("%q is no variable name", v.Name), "use letters, digits and \"_\", not starting with a digit")
			continue
		case slices.Contains(declared, v.Name):
			report("variables.name.duplicate", pointer, fmt.Sprintf("the variable %q is declared twice", v.Name), "remove one of them")
			continue
		}
		declared = append(declared, v.Name)
		if v.Value != nil {
			vars[v.Name] = *v.Value
		}
	}
	return vars, declared, ds
}

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
