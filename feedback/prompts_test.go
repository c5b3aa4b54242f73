package feedback_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/feedback"
)

var update = flag.Bool("update", false, "write the golden files anew")

// What a model is told of the tools, with all that they may offer.
func TestWhatAModelIsToldOfTheTools(t *testing.T) {
	t.Parallel()
	const golden = "testdata/tools.golden.json"
	s := openTools(t, feedback.ToolConfig{
		Inbox:      setup(t).process().For,
		KeepSecret: func(context.Context, agent.Scope, string, string) (string, error) { return "", nil },
	})
	var specs []agent.ToolSpec
	for _, name := range []string{feedback.AskTool, feedback.NotifyTool} {
		specs = append(specs, s.tools[name].Spec())
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", "  ")
	require.NoError(t, encoder.Encode(specs))
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, text.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	assert.Equal(t, string(want), text.String(), "run the test with -update")
}
