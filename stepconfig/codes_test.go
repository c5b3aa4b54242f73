package stepconfig_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

func TestEveryCodeSaysWhatItMeansAndWhatToDo(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, d := range stepconfig.Codes() {
		assert.False(t, seen[d.Code], "%s has two rows", d.Code)
		seen[d.Code] = true
		assert.Regexp(t, `^stepconfig(\.[a-z_]+)+$`, d.Code)
		assert.Contains(t, []workspace.Severity{workspace.SeverityError, workspace.SeverityNotice}, d.Severity)
		assert.Regexp(t, `^[A-Z].*\.$`, d.Message)
		assert.NotEmpty(t, d.Hint)
		assert.Empty(t, d.File+d.Pointer)
	}
}

// The codes of a package are those of its table: none is written elsewhere, and each
// is reported by a case of TestEveryFaultOfAFileIsNamedWithItsPlace or a fixture.
func TestEveryCodeIsInTheTableAndTested(t *testing.T) {
	t.Parallel()
	listed := map[string]bool{}
	for _, d := range stepconfig.Codes() {
		listed[d.Code] = true
	}
	literal := regexp.MustCompile(`"(stepconfig\.[a-z_.]+)"`)
	names, err := filepath.Glob("*.go")
	require.NoError(t, err)
	tests := ""
	for _, name := range names {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		if strings.HasSuffix(name, "_test.go") {
			tests += string(text)
			continue
		}
		for _, found := range literal.FindAllStringSubmatch(string(text), -1) {
			assert.Equal(t, "codes.go", name, "%s is written outside of the table", found[1])
			assert.True(t, listed[found[1]], "%s has no row", found[1])
		}
	}
	for code := range listed {
		assert.Regexp(t, `"(error|notice) `+regexp.QuoteMeta(strings.TrimPrefix(code, "stepconfig."))+` `, tests, "%s is reported by no test", code)
	}
}
