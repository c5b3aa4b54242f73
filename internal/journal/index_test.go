package journal

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/workspace"
)

func TestTheIndexKeepsAndForgetsLikeAListOfKeys(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.Custom(func(t *rapid.T) string {
			return strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "1", ""}), 1, 4).Draw(t, "segments"), "/")
		})
		var root node
		var kept []string
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			k := key.Draw(t, "key")
			switch rapid.IntRange(0, 2).Draw(t, "what") {
			case 0:
				root.make(k).note = &entry{}
				kept = append(kept, k)
			case 1:
				root.forget(k)
				kept = slices.DeleteFunc(kept, func(s string) bool { return s == k || strings.HasPrefix(s, k+"/") })
			case 2:
				root.make(k)
				root.prune(k)
			}
			at := root.find(k)
			require.Equal(t, slices.Contains(kept, k), at != nil && at.note != nil, k)
		}
		for _, k := range kept {
			require.NotNil(t, root.find(k))
		}
		for _, k := range kept {
			root.forget(k)
		}
		require.True(t, root.empty())
	})
}

func TestMemoryHoldsOnlyWhatIsOpen(t *testing.T) {
	t.Parallel()
	ctx, st := context.Background(), workspace.NewMem()
	opts := Options{Closing: "outcome"}
	j, err := Open(ctx, st, "j.jsonl", opts)
	require.NoError(t, err)
	for i := range 500 {
		key := fmt.Sprintf("map/item/%d/step/visit/1", i)
		s := j.Under(key)
		require.NoError(t, j.Note("started", key, nil))
		_, err := s.Begin(ctx, "tool/1", "x")
		require.NoError(t, err)
		_, err = s.Do(ctx, "tool/1", "x", func(context.Context) ([]byte, error) { return []byte(`1`), nil })
		require.NoError(t, err)
		_, err = s.Do(ctx, "failed", "x", func(context.Context) ([]byte, error) { return nil, context.Canceled })
		require.Error(t, err)
		require.NoError(t, j.Append("outcome", key, nil))
	}
	assert.True(t, j.index.empty())
	require.NoError(t, j.Close())
	j, err = Open(ctx, st, "j.jsonl", opts)
	require.NoError(t, err)
	assert.True(t, j.index.empty(), "after loading")
	require.NoError(t, j.Close())
}
