package workflow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// TestPromptsAreAsTheGoldenFilesSay shows every message that a step sends of its
// own: the system prompt, the task with all its parts, and the request to mend.
func TestPromptsAreAsTheGoldenFilesSay(t *testing.T) {
	t.Parallel()
	model := agenttest.New(t,
		writes("rates.csv", "EUR,1.1\n```\n"), agenttest.Reply("Fetched the\nrates."),
		writes("sum.json", `{"total": "many"}`), agenttest.Reply("Summed."),
		writes("sum.json", `{"total": 3}`), agenttest.Reply("Mended."),
	)
	b := setup(t, workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{agenttest.Files()}}, `{"steps":[
		{"id":"fetch","type":"regular","title":"Fetch the rates","description":"Fetch the rates of {{DAY}}.","context_output":"rates.csv"},
		{"id":"sum","type":"regular","description":"Sum up.","context_dependencies":["rates.csv","inputs/large.txt","inputs/"],
		 "context_output":["sum.json","notes/how.md"],
		 "validation_schema":{"files":[{"file_name":"sum.json","must_exist":true,"json_checks":[{"path":"$.total","value_type":"number"}]}]}},
		{"id":"report","type":"regular","title":"Report","description":"Report."}]}`,
		workspace.VariablesFile, `{"variables":[{"name":"DAY","value":"30 November"}]}`,
		"inputs/large.txt", strings.Repeat("x", 16<<10))
	_, err := b.ctl.Run(t.Context(), b.ws, nil)
	require.Error(t, err, "the script ends before the plan does, and sum never writes notes/how.md")
	requests := model.Requests()
	require.Len(t, requests, 7)
	golden(t, "system", requests[0].Messages[0])
	golden(t, "step", requests[0].Messages[1])
	golden(t, "step-with-inputs", requests[2].Messages[1])
	golden(t, "repair", requests[4].Messages[len(requests[4].Messages)-1])
}

func golden(t *testing.T, name string, msg agent.Message) {
	t.Helper()
	path := filepath.Join("testdata", "prompts", name+".md")
	got := msg.ContentText() + "\n"
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, string(want), got)
}
