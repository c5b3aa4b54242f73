package journal_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// An append that fails once, whatever of it was done, is made good.
func TestAnUnclearFailureIsLivedThrough(t *testing.T) {
	t.Parallel()
	for _, when := range []workspacetest.When{workspacetest.Before, workspacetest.After, workspacetest.Torn} {
		for _, cause := range []error{workspacetest.ErrInjected, workspace.ErrConflict} {
			for torn := 1; torn < 250; torn += 40 {
				for at := 1; at <= 4; at++ {
					st := workspace.NewMem()
					faulty := workspacetest.NewFaulty(st, workspacetest.Fault{At: at, When: when, TornBytes: torn, Err: cause})
					j := open(t, faulty.Storage(), journal.Options{})
					for i := range 3 {
						require.NoError(t, j.Append(outcome, fmt.Sprint(i), []byte(`"some text"`)), "%s at %d", when, at)
					}
					_, struck := faulty.Struck()
					require.True(t, struck)
					var keys []string
					for _, r := range records(t, st) {
						if r.Kind == outcome {
							keys = append(keys, r.Key)
						}
					}
					require.Equal(t, []string{"0", "1", "2"}, keys, "%s at %d", when, at)
					require.NoError(t, j.Close())
				}
			}
		}
	}
}

// broken fails every append after the first, and counts them.
type broken struct {
	workspace.Storage
	appends int
	does    func(name string, offset int64, data []byte) error
}

func (b *broken) AppendAt(ctx context.Context, name string, offset int64, data []byte) error {
	if offset == 0 {
		return b.Storage.AppendAt(ctx, name, offset, data)
	}
	b.appends++
	return b.does(name, offset, data)
}

func TestAFailureThatStaysIsFinalAndBounded(t *testing.T) {
	t.Parallel()
	failure := errors.New("disk is full")
	st := &broken{Storage: workspace.NewMem(), does: func(string, int64, []byte) error { return failure }}
	j := open(t, st, journal.Options{})
	require.ErrorIs(t, j.Append(outcome, "a", nil), failure)
	assert.Equal(t, 3, st.appends)
	require.ErrorIs(t, j.Append(outcome, "b", nil), failure)
	require.ErrorIs(t, j.Close(), failure)
	require.ErrorIs(t, j.Err(), failure)
	assert.Equal(t, 3, st.appends, "nothing is tried again")
	assert.Len(t, records(t, st), 2)
}

func TestAPanicOfTheStorageLeavesNobodyWaiting(t *testing.T) {
	t.Parallel()
	st := &broken{Storage: workspace.NewMem(), does: func(string, int64, []byte) error { panic("storage") }}
	j := open(t, st, journal.Options{})
	assert.PanicsWithValue(t, "storage", func() { _ = j.Append(outcome, "a", nil) })
	require.Error(t, j.Append(outcome, "b", nil))
	require.Error(t, j.Close())
}

func TestForeignBytesBehindTheLastRecordMakeTheOwnerStale(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for name, does := range map[string]func(mem workspace.Storage, offset int64, data []byte){
		"instead of ours": func(mem workspace.Storage, offset int64, _ []byte) {
			require.NoError(t, mem.AppendAt(ctx, file, offset, []byte("someone")))
		},
		"behind ours": func(mem workspace.Storage, offset int64, data []byte) {
			require.NoError(t, mem.AppendAt(ctx, file, offset, append(bytes.Clone(data), '{')))
		},
		"behind a torn part of ours": func(mem workspace.Storage, offset int64, data []byte) {
			require.NoError(t, mem.AppendAt(ctx, file, offset, append(bytes.Clone(data[:20]), "\x18"...)))
		},
		"and the file is shorter": func(mem workspace.Storage, offset int64, _ []byte) {
			require.NoError(t, mem.Truncate(ctx, file, offset-1))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			mem := workspace.NewMem()
			st := &broken{Storage: mem}
			st.does = func(_ string, offset int64, data []byte) error {
				does(mem, offset, data)
				return errors.New("connection lost")
			}
			j := open(t, st, journal.Options{})
			require.ErrorIs(t, j.Append(outcome, "a", []byte(`"text"`)), journal.ErrStale)
			assert.Equal(t, 1, st.appends)
		})
	}
}

// Workers record results of keys, until the process dies at some storage
// operation; then another process goes on. What a call returned is there for good,
// and each key has one result.
func TestNothingIsLostAndNothingRecordedTwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		ctx, st := context.Background(), workspace.NewMem()
		acknowledged := map[string]string{}
		var mu sync.Mutex
		lives := rapid.IntRange(1, 4).Draw(t, "lives")
		for life := range lives + 1 {
			fault := workspacetest.Fault{}
			if life < lives {
				fault = workspacetest.Fault{
					Stop:      true,
					At:        rapid.IntRange(1, 12).Draw(t, "at"),
					When:      workspacetest.When(rapid.IntRange(0, 2).Draw(t, "when")),
					TornBytes: rapid.IntRange(1, 900).Draw(t, "torn"),
				}
			}
			plans := rapid.SliceOfN(rapid.SliceOfN(rapid.IntRange(0, 5), 0, 6), 1, 4).Draw(t, "plans")
			j, err := journal.Open(ctx, workspacetest.NewFaulty(st, fault).Storage(), file, journal.Options{})
			if err != nil {
				require.ErrorIs(t, err, workspacetest.ErrStopped)
				continue
			}
			var workers sync.WaitGroup
			for w, plan := range plans {
				workers.Go(func() {
					for n, i := range plan {
						key := fmt.Sprintf("s/%d", i)
						mine := string(payloadOf(40 + 100*w + n + (i/5)*40000))
						if i == 0 {
							_ = j.Note("step", "n", []byte(mine))
							continue
						}
						got, err := j.Under("s").Do(ctx, fmt.Sprint(i), "in", returns(mine))
						if err != nil {
							continue
						}
						mu.Lock()
						if before, ok := acknowledged[key]; ok {
							assert.Equal(t, before, string(got))
						}
						acknowledged[key] = string(got)
						mu.Unlock()
					}
				})
			}
			workers.Wait()
			_ = j.Close()
		}

		results := map[string]string{}
		for _, r := range records(t, st) {
			if r.Kind != journal.KindResult {
				continue
			}
			require.NotContains(t, results, r.Key, "recorded twice")
			results[r.Key] = string(r.Data)
		}
		for key, data := range acknowledged {
			require.Equal(t, data, results[key], "lost")
		}
	})
}

// Two processes that both believe to own the journal never both go on.
func TestOfTwoOwnersOneGoesOn(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		st := workspace.NewMem()
		owners := []*journal.Journal{open(t, st, journal.Options{})}
		var last int
		acknowledged := map[string]bool{}
		for step := range rapid.IntRange(1, 30).Draw(t, "steps") {
			if rapid.IntRange(0, 4).Draw(t, "what") == 0 {
				owners = append(owners, open(t, st, journal.Options{}))
				last = len(owners) - 1
				continue
			}
			who := rapid.IntRange(0, len(owners)-1).Draw(t, "who")
			key := fmt.Sprint(step)
			err := owners[who].Append(outcome, key, nil)
			if who == last {
				require.NoError(t, err)
				acknowledged[key] = true
			} else {
				require.ErrorIs(t, err, journal.ErrStale)
			}
		}
		for _, r := range records(t, st) {
			if r.Kind == outcome {
				require.True(t, acknowledged[r.Key])
				delete(acknowledged, r.Key)
			}
		}
		require.Empty(t, acknowledged)
	})
}
