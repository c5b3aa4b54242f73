package tools

import (
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// apply parses and applies.
func apply(text, patch string, fresh bool) (*applied, error) {
	parsed, err := parsePatch(patch)
	if err != nil {
		return nil, err
	}
	return applyHunks(text, parsed, fresh)
}

// texts are random files of few different lines, so that much of them looks alike.
func texts() *rapid.Generator[string] {
	line := rapid.SampledFrom([]string{"a", "b", "  b", "c ", "", "-- x", "++ y", "@@ -1 +1 @@", "+", "-", "\\", " ", "ä\r", "diff --git", "--- a", "+++ b"})
	return rapid.Custom(func(t *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(line, 0, 30).Draw(t, "lines"), "\n")
		if text != "" && rapid.Bool().Draw(t, "newline") {
			text += "\n"
		}
		return text
	})
}

// edited is a text with a few changes.
func edited(t *rapid.T, text string) string {
	lines := strings.SplitAfter(text, "\n")
	for range rapid.IntRange(0, 4).Draw(t, "edits") {
		i := rapid.IntRange(0, len(lines)-1).Draw(t, "where")
		lines[i] = rapid.SampledFrom([]string{"", lines[i] + "new\n", "changed\n", "a\n", lines[i] + lines[i]}).Draw(t, "edit")
	}
	return strings.Join(lines, "")
}

func TestADiffOfTwoTextsTurnsTheFirstIntoTheSecond(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := texts().Draw(t, "before")
		after := edited(t, before)
		patch := string(diff.Diff("a", []byte(before), "b", []byte(after)))
		if patch == "" {
			return
		}
		result, err := apply(before, patch, true)
		require.NoError(t, err, "%s", patch)
		assert.Equal(t, after, result.text, "%s", patch)
	})
}

// TestRepeatingAPatchNeverChangesAFileTwice holds for every patch, also where it cannot
// be told whether it is in place: then it is refused or left.
func TestRepeatingAPatchNeverChangesAFileTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before := texts().Draw(t, "before")
		after := edited(t, before)
		patch := string(diff.Diff("a", []byte(before), "b", []byte(after)))
		if patch == "" {
			return
		}
		result, err := apply(before, patch, false)
		if err != nil {
			return
		}
		if again, err := apply(result.text, patch, false); err == nil {
			assert.Equal(t, result.text, again.text, "%s", patch)
		}
	})
}

// TestAPatchThatWouldFitOnceMoreIsRefused is about hunks of which one makes what another
// looks for. Line numbers, or a hash, tell the states before and after apart.
func TestAPatchThatWouldFitOnceMoreIsRefused(t *testing.T) {
	t.Parallel()
	_, err := apply("a\nb\n", "@@\n-a\n+x\n@@\n-b\n+a\n", false)
	require.ErrorContains(t, err, "would fit once more")
	for _, numbered := range []bool{true, false} {
		patch := "@@\n-a\n+x\n@@\n-b\n+a\n"
		if numbered {
			patch = "@@ -1 +1 @@\n-a\n+x\n@@ -2 +2 @@\n-b\n+a\n"
		}
		result, err := apply("a\nb\n", patch, !numbered)
		require.NoError(t, err)
		assert.Equal(t, "x\na\n", result.text)
	}
}

// TestHunksAreFoundByContentWhateverTheirNumbers has every line of the file differ, so
// that nothing is left to the numbers, which are wrong.
func TestHunksAreFoundByContentWhateverTheirNumbers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{3,8}`), 8, 40, rapid.ID).Draw(t, "lines")
		before := strings.Join(lines, "\n") + "\n"
		i := rapid.IntRange(1, len(lines)-2).Draw(t, "where")
		changed := append([]string{}, lines...)
		changed[i] = "CHANGED"
		header := rapid.SampledFrom([]string{"@@", "@@ ... @@", "@@ -1,1 +1,1 @@", "@@ -900,3 +900,4 @@ func x()", "@@ -0,0 +0,0 @@", "@@ func main() {", "@@ -99999999999999999999 +1 @@"}).Draw(t, "header")
		patch := header + "\n " + lines[i-1] + "\n-" + lines[i] + "\n+CHANGED\n " + lines[i+1] + "\n"
		result, err := apply(before, patch, false)
		require.NoError(t, err)
		assert.Equal(t, strings.Join(changed, "\n")+"\n", result.text)
		again, err := apply(result.text, patch, false)
		require.NoError(t, err)
		assert.False(t, again.changed)
	})
}

func FuzzPatch(f *testing.F) {
	f.Add("a\nb\nc\n", "@@ -1,3 +1,3 @@\n a\n-b\n+B\n c\n")
	f.Add("a\nb", "--- a/x\n+++ b/x\n@@ -2 +2 @@\n-b\n\\ No newline at end of file\n+b\n")
	f.Add("", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n")
	f.Add("x\r\ny\r\n", "```diff\n@@\n x\n+z\n y\n\n```\n")
	f.Add("a\na\na\n", "@@\n-a\n")
	f.Fuzz(func(t *testing.T, text, patch string) {
		result, err := apply(text, patch, false)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		again, err := apply(result.text, patch, false)
		if err == nil {
			require.False(t, again.changed, "applied twice: %q to %q", patch, text)
		}
	})
}
