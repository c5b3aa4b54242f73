package workflow

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A field that is added to the defaults of steps and not taken from the settings would
// have no effect.
func TestSettingsGiveStepsEveryDefault(t *testing.T) {
	t.Parallel()
	settings, ds := parseSettings([]byte(`{
		"capabilities": {"selected_servers": ["a"], "selected_tools": ["a:b"], "use_code_execution_mode": true},
		"execution_defaults": {"disable_learning": true, "global_skill_objective": "g", "disable_parallel_tool_execution": true,
			"execution_max_turns": 9, "enabled_custom_tools": ["c:d"]}}`))
	require.Empty(t, ds)
	defaults := reflect.ValueOf(settings.stepDefaults()).Elem()
	for i := range defaults.NumField() {
		assert.False(t, defaults.Field(i).IsZero(), defaults.Type().Field(i).Name)
	}
}
