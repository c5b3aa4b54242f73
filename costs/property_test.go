package costs_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workspace"
)

func drawTokens(t *rapid.T, name string) *int64 {
	return rapid.OneOf(
		rapid.Just[*int64](nil),
		rapid.Map(rapid.Int64Range(0, 1_000_000), agent.Tokens),
	).Draw(t, name)
}

func drawEntry(t *rapid.T, key string) costs.Entry {
	return costs.Entry{
		Key:      key,
		Time:     noon.Add(time.Duration(rapid.Int64Range(0, int64(40*time.Hour)).Draw(t, "after"))),
		Phase:    rapid.SampledFrom([]string{"", "learning"}).Draw(t, "phase"),
		StepID:   rapid.SampledFrom([]string{"", "fetch", "send"}).Draw(t, "step"),
		Provider: rapid.SampledFrom([]string{"", "acme", "other"}).Draw(t, "provider"),
		Model:    rapid.SampledFrom([]string{"big", "small", "acme/big"}).Draw(t, "model"),
		Usage: agent.Usage{
			Input: drawTokens(t, "input"), CacheRead: drawTokens(t, "read"), CacheWrite: drawTokens(t, "write"),
			Output: drawTokens(t, "output"), Reasoning: drawTokens(t, "reasoning"),
		},
		Duration: time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "took")),
	}
}

// snapshot is every file of the ledger.
func snapshot(st workspace.Storage, days []string) map[string]string {
	files := map[string]string{}
	for _, day := range days {
		name := workspace.DailyCosts("execution", "", day)
		if data, err := st.ReadFile(contextOf(), name); err == nil {
			files[name] = string(data)
		}
	}
	return files
}

func TestAnyOrderAndRepetitionGivesTheSameFiles(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		entries := map[int][]costs.Entry{} // by run
		for run := range rapid.IntRange(1, 3).Draw(t, "runs") {
			for n := range rapid.IntRange(1, 9).Draw(t, "calls") {
				entries[run] = append(entries[run], drawEntry(t, fmt.Sprint(n)))
			}
		}
		days := []string{"2026-03-14", "2026-03-15", "2026-03-16"}
		// All runs share iteration-0 in half of the cases.
		shared := rapid.Bool().Draw(t, "shared folder")
		runOf := func(n int) costs.Run {
			r := iteration(n)
			if shared {
				r.Folder = "iteration-0"
			}
			return r
		}

		straight := workspace.NewMem()
		for n := range len(entries) {
			tally := costs.NewTally(prices())
			for _, e := range entries[n] {
				require.True(t, tally.Add(e))
			}
			require.NoError(t, costs.NewLedger(straight).Write(contextOf(), runOf(n), tally))
		}

		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		shuffled := workspace.NewMem()
		tallies := make([]*costs.Tally, len(entries))
		type step struct{ run, entry int }
		var steps []step
		for n := range tallies {
			tallies[n] = costs.NewTally(prices())
			for i := range entries[n] {
				steps = append(steps, step{n, i}, step{n, i})
			}
		}
		random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
		for _, s := range steps {
			tallies[s.run].Add(entries[s.run][s.entry])
			if random.IntN(5) == 0 {
				require.NoError(t, costs.NewLedger(shuffled).Write(contextOf(), runOf(s.run), tallies[s.run]))
			}
		}
		for n := range tallies {
			require.NoError(t, costs.NewLedger(shuffled).Write(contextOf(), runOf(n), tallies[n]))
		}
		require.Equal(t, snapshot(straight, days), snapshot(shuffled, days))

		// What is read is what was tallied, but for parts of a millisecond.
		s, err := costs.Read(contextOf(), shuffled, costs.Filter{})
		require.NoError(t, err)
		for n := range tallies {
			run := runOf(n)
			want := tallies[n].Summary(costs.Run{ID: run.ID, Folder: run.Folder, Group: workspace.Ungrouped, Scope: costs.ScopeExecution})
			exactly := func(rows []costs.Row) []costs.Row {
				for i := range rows {
					rows[i].Amount.Duration = 0
				}
				return rows
			}
			all := func(k costs.Key) costs.Key { return k }
			mine, err := costs.Read(contextOf(), shuffled, costs.Filter{RunID: run.ID})
			require.NoError(t, err)
			require.Equal(t, exactly(want.By(all)), exactly(mine.By(all)))
		}
		var calls int64
		for _, tally := range tallies {
			calls += tally.Totals().Calls
		}
		require.Equal(t, calls, s.Total().Calls)
	})
}
