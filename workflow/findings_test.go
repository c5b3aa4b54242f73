package workflow_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// findingCase is a file and what is found in it: "severity code pointer".
type findingCase struct {
	name, text string
	want       []string
}

func found(ds workspace.Diagnostics) []string {
	list := []string{}
	for _, d := range ds {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s", d.Severity, d.Code, d.Pointer)))
	}
	return list
}

// holding is a workspace with one file.
func holding(t testing.TB, files ...string) *workspace.Workspace {
	t.Helper()
	ws := workspace.New(workspace.NewMem())
	for i := 0; i+1 < len(files); i += 2 {
		require.NoError(t, ws.Storage().WriteFile(t.Context(), files[i], []byte(files[i+1]), workspace.Lazy))
	}
	return ws
}

func contentOf(t testing.TB, ws *workspace.Workspace, name string) string {
	t.Helper()
	data, err := ws.Storage().ReadFile(t.Context(), name)
	require.NoError(t, err)
	return string(data)
}

func findingsOf(t *testing.T, file, text string) workspace.Diagnostics {
	t.Helper()
	ws := holding(t, file, text)
	var ds workspace.Diagnostics
	var err error
	switch file {
	case workspace.SettingsFile:
		_, ds, err = workflow.ReadSettings(t.Context(), ws)
	case workspace.VariablesFile:
		_, ds, err = workflow.ReadVariables(t.Context(), ws)
	default:
		_, ds, err = workflow.ReadSoul(t.Context(), ws)
	}
	require.NoError(t, err)
	return ds
}

func checkFindings(t *testing.T, file string, cases []findingCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			ds := findingsOf(t, file, tc.text)
			if tc.want == nil {
				tc.want = []string{}
			}
			assert.Equal(t, tc.want, found(ds), "%v", ds)
			for _, d := range ds {
				assert.NotEmpty(t, d.Message)
				assert.NotEmpty(t, d.Hint, d.Code)
				assert.NotEmpty(t, d.File)
			}
		})
	}
}

// Each code about settings, variables and the soul is reported by a case of a test.
func TestEveryCodeOfTheSettingsFilesIsTested(t *testing.T) {
	t.Parallel()
	tests := ""
	for _, name := range []string{"settings_test.go", "variables_file_test.go", "soul_test.go", "groups_test.go", "compile_test.go", "compile_schema_test.go", "run_test.go"} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		tests += string(text)
	}
	for _, d := range workflow.Codes() {
		if prefix, _, _ := strings.Cut(d.Code, "."); prefix == "settings" || prefix == "variables" || prefix == "soul" {
			assert.True(t, strings.Contains(tests, d.Code+" ") || strings.Contains(tests, d.Code+`"`), "%s is reported by no test", d.Code)
			assert.Regexp(t, `^[A-Z].*\.$`, d.Message)
			assert.NotEmpty(t, d.Hint)
		}
	}
}
