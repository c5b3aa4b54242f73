package validation_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/validation"
	"github.com/treadle-dev/treadle/workspace"
)

func TestAFileWithoutJSONChecksOnlyHasToExist(t *testing.T) {
	t.Parallel()
	report := check(t, `{"files":[{"file_name":"photo.png"}]}`, map[string]string{"photo.png": "\x89PNG\x00"})
	require.True(t, report.OverallPass)
	assert.False(t, report.FilesChecked[0].IsJSON)
	assert.Equal(t, stepDir+"/photo.png", report.FilesChecked[0].ResolvedPath)
}

func TestAMissingFileFailsUnlessItIsOptional(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		mustExist string
		passes    bool
	}{
		{``, false}, {`,"must_exist":true`, false}, {`,"must_exist":null`, false}, {`,"must_exist":false`, true},
	} {
		report := check(t, `{"files":[{"file_name":"out.json"`+tc.mustExist+`,"json_checks":[{"path":"$.a"}]}]}`, nil)
		assert.Equal(t, tc.passes, report.OverallPass, tc.mustExist)
	}
}

func TestAnOptionalFileThatIsThereIsChecked(t *testing.T) {
	t.Parallel()
	report := check(t, `{"files":[{"file_name":"out.json","must_exist":false,"json_checks":[{"path":"$.a"}]}]}`, map[string]string{"out.json": "{}"})
	assert.Equal(t, []string{"must_exist"}, failed(report))
}

func TestTheFirstFolderOfANameDecidesWhereItIsLookedUp(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, at string
		passes, copyAt bool
	}{
		{"a bare name lies in the step's folder", "out.json", stepDir + "/out.json", true, false},
		{"a bare name at the root is the wrong place", "out.json", "./out.json", false, true},
		{"a folder of the step's own", "parts/out.json", stepDir + "/parts/out.json", true, false},
		{"a dot in front changes nothing", "./out.json", stepDir + "/out.json", true, false},
		{"a folder of the workflow lies at the root", "knowledgebase/notes/a.md", "knowledgebase/notes/a.md", true, false},
		{"a folder of the workflow in the step's folder is the wrong place", "learnings/a.md", stepDir + "/learnings/a.md", false, true},
		{"db lies at the root", "db/orders.json", "db/orders.json", true, false},
		{"db is tried in the step's folder too", "db/orders.json", stepDir + "/db/orders.json", true, false},
		{"a file named like a folder of the workflow is a bare name", "output", stepDir + "/output", true, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			report := check(t, `{"files":[{"file_name":"`+tc.file+`"}]}`, map[string]string{tc.at: "x"})
			assert.Equal(t, tc.passes, report.OverallPass, report.Feedback())
			assert.Equal(t, tc.copyAt, report.FilesChecked[0].AlternateExists)
		})
	}
}

func TestAFileThatCannotBeReadAsJSONFailsOneCheckThatSaysWhere(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, content, kind, message string }{
		{"broken", "{\n  \"a\": tru\n}", "json_parse", "line 2, column 11"},
		{"empty", " \n", "json_parse", "the file is empty"},
		{"cut off", `{"a":[1,`, "json_parse", "ends too early"},
		{"two values", `{"a":1} {"a":2}`, "json_parse", "line 1, column 9 after the end"},
		{"a byte order mark", "\xef\xbb\xbf{}", "json_parse", "byte order mark"},
		{"fenced like a chat reply", "```json\n{}\n```", "json_parse", "line 1, column 1"},
		{"too large", `"` + strings.Repeat("x", validation.MaxJSONBytes) + `"`, "file_size", "too large"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			report := check(t, oneCheck(`{"path":"$.a"},{"path":"$.b"}`), map[string]string{"out.json": tc.content})
			require.Equal(t, []string{tc.kind}, failed(report))
			assert.Contains(t, report.Summary.Errors[0].Message, tc.message)
		})
	}
}

func TestWhatAStepCanDoToAFileIsAFailedCheckAndNotAnError(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, stepDir, "folder"), 0o755))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(root, stepDir, "outside")))
	require.NoError(t, os.WriteFile(filepath.Join(root, stepDir, "plain"), []byte("x"), 0o600))
	st, err := workspace.NewDir(root)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, workspace.New(st).Close()) })

	checker, found := decode(t, `{"files":[{"file_name":"folder"},{"file_name":"outside"},{"file_name":"plain/below"}]}`).Compile("", "")
	require.NoError(t, found.Err())
	report, err := checker.Check(t.Context(), st, stepDir, nil)
	require.NoError(t, err)
	assert.Len(t, report.Summary.Errors, 3)
	assert.Equal(t, 3, report.Summary.Failed)
}

func TestAStorageThatDoesNotWorkIsAnError(t *testing.T) {
	t.Parallel()
	checker, _ := decode(t, oneCheck(`{"path":"$.a"}`)).Compile("", "")
	broken := errors.New("disk on fire")
	_, err := checker.Check(t.Context(), brokenStorage{err: broken}, stepDir, nil)
	assert.ErrorIs(t, err, broken)
}

func TestACancelledContextIsAnError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	checker, _ := decode(t, oneCheck(`{"path":"$.a"}`)).Compile("", "")
	_, err := checker.Check(ctx, storage(t, map[string]string{"out.json": "{}"}), stepDir, nil)
	assert.ErrorIs(t, err, context.Canceled)
}

type brokenStorage struct {
	workspace.Storage
	err error
}

func (b brokenStorage) Stat(context.Context, string) (fs.FileInfo, error) { return nil, b.err }
