package validation_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workspace"
)

// stepDir is where the step of these tests works.
const stepDir = "runs/iteration-1/work/fetch/visit/1"

// decode reads a schema from JSON text.
func decode(t *testing.T, text string) *validation.Schema {
	t.Helper()
	var schema *validation.Schema
	require.NoError(t, json.Unmarshal([]byte(text), &schema))
	return schema
}

// check compiles a schema that must be right and checks it against files. A name
// without a slash lies in the step's folder, any other at the root.
func check(t *testing.T, schema string, files map[string]string) *validation.Report {
	t.Helper()
	checker, found := decode(t, schema).Compile("planning/plan.json", "")
	require.NoError(t, found.Err())
	report, err := checker.Check(t.Context(), storage(t, files), stepDir, nil)
	require.NoError(t, err)
	return report
}

func storage(t *testing.T, files map[string]string) workspace.Storage {
	t.Helper()
	st := workspace.NewMem()
	for name, content := range files {
		if !strings.Contains(name, "/") {
			name = stepDir + "/" + name
		}
		require.NoError(t, st.WriteFile(t.Context(), strings.TrimPrefix(name, "./"), []byte(content), workspace.Lazy))
	}
	return st
}

// oneCheck is a schema with a single check of the file out.json.
func oneCheck(check string) string {
	return `{"files":[{"file_name":"out.json","json_checks":[` + check + `]}]}`
}

// failed lists the check types that failed.
func failed(r *validation.Report) []string {
	kinds := []string{}
	for _, failure := range r.Summary.Errors {
		kinds = append(kinds, string(failure.CheckType))
	}
	return kinds
}

// fixture reads a file of the shared fixtures.
func fixture(t *testing.T, name string) []byte {
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
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return data
}

// member is one member of a JSON object.
func member(t *testing.T, data []byte, key string) string {
	t.Helper()
	var object map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(data, &object))
	return string(object[key])
}
