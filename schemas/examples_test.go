package schemas

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/nodetest"
	"github.com/treadle-dev/treadle/workspace"
)

// exampleFiles are the files of a workflow that have a schema, by its name.
func exampleFiles() map[string]string {
	return map[string]string{
		workspace.PlanFile: "plan", workspace.StepConfigFile: "step-config", workspace.SettingsFile: "settings", workspace.VariablesFile: "variables",
	}
}

type example struct {
	from, format string
	text         []byte
}

// examples are the files of the example workflows, those of the command's scripts that
// run, and those of the scenarios.
func examples(t *testing.T) []example {
	t.Helper()
	var all []example
	for name, format := range exampleFiles() {
		found, err := filepath.Glob("../examples/*/workspace/" + name)
		require.NoError(t, err)
		for _, file := range found {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			all = append(all, example{file, format, text})
		}
	}
	require.GreaterOrEqual(t, len(all), 4)
	for _, pattern := range []string{"../cmd/treadle/testdata/script/*.txtar", "../workflow/testdata/scenario/*.txtar"} {
		archives, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, archives)
		for _, name := range archives {
			archive, err := txtar.ParseFile(name)
			require.NoError(t, err)
			for _, f := range archive.Files {
				folder, file, _ := strings.Cut(f.Name, "/")
				if format := exampleFiles()[file]; format != "" && (folder == "ws" || folder == "workspace") {
					all = append(all, example{name + "/" + f.Name, format, f.Data})
				}
			}
		}
	}
	return all
}

// ofAHost reports whether a plan has a step of a type of a host, which no schema of the
// library knows.
func ofAHost(text []byte) bool {
	var plan struct {
		Steps []struct {
			Type string `json:"type"`
		} `json:"steps"`
	}
	if json.Unmarshal(text, &plan) != nil {
		return false
	}
	for _, step := range plan.Steps {
		if step.Type != "" && step.Type != "regular" {
			return true
		}
	}
	return false
}

func TestEveryExampleIsTakenByItsSchemaAlsoInAnEditor(t *testing.T) {
	t.Parallel()
	compiled := compiled(t, documents(t))
	var texts []json.RawMessage
	ids := map[string]string{}
	for _, d := range documents(t) {
		texts, ids[d.Name] = append(texts, d.JSON()), d.ID()
	}
	var asked []example
	var questions []nodetest.Question
	for _, e := range examples(t) {
		if e.format == "plan" && ofAHost(e.text) {
			continue
		}
		asked = append(asked, e)
		questions = append(questions, nodetest.Question{ID: ids[e.format], Document: e.text})
		assert.True(t, taken(t, compiled[e.format], e.text), e.from)
	}
	require.Greater(t, len(asked), 20)
	for i, taken := range nodetest.Ajv(t, texts, questions) {
		assert.True(t, taken, asked[i].from)
	}
}
