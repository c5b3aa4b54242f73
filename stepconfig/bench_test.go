package stepconfig_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
)

func BenchmarkEditOneOfAThousandSteps(b *testing.B) {
	steps := make([]string, 1000)
	for i := range steps {
		steps[i] = fmt.Sprintf(`{"id":"step-%d","agent_configs":{"execution_max_turns":25,"selected_tools":["a:b","c:*"],"x-later":{"n":1.0}}}`, i)
	}
	text := []byte(`{"steps":[` + strings.Join(steps, ",\n") + `]}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		editor, err := stepconfig.NewEditor("f", text)
		require.NoError(b, err)
		require.NoError(b, editor.Set("step-500", "/agent_configs/execution_max_turns", json.RawMessage(`7`)))
		_, changes, err := editor.Result()
		require.NoError(b, err)
		require.Len(b, changes, 1)
	}
}

func BenchmarkResolve(b *testing.B) {
	step := &stepconfig.AgentConfigs{ExecutionMaxTurns: new(7)}
	workflow := &stepconfig.Defaults{EnabledCustomTools: []string{"a:*"}}
	for b.Loop() {
		stepconfig.Resolve(step, workflow)
	}
}
