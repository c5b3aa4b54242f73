package costs_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workspace"
)

// contextOf is for properties and fuzz targets, which have no context of their own.
func contextOf() context.Context { return context.Background() }

func TestNoLedgerIsAnEmptySummary(t *testing.T) {
	t.Parallel()
	s, err := costs.Read(t.Context(), workspace.NewMem(), costs.Filter{})
	require.NoError(t, err)
	assert.Zero(t, s.Total())
	assert.False(t, s.Total().CostAtLeast(), "nothing spent is exactly nothing")
}

func TestAFilterNarrows(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	next := call("b", "send")
	next.Time = noon.AddDate(0, 0, 1)
	write(t, st, iteration(1), tallyOf(call("a", "fetch"), next))
	write(t, st, costs.Run{ID: "x", Folder: "iteration-2/eu", Group: "eu"}, tallyOf(call("a", "fetch")))
	write(t, st, costs.Run{ID: "x", Folder: "iteration-2/eu", Group: "eu", Scope: costs.ScopeEvaluation}, tallyOf(call("a", "grade")))

	for name, test := range map[string]struct {
		filter costs.Filter
		calls  int64
	}{
		"everything":  {costs.Filter{}, 4},
		"scope":       {costs.Filter{Scope: costs.ScopeEvaluation}, 1},
		"group":       {costs.Filter{Group: "eu"}, 2},
		"no group":    {costs.Filter{Group: workspace.Ungrouped}, 2},
		"run folder":  {costs.Filter{RunFolder: "iteration-1"}, 2},
		"run id":      {costs.Filter{RunID: "x"}, 2},
		"from":        {costs.Filter{FromDay: "2026-03-15"}, 1},
		"to":          {costs.Filter{ToDay: "2026-03-14"}, 3},
		"nothing":     {costs.Filter{RunID: "nobody"}, 0},
		"other scope": {costs.Filter{Scope: "phase"}, 0},
	} {
		s, err := costs.Read(t.Context(), st, test.filter)
		require.NoError(t, err, name)
		assert.Equal(t, test.calls, s.Total().Calls, name)
	}
}

func TestFilesThatAreNoDayAreLeftOut(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	write(t, st, iteration(1), tallyOf(call("a", "fetch")))
	for _, name := range []string{"summary.json", "2026-13-40.json", "2026-03-14.json.bak", "2026-03-15.json/nested"} {
		put(t, st, "costs/execution/__ungrouped__/"+name, "not for us")
	}
	put(t, st, "costs/execution/README.md", "not for us")
	assert.EqualValues(t, 1, read(t, st).Total().Calls)
}

func TestFilesOfOlderVersionsAreRead(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	put(t, st, dayFile, `{
	  "executions": {"e1": {"by_model": {"big": {"llm_call_count": 1, "input_tokens": 5, "cache_tokens": 3, "input_cost_usd": 0.25, "cache_cost_usd": 0.25}}}},
	  "evaluations": {"v1": {"by_step_and_model": {"fetch": {"big": {"llm_call_count": 2, "input_tokens": 7}}}}},
	  "run_folders": {"iteration-1": {"execution_id": "e0", "by_model": {"big": {"llm_call_count": 3, "output_tokens": 1}}}}}`)
	rows := read(t, st).ByRun()
	require.Len(t, rows, 3)
	assert.Equal(t, []string{"e1", "v1", "e0"}, []string{rows[0].Key.RunID, rows[1].Key.RunID, rows[2].Key.RunID})
	assert.EqualValues(t, 8, rows[0].Amount.Tokens())
	assert.Equal(t, "0.5", rows[0].Amount.Cost.Total.String())
	assert.False(t, rows[0].Amount.CostAtLeast())
	assert.True(t, rows[1].Amount.CostAtLeast(), "no cost in the file is an unknown cost")
	assert.EqualValues(t, 2, rows[1].Amount.CallsWithoutPrice)
}

func TestEveryGroupingAddsUpToTheTotal(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	learning, small := call("b", "fetch"), call("c", "fetch")
	learning.Phase, small.Model = "learning", "small"
	write(t, st, iteration(1), tallyOf(call("a", "fetch"), learning, small))
	write(t, st, iteration(2), tallyOf(call("a", "send")))
	s := read(t, st)
	for name, test := range map[string]struct {
		rows []costs.Row
		want []string
	}{
		"phase":          {s.ByPhase(), []string{"execution", "learning"}},
		"step":           {s.ByStep(), []string{"execution:fetch", "execution:send", "learning:fetch"}},
		"model":          {s.ByModel(), []string{"acme/big", "acme/small"}},
		"step and model": {s.ByStepAndModel(), []string{"execution:fetch acme/big", "execution:fetch acme/small", "execution:send acme/big", "learning:fetch acme/big"}},
		"run":            {s.ByRun(), []string{"execution iteration-1 run-1", "execution iteration-2 run-2"}},
		"run folder":     {s.ByRunFolder(), []string{"iteration-1", "iteration-2"}},
		"day":            {s.ByDay(), []string{"2026-03-14"}},
		"group":          {s.ByGroup(), []string{workspace.Ungrouped}},
	} {
		var names []string
		var calls int64
		for _, row := range test.rows {
			names = append(names, row.Key.String())
			calls += row.Amount.Calls
		}
		assert.Equal(t, test.want, names, name)
		assert.EqualValues(t, 4, calls, name)
	}
}

func FuzzReadAndWrite(f *testing.F) {
	f.Add(`{"run_folders": {"iteration-1": {"executions": {"run-1": {"by_model": {"big": {"llm_call_count": 1}}}}}}}`)
	f.Add(`{"run_folders": {"iteration-1": {"by_model": {"big": {"total_cost_usd": 1e-3, "provider": "acme"}}, "created_at": "2026-03-14T01:00:00+05:30"}}}`)
	f.Add(`{"executions": {"e": {"by_step_and_model": {"p:s": {"m": {"cache_tokens": 1}}}}}, "updated_at": null}`)
	f.Add(`{"run_folders": null}`)
	f.Add(``)
	f.Fuzz(func(t *testing.T, text string) {
		st := workspace.NewMem()
		put(t, st, dayFile, text)
		before, readErr := costs.Read(contextOf(), st, costs.Filter{})
		if readErr != nil {
			require.ErrorIs(t, readErr, costs.ErrDamaged)
		}
		run := costs.Run{ID: "fuzz", Folder: "iteration-fuzz"}
		ledger := costs.NewLedger(st)
		if err := ledger.Write(contextOf(), run, tallyOf(call("a", "fetch"))); err != nil {
			require.ErrorIs(t, err, costs.ErrDamaged)
			require.Equal(t, text, content(t, st, dayFile))
			return
		}
		once := content(t, st, dayFile)
		require.NoError(t, ledger.Write(contextOf(), run, tallyOf(call("a", "fetch"))))
		require.Equal(t, once, content(t, st, dayFile))
		if readErr != nil {
			return
		}
		after, err := costs.Read(contextOf(), st, costs.Filter{})
		require.NoError(t, err)
		require.GreaterOrEqual(t, after.Total().Calls, before.Total().Calls)
		require.GreaterOrEqual(t, after.Total().Tokens(), before.Total().Tokens())
	})
}

// bigLedger is 30 days of 40 runs with 10 steps and 2 models each.
func bigLedger(b *testing.B) *workspace.Mem {
	st := workspace.NewMem()
	for d := range 30 {
		for n := range 40 {
			require.NoError(b, costs.NewLedger(st).Write(b.Context(), costs.Run{ID: fmt.Sprint("run-", d, "-", n), Folder: fmt.Sprint("iteration-", d*40+n)}, dayOfWork(d)))
		}
	}
	return st
}

func dayOfWork(d int) *costs.Tally {
	tally := costs.NewTally(prices())
	for i := range 84 {
		e := call(fmt.Sprint(i), fmt.Sprint("step-", i%10))
		e.Time = noon.AddDate(0, 0, d).Add(time.Duration(i) * time.Second)
		if i%3 == 0 {
			e.Model = "small"
		}
		tally.Add(e)
	}
	return tally
}

func BenchmarkReadAMonth(b *testing.B) {
	st := bigLedger(b)
	b.ResetTimer()
	for b.Loop() {
		s, err := costs.Read(b.Context(), st, costs.Filter{})
		require.NoError(b, err)
		_ = s.ByStep()
	}
}

func BenchmarkWriteIntoADayOf40Runs(b *testing.B) {
	st := bigLedger(b)
	tally := dayOfWork(0)
	n := 0
	for b.Loop() {
		n++
		tally.Add(costs.Entry{Key: fmt.Sprint("more-", n), Time: noon, StepID: "step-1", Model: "big"})
		require.NoError(b, costs.NewLedger(st).Write(b.Context(), costs.Run{ID: "run-0-0", Folder: "iteration-0"}, tally))
	}
}
