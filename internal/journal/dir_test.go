package journal_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

// The same small run, stopped on disk at each of its storage operations in turn.
func TestARunOnDiskResumesFromEveryStorageOperation(t *testing.T) {
	t.Parallel()
	for _, when := range []workspacetest.When{workspacetest.Before, workspacetest.After, workspacetest.Torn} {
		t.Run(when.String(), func(t *testing.T) {
			t.Parallel()
			for at := 1; ; at++ {
				if !stopsAndResumes(t, workspacetest.Fault{At: at, When: when, Stop: true}) {
					require.Equal(t, 8, at, "an open, five appends, and one blob that two of them share")
					return
				}
			}
		})
	}
}

// stopsAndResumes reports whether the fault struck.
func stopsAndResumes(t *testing.T, fault workspacetest.Fault) bool {
	t.Helper()
	dir, err := workspace.NewDir(t.TempDir())
	require.NoError(t, err)
	defer func() { require.NoError(t, dir.Close()) }()

	ran := map[string]int{}
	faulty := workspacetest.NewFaulty(dir, fault)
	acknowledged, err := smallRun(faulty.Storage(), ran)
	if !faulty.Stopped() {
		require.NoError(t, err)
		return false
	}
	require.ErrorIs(t, err, workspacetest.ErrStopped)
	all, err := smallRun(dir, ran)
	require.NoError(t, err)
	require.Equal(t, 5, all)
	more := 0
	for _, n := range ran {
		more += n - 1
	}
	require.LessOrEqual(t, more, 1, "only the call that was under way runs again; %d were acknowledged", acknowledged)
	return true
}

func smallRun(st workspace.Storage, ran map[string]int) (done int, err error) {
	ctx := context.Background()
	j, err := journal.Open(ctx, st, file, journal.Options{})
	if err != nil {
		return 0, err
	}
	for i := range 5 {
		key := fmt.Sprint(i)
		if err := j.Note("started", key, nil); err != nil {
			return i, err
		}
		if _, err := j.Under("s").Do(ctx, key, "in", func(context.Context) ([]byte, error) {
			ran[key]++
			return payloadOf(100 + i%2*40000), nil
		}); err != nil {
			return i, err
		}
	}
	return 5, j.Close()
}
