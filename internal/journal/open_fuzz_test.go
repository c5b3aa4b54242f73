package journal_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/journal"
)

// Whatever a file holds, it is opened, and then valid, or refused as it is.
func FuzzOpenTakesAFileOrLeavesItAlone(f *testing.F) {
	whole := written(f)
	f.Add(whole)
	f.Add(whole[:len(whole)-1])
	f.Add(whole[:len(whole)-60])
	f.Add(append(slices.Clip(whole), "\x18"...))
	f.Add([]byte("\n"))
	f.Add([]byte(`,"crc":"`))
	f.Fuzz(func(t *testing.T, content []byte) {
		ctx, st := context.Background(), holding(t, content)
		j, err := journal.Open(ctx, st, file, journal.Options{})
		if err != nil {
			if !errors.Is(err, journal.ErrDamaged) && !errors.Is(err, journal.ErrVersion) {
				t.Fatal(err)
			}
			require.Equal(t, string(content), string(text(t, st, file)))
			return
		}
		require.NoError(t, j.Append(outcome, "k", nil))
		require.NoError(t, j.Close())
		all := records(t, st)
		require.Equal(t, "k", all[len(all)-1].Key)
	})
}
