package journal_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

var update = flag.Bool("update", false, "write the journal of the current format version")

// writeExample records one thing of everything.
func writeExample(t *testing.T, st workspace.Storage) {
	t.Helper()
	ctx := context.Background()
	j := open(t, st, journal.Options{Holder: "host 17"})
	s := j.Under("fetch/visit/1")
	require.NoError(t, j.Note("started", "fetch/visit/1", nil))
	_, err := s.Do(ctx, "turn/1", "prompt", returns(`{"text": "grüße \u00e9 \"\\"}`))
	require.NoError(t, err)
	_, err = s.Begin(ctx, "turn/1/tool/1", `{"cmd":"ls"}`)
	require.NoError(t, err)
	_, err = s.Do(ctx, "turn/1/tool/1", `{"cmd":"ls"}`, returns(string(payloadOf(33000))))
	require.NoError(t, err)
	require.NoError(t, s.Note("odd \"key\"\n", []byte(`null`)))
	require.NoError(t, j.Append(outcome, "fetch/visit/1", []byte(`{"status":"completed","n":1.50}`)))
	require.NoError(t, j.Append("mark", "", []byte(`[]`)))
	require.NoError(t, j.Close())
	require.NoError(t, open(t, st, journal.Options{}).Close())
}

// The files of every version are read forever, and the current version writes its
// own byte for byte: a change of the format needs a new version.
func TestJournalsOfEveryVersionAreReadAndTheCurrentOneIsWrittenAlike(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	if *update {
		dir, err := workspace.NewDir("testdata/v1")
		require.NoError(t, err)
		require.NoError(t, dir.Remove(ctx, "runs"))
		writeExample(t, dir)
		require.NoError(t, dir.Close())
	}
	stored := workspace.NewMem()
	root := filepath.Join("testdata", "v1")
	require.NoError(t, filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return stored.WriteFile(ctx, filepath.ToSlash(name), data, workspace.Lazy)
	}))
	current := workspace.NewMem()
	writeExample(t, current)
	assert.Equal(t, string(text(t, current, file)), string(text(t, stored, file)))
	assert.Equal(t, records(t, current), records(t, stored))

	j := open(t, stored, journal.Options{})
	got, err := j.Under("fetch/visit/1").Do(ctx, "turn/1/tool/1", `{"cmd":"ls"}`, never(t))
	require.NoError(t, err)
	assert.Equal(t, payloadOf(33000), got)
	require.NoError(t, j.Close())
}
