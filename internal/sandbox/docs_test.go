//go:build linux

package sandbox_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestEveryEscapeOfThePageIsATestAndEveryTestIsOnThePage(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/sandbox.md")
	require.NoError(t, err)
	var told []string
	for _, match := range regexp.MustCompile("(?m)^\\| .+ \\| .+ \\| `(TestEscape\\w+)` \\|$").FindAllStringSubmatch(string(page), -1) {
		told = append(told, match[1])
	}
	var tests []string
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	for _, file := range files {
		source, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, match := range regexp.MustCompile(`(?m)^func (TestEscape\w+)\(`).FindAllStringSubmatch(string(source), -1) {
			tests = append(tests, match[1])
		}
	}
	slices.Sort(told)
	slices.Sort(tests)
	assert.Equal(t, tests, told)
	assert.GreaterOrEqual(t, len(tests), 30)
}
