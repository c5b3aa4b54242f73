package workspace_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

var (
	duplicate = workspace.Diagnostic{
		Code: "plan.step.id.duplicate", Severity: workspace.SeverityError, File: "planning/plan.json",
		Pointer: "/steps/2/id", Message: `step id "fetch" is used twice`, Hint: "rename one of them",
	}
	migrated = workspace.Diagnostic{
		Code: "stepconfig.legacy", Severity: workspace.SeverityNotice, File: "planning/step_config.json",
		Message: "legacy form migrated",
	}
)

func TestADiagnosticReadsWhereWhatAndWhatToDo(t *testing.T) {
	t.Parallel()
	assert.Equal(t,
		`planning/plan.json#/steps/2/id: error: step id "fetch" is used twice [plan.step.id.duplicate] (rename one of them)`,
		duplicate.String())
	assert.Equal(t, "planning/step_config.json: notice: legacy form migrated [stepconfig.legacy]", migrated.String())
}

func TestADiagnosticLeavesOutOfItsJSONWhatItDoesNotHave(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal(migrated)
	require.NoError(t, err)
	assert.JSONEq(t, `{"code":"stepconfig.legacy","severity":"notice","file":"planning/step_config.json","message":"legacy form migrated"}`, string(data))
	var back workspace.Diagnostic
	data, err = json.Marshal(duplicate)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &back))
	assert.Equal(t, duplicate, back)
}

func TestOnlyDiagnosticsWithAnErrorAreAnError(t *testing.T) {
	t.Parallel()
	assert.NoError(t, workspace.Diagnostics(nil).Err())
	assert.NoError(t, workspace.Diagnostics{migrated}.Err())
	err := workspace.Diagnostics{migrated, duplicate}.Err()
	require.Error(t, err)
	assert.Equal(t, duplicate.String(), err.Error(), "notices are no reason")
	var found workspace.Diagnostics
	require.ErrorAs(t, fmt.Errorf("compile: %w", err), &found)
	assert.Len(t, found, 2)
}

func TestPointerTokensAreEscaped(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a~1b~0c~01", workspace.PointerEscape("a/b~c~1"))
	assert.Empty(t, workspace.PointerEscape(""))
}
