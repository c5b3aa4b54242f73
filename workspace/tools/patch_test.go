package tools

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// patched makes a call that patches own.txt of the work folder.
func patched(patch string) map[string]any {
	return map[string]any{"file_path": "own.txt", "patch": patch}
}

func TestAPatchChangesAFileAndTellsHow(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	text := s.succeeds(PatchTool, patched("--- a/own.txt\n+++ b/own.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+TWO\n+more\n three\n"))
	assert.Equal(t, "one\nTWO\nmore\nthree\n", s.read(workDir+"/own.txt"))
	assert.Equal(t, "Patched "+s.path(workDir+"/own.txt")+": 2 lines added, 1 removed, at line 1. It now has 4 lines, 19 bytes, hash 1208d08da1619990.", text)
}

func TestModelsWriteDiffsThatAreTakenAllTheSame(t *testing.T) {
	t.Parallel()
	const before = "one\ntwo\nthree\n"
	for name, c := range map[string]struct{ before, patch, want string }{
		"no numbers":                 {before, "@@\n one\n-two\n+TWO\n three\n", "one\nTWO\nthree\n"},
		"dots for numbers":           {before, "@@ ... @@\n one\n-two\n+TWO\n", "one\nTWO\nthree\n"},
		"a function for numbers":     {before, "@@ func main() {\n one\n-two\n+TWO\n", "one\nTWO\nthree\n"},
		"wrong numbers and counts":   {before, "@@ -77,9 +70,1 @@\n one\n-two\n+TWO\n", "one\nTWO\nthree\n"},
		"no hunk header":             {before, "--- own.txt\n+++ own.txt\n-two\n+TWO\n", "one\nTWO\nthree\n"},
		"a fence":                    {before, "```diff\n@@ -2 +2 @@\n-two\n+TWO\n```\n", "one\nTWO\nthree\n"},
		"a fence and no newline":     {before, "```\n@@ -2 +2 @@\n-two\n+TWO\n```", "one\nTWO\nthree\n"},
		"words before":               {before, "Here is the patch:\n\n@@ -2 +2 @@\n-two\n+TWO\n", "one\nTWO\nthree\n"},
		"git headers":                {before, "diff --git a/own.txt b/own.txt\nindex 1..2 100644\n--- a/own.txt\n+++ b/own.txt\n@@ -2 +2 @@\n-two\n+TWO\n", "one\nTWO\nthree\n"},
		"no newline at its end":      {before, "@@ -2 +2 @@\n-two\n+TWO", "one\nTWO\nthree\n"},
		"blank lines below":          {before, "@@ -2 +2 @@\n-two\n+TWO\n\n\n@@ -3 +3 @@\n-three\n+THREE\n\n", "one\nTWO\nTHREE\n"},
		"an empty line kept bare":    {"one\n\ntwo\n", "@@ -1,3 +1,3 @@\n one\n\n-two\n+TWO\n", "one\n\nTWO\n"},
		"no marker of the end":       {"one\ntwo", "@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n", "one\nTWO"},
		"a wrong marker of the end":  {before, "@@ -2,2 +2,2 @@\n two\n-three\n\\ No newline at end of file\n+THREE\n\\ No newline at end of file\n", "one\ntwo\nTHREE\n"},
		"a marker of the old end":    {"one\ntwo", "@@ -2 +2 @@\n-two\n\\ No newline at end of file\n+two\n", "one\ntwo\n"},
		"a marker of the new end":    {before, "@@ -3 +3 @@\n-three\n+three\n\\ No newline at end of file\n", "one\ntwo\nthree"},
		"LF for CRLF":                {"one\r\ntwo\r\n", "@@ -1,2 +1,3 @@\n one\n-two\n+TWO\n+more\n", "one\r\nTWO\r\nmore\r\n"},
		"CRLF for LF":                {before, "@@ -1,2 +1,2 @@\r\n one\r\n-two\r\n+TWO\r\n", "one\nTWO\nthree\n"},
		"CRLF for CRLF":              {"one\r\ntwo\r\n", "@@ -1,2 +1,2 @@\r\n one\r\n-two\r\n+TWO\r\n", "one\r\nTWO\r\n"},
		"lost trailing space":        {"one  \ntwo\t\nthree\n", "@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n", "one  \nTWO\nthree\n"},
		"overlapping hunks":          {before, "@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n@@ -2,2 +2,2 @@\n two\n-three\n+THREE\n", "ONE\ntwo\nTHREE\n"},
		"hunks out of order":         {before, "@@ -3 +3 @@\n-three\n+THREE\n@@ -1 +1 @@\n-one\n+ONE\n", "ONE\ntwo\nTHREE\n"},
		"lines that look like names": {"-- one\ntwo\n", "--- a/q.sql\n+++ b/q.sql\n@@ -1,2 +1,2 @@\n--- one\n+++ one\n two\n", "++ one\ntwo\n"},
		"an insertion above":         {before, "@@ -1 +1,2 @@\n+zero\n one\n", "zero\none\ntwo\nthree\n"},
		"the place of its number":    {"a\nx\nb\nx\n", "@@ -4 +4 @@\n-x\n+y\n", "a\nx\nb\ny\n"},
		"into an empty file":         {"", "@@ -0,0 +1 @@\n+one\n", "one\n"},
		"all lines away":             {"one\n", "@@ -1 +0,0 @@\n-one\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			result, err := apply(c.before, c.patch, false)
			require.NoError(t, err)
			assert.Equal(t, c.want, result.text)
			again, err := apply(result.text, c.patch, false)
			if err == nil {
				assert.Equal(t, c.want, again.text, "applied twice")
			}
		})
	}
}

func TestAPatchThatIsInPlaceChangesNothingAndSucceeds(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	patch := patched("@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n@@ -3 +3,2 @@\n three\n+four\n")
	s.succeeds(PatchTool, patch)
	after := s.read(workDir + "/own.txt")
	assert.Equal(t, "one\nTWO\nthree\nfour\n", after)
	assert.Contains(t, s.succeeds(PatchTool, patch), "in place already, at line 1, 3; nothing was changed")
	assert.Equal(t, after, s.read(workDir+"/own.txt"))
	assert.Contains(t, s.succeeds(PatchTool, patched("@@ -1,2 +1,2 @@\n one\n-two\n+TWO\n@@ -3 +3 @@\n-three\n+THREE\n")), "1 hunk in place already, at line 1")
	assert.Equal(t, "one\nTWO\nTHREE\nfour\n", s.read(workDir+"/own.txt"))
}

func TestAPatchOfWhichItIsNotSureWhereItBelongsIsRefused(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	s.write(workDir+"/own.txt", "a\nx\nb\nx\nc\nx\n")
	text := s.fails(PatchTool, patched("@@\n-x\n+y\n"))
	assert.Equal(t, s.path(workDir+"/own.txt")+" was not changed: hunk 1 fits in 3 places, at lines 2, 4, 6. Give it more of the lines around it, or the right line number in its header", text)
	assert.Contains(t, s.fails(PatchTool, patched("@@ -2,0 +3 @@\n+y\n")), "shows no line of the file")
	assert.Contains(t, s.fails(PatchTool, patched("@@\n a\n-x\n+y\n@@\n-x\n+z\n b\n")), "hunks 1 and 2 change the same lines, at line 2")
	assert.Equal(t, "a\nx\nb\nx\nc\nx\n", s.read(workDir+"/own.txt"))
}

func TestAMismatchShowsTheNearestLinesAndWhatDiffers(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	var lines []string
	for i := range 40 {
		lines = append(lines, fmt.Sprintf("line %d", i+1))
	}
	lines[19], lines[20], lines[21] = "func a() {", "\treturn 1", "}"
	before := strings.Join(lines, "\n") + "\n"
	s.write(workDir+"/own.txt", before)
	text := s.fails(PatchTool, patched("@@ -1,1 +1,1 @@\n-line 2\n+LINE 2\n@@ -3,3 +3,3 @@\n func a() {\n-\treturn 2\n+\treturn 3\n }\n"))
	assert.Equal(t, s.path(workDir+"/own.txt")+" was not changed: hunk 2 does not fit the file. "+
		"Line 6 of the patch has `\treturn 2`, where line 21 of the file has `\treturn 1`. The nearest lines of the file are:\n"+
		"    17  line 17\n    18  line 18\n    19  line 19\n    20  func a() {\n    21  \treturn 1\n    22  }\n    23  line 23\n    24  line 24\n    25  line 25", text)
	assert.Contains(t, s.fails(PatchTool, patched("@@\n func a() {\n-    return 1\n+    return 2\n")), "only the white space differs")
	assert.Contains(t, s.fails(PatchTool, patched("@@ -30 +30 @@\n-nowhere\n+x\n")), "none of its kept and removed lines is there. The file has:\n    27  line 27")
	assert.Contains(t, s.fails(PatchTool, patched("@@\n line 40\n-line 41\n+x\n")), "where the file has ended")
	assert.Equal(t, before, s.read(workDir+"/own.txt"), "no hunk is applied when one does not fit")
}

func TestWhatIsNoPatchOfOneFileIsRefused(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	s.write(workDir+"/binary", "a\x00b")
	for patch, why := range map[string]string{
		"":                            "it has no hunk",
		"replace two by TWO":          "it has no hunk",
		"@@ -1 +1 @@\n one\n":         "hunk 1 changes nothing",
		"@@\n one\n-two\n+TWO\nthree": "line 5 of the patch cannot be read: it begins with neither",
		"--- a/a\n+++ b/a\n@@\n-two\n+TWO\n--- a/b\n+++ b/b\n@@\n-x\n+y\n":           "line 6 of the patch cannot be read: a second file begins here. Patch one file with each call",
		"diff --git a/a b/a\n--- a/a\n+++ b/a\n@@\n-two\n+TWO\ndiff --git a/b b/b\n": "a second file begins here",
		"*** Begin Patch\n*** Update File: own.txt\n@@\n-two\n+TWO\n*** End Patch\n": "another form of patch",
		"diff --git a/a b/b\nrename from a\nrename to b\n":                           "not renamed",
		"diff --git a/a b/a\nBinary files a/a and b/a differ\n":                      "binary files",
		"--- /dev/null\n+++ /dev/null\n":                                             "both names are /dev/null",
		"--- /dev/null\n+++ b/own.txt\n@@ -0,0 +1 @@\n+x\n":                          "exists already with 14 bytes",
		"--- a/own.txt\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n":                "must remove each of its 3 lines",
		"@@\n-two\n+a\x00b\n": "zero byte",
	} {
		assert.Contains(t, s.fails(PatchTool, patched(patch)), why, "%q", patch)
	}
	assert.Equal(t, "one\ntwo\nthree\n", s.read(workDir+"/own.txt"))
	assert.Contains(t, s.fails(PatchTool, map[string]any{"file_path": "binary", "patch": "@@\n-a\n+b\n"}), "binary")
	assert.Contains(t, s.fails(PatchTool, map[string]any{"file_path": "none", "patch": "@@\n-a\n+b\n"}), "it does not exist")
}

func TestAFileIsMadeAndDeletedByAPatch(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	made := map[string]any{"file_path": "new/deep/a.md", "patch": "--- /dev/null\n+++ b/new/deep/a.md\n@@ -0,0 +1,9 @@\n+# Title\n\n+text\n"}
	assert.Contains(t, s.succeeds(PatchTool, made), "Made "+s.path(workDir+"/new/deep/a.md")+": 3 lines added")
	assert.Equal(t, "# Title\n\ntext\n", s.read(workDir+"/new/deep/a.md"))
	assert.Contains(t, s.succeeds(PatchTool, made), "exists already with this content")
	s.succeeds(PatchTool, map[string]any{"file_path": "b", "patch": "@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n"})
	assert.Equal(t, "x", s.read(workDir+"/b"))
	deleted := map[string]any{"file_path": "new/deep/a.md", "patch": "--- a/a.md\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-# Title\n-\n-text\n"}
	assert.Contains(t, s.succeeds(PatchTool, deleted), "Deleted")
	assert.NoFileExists(t, s.path(workDir+"/new/deep/a.md"))
	assert.Contains(t, s.succeeds(PatchTool, deleted), "nothing to delete")
}

func TestAnExpectedHashPinsTheContent(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	s.write(workDir+"/own.txt", "x\nx\n")
	hash := hashOf([]byte("x\nx\n"))
	arguments := patched("@@ -1,2 +1,3 @@\n x\n x\n+x\n")
	arguments["expected_hash"] = hash[:16]
	assert.Contains(t, s.succeeds(PatchTool, arguments), "1 line added")
	assert.Equal(t, "x\nx\nx\n", s.read(workDir+"/own.txt"))
	assert.Contains(t, s.succeeds(PatchTool, arguments), "in place already")
	s.write(workDir+"/own.txt", "x\ny\n")
	assert.Contains(t, s.fails(PatchTool, arguments), "it has changed since")
	for _, wrong := range []string{"abc", "zz" + hash[2:], hash + "00"} {
		arguments["expected_hash"] = wrong
		assert.Contains(t, s.fails(PatchTool, arguments), "is no hash")
	}
	assert.Equal(t, "x\ny\n", s.read(workDir+"/own.txt"))
}

func TestAPatchTouchesOnlyWhatTheGuardLetsIt(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	outside := s.path("planning/plan.json")
	require.NoError(t, os.Symlink("../../../../../../planning/plan.json", s.path(workDir+"/x")))
	require.NoError(t, os.Symlink(outside, s.path(workDir+"/y")))
	require.NoError(t, os.Symlink("../../../../../../planning", s.path(workDir+"/folder")))
	require.NoError(t, os.Symlink("fixed", s.path("db/door")))
	for _, file := range []string{
		"planning/plan.json", outside, "../../../../../../planning/plan.json", "x", "y", "folder/plan.json", "folder/new.json",
		"inputs/a.txt", "db/fixed/ref.json", "db/door/ref.json", "runs/iteration-1/journal.jsonl", "../../../other/visit/1/x", "/etc/passwd",
	} {
		for _, patch := range []string{"@@\n-the plan\n+mine\n", "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+mine\n"} {
			s.fails(PatchTool, map[string]any{"file_path": file, "patch": patch})
		}
	}
	assert.Equal(t, "the plan", s.read("planning/plan.json"))
	assert.Equal(t, "fixed", s.read("db/fixed/ref.json"))
	assert.NoFileExists(t, s.path("planning/new.json"))
	assert.Contains(t, s.fails(PatchTool, map[string]any{"file_path": "inputs/a.txt", "patch": "@@\n-a\n+b\n"}), "it may write: "+workDir+", db")
}

func TestPatchesOfOneFileSideBySideAreAllKept(t *testing.T) {
	t.Parallel()
	s := setup(t, Config{}, &runner{})
	var lines []string
	for i := range 20 {
		lines = append(lines, fmt.Sprintf("line-%d", i))
	}
	s.write(workDir+"/own.txt", strings.Join(lines, "\n")+"\n")
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			result := s.call(PatchTool, patched(fmt.Sprintf("@@\n-line-%d\n+LINE-%d\n", i, i)))
			assert.False(t, result.IsError, result.Text())
		})
	}
	calls.Wait()
	assert.Equal(t, strings.ToUpper(strings.Join(lines, "\n"))+"\n", s.read(workDir+"/own.txt"))
}

func TestAHugePatchEndsInTime(t *testing.T) {
	t.Parallel()
	blank := strings.Repeat("\n", 1<<17)
	_, err := apply(blank, strings.Repeat("@@\n-a\n+b\n", 1000), false)
	assert.ErrorContains(t, err, "split the patch")
	_, err = apply(blank, "@@\n-\n+b\n"+blank+"\n", false)
	assert.Error(t, err)
	_, err = apply(blank, "@@ -1,999999999 +1,999999999 @@\n"+strings.Repeat("--- a\n+++ b\n", 1<<16), false)
	assert.Error(t, err)
}
