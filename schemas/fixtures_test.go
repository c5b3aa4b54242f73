package schemas

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fixtureRoot is the folder of the shared fixtures.
func fixtureRoot(t *testing.T) string {
	t.Helper()
	root := os.Getenv("TREADLE_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "fixtures")
	}
	if _, err := os.Stat(root); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "the fixtures must be there in CI")
		}
		t.Skipf("no fixtures at %s: set TREADLE_FIXTURES", root)
	}
	return root
}

// formatOf is the format of a file by its name; empty for other files.
func formatOf(name string) string {
	base := filepath.Base(name)
	switch {
	case strings.HasSuffix(base, "step_config.json"):
		return "step-config"
	case strings.HasSuffix(base, "variables.json"):
		return "variables"
	case base == "workflow.json":
		return "settings"
	case strings.HasSuffix(base, "plan.json") && !strings.HasSuffix(base, "report_plan.json") && base != "evaluation_plan.json",
		strings.HasPrefix(base, "plan_"):
		return "plan"
	}
	return ""
}

func TestEveryFixtureIsTakenByItsSchemaWhereItIsTakenByItsDecoder(t *testing.T) {
	t.Parallel()
	root := filepath.Join(fixtureRoot(t), "agentworks")
	schemas, decoders := compiled(t, documents(t)), decoders()
	count := map[string]int{}
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		require.NoError(t, err)
		format := formatOf(name)
		if d.IsDir() || format == "" {
			return nil
		}
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if !json.Valid(text) {
			return nil
		}
		count[format]++
		found := faults(decoders[format](t, text))
		assert.Equal(t, len(found) == 0, taken(t, schemas[format], text), "%s: %v", name, found)
		return nil
	}))
	t.Logf("files by format: %v", count)
	for _, format := range []string{"plan", "step-config", "variables"} {
		assert.NotZero(t, count[format], format)
	}
}
