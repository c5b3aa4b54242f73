package costs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workspace"
)

var noon = time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)

const (
	day     = "2026-03-14"
	dayFile = "costs/execution/__ungrouped__/2026-03-14.json"
)

func prices() *costs.Prices {
	return &costs.Prices{Version: "2026-03", Models: []costs.ModelPrice{{
		Provider: "acme", Model: "big",
		Input: new(costs.Dollars(2)), Output: new(costs.Dollars(10)),
		CacheRead: new(costs.Dollars(0.2)), CacheWrite: new(costs.Dollars(2.5)),
	}}}
}

func call(key, step string) costs.Entry {
	return costs.Entry{
		Key: key, Time: noon, StepID: step, Attempt: 1, Turn: 1, Provider: "acme", Model: "big",
		Usage:    agent.Usage{Input: agent.Tokens(1000), Output: agent.Tokens(100)},
		Duration: 1500 * time.Millisecond,
	}
}

func tallyOf(entries ...costs.Entry) *costs.Tally {
	t := costs.NewTally(prices())
	for _, e := range entries {
		t.Add(e)
	}
	return t
}

func iteration(n int) costs.Run {
	return costs.Run{ID: fmt.Sprintf("run-%d", n), Folder: fmt.Sprintf("iteration-%d", n)}
}

func write(t *testing.T, st workspace.Storage, run costs.Run, tally *costs.Tally) {
	t.Helper()
	require.NoError(t, costs.NewLedger(st).Write(t.Context(), run, tally))
}

func read(t *testing.T, st workspace.Storage) *costs.Summary {
	t.Helper()
	s, err := costs.Read(t.Context(), st, costs.Filter{})
	require.NoError(t, err)
	return s
}

func content(t *testing.T, st workspace.Storage, name string) string {
	t.Helper()
	data, err := st.ReadFile(t.Context(), name)
	require.NoError(t, err)
	return string(data)
}

// readable is the content of the daily file, indented.
func readable(t *testing.T, st workspace.Storage) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, json.Indent(&b, []byte(content(t, st, dayFile)), "", "  "))
	return b.String()
}

func put(t *testing.T, st workspace.Storage, name, text string) {
	t.Helper()
	require.NoError(t, st.WriteFile(t.Context(), name, []byte(text), workspace.Lazy))
}

func TestADailyFileHoldsTheRunByModelAndByStep(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	second := call("b", "fetch")
	second.Time = noon.Add(time.Minute)
	second.Usage = agent.Usage{
		Input: agent.Tokens(0), CacheRead: agent.Tokens(1000), CacheWrite: agent.Tokens(200),
		Output: agent.Tokens(50), Reasoning: agent.Tokens(20),
	}
	write(t, st, iteration(1), tallyOf(call("a", "fetch"), second))

	usage := `{
      "cache_cost_usd": 0.0007, "cache_read_cost_usd": 0.0002, "cache_read_tokens": 1000,
      "cache_tokens": 1200, "cache_write_cost_usd": 0.0005, "cache_write_tokens": 200,
      "calls_without_price": 0, "calls_without_usage": 0, "duration_ms": 3000,
      "input_cost_usd": 0.002, "input_tokens": 1000, "llm_call_count": 2,
      "output_cost_usd": 0.0015, "output_tokens": 150, "pricing_version": "2026-03",
      "provider": "acme", "reasoning_cost_usd": 0.0002, "reasoning_tokens": 20, "total_cost_usd": 0.0042
    }`
	share := fmt.Sprintf(`"created_at": "2026-03-14T12:00:00Z", "updated_at": "2026-03-14T12:01:00Z",
	  "by_model": {"big": %s}, "by_step_and_model": {"execution:fetch": {"big": %s}}`, usage, usage)
	want := fmt.Sprintf(`{"date": "2026-03-14", "group_folder": "__ungrouped__", "updated_at": "2026-03-14T12:01:00Z",
	  "run_folders": {"iteration-1": {%s, "executions": {"run-1": {%s}}}}}`, share, share)
	assert.JSONEq(t, want, content(t, st, dayFile))
}

func TestADailyFileIsSortedAndOneLine(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	write(t, st, iteration(1), tallyOf(call("a", "zeta"), call("b", "alpha")))
	text := content(t, st, dayFile)

	var parsed any
	require.NoError(t, json.Unmarshal([]byte(text), &parsed))
	sorted, err := json.Marshal(parsed) // maps are written sorted
	require.NoError(t, err)
	assert.Equal(t, string(sorted)+"\n", text)
}

func TestWritingTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	tally := tallyOf(call("a", "fetch"))
	write(t, st, iteration(1), tally)
	before := content(t, st, dayFile)
	assert.False(t, tally.Add(call("a", "fetch")), "a key counts once")
	write(t, st, iteration(1), tally)
	assert.Equal(t, before, content(t, st, dayFile))
}

func TestARunFolderSumsTheRunsThatUsedIt(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	for _, id := range []string{"first", "second", "third"} {
		write(t, st, costs.Run{ID: id, Folder: "iteration-0"}, tallyOf(call("a", "fetch")))
	}
	s := read(t, st)
	require.Len(t, s.ByRunFolder(), 1)
	assert.EqualValues(t, 3, s.ByRunFolder()[0].Amount.Calls)
	assert.Len(t, s.ByRun(), 3)
	assert.Contains(t, readable(t, st), `"total_cost_usd": 0.009`)
}

func TestAnOlderTallyDoesNotTakeCallsAway(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	older := tallyOf(call("a", "fetch"))
	write(t, st, iteration(1), tallyOf(call("a", "fetch"), call("b", "fetch")))
	write(t, st, iteration(1), older)
	assert.EqualValues(t, 2, read(t, st).Total().Calls)
}

func TestMidnightUTCSplitsARun(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	east := time.FixedZone("east", 5*60*60)
	before, after := call("a", "fetch"), call("b", "fetch")
	before.Time = time.Date(2026, time.March, 15, 4, 59, 59, 999, east) // 23:59:59 UTC the day before
	after.Time = time.Date(2026, time.March, 15, 5, 0, 0, 0, east)
	tally := tallyOf(before, after)
	assert.Equal(t, []string{"2026-03-14", "2026-03-15"}, tally.Days())
	write(t, st, iteration(1), tally)

	rows := read(t, st).ByDay()
	require.Len(t, rows, 2)
	for i, want := range []string{"2026-03-14", "2026-03-15"} {
		assert.Equal(t, want, rows[i].Key.Day)
		assert.EqualValues(t, 1, rows[i].Amount.Calls)
	}
}

func TestTimesThatNoFileCanNameAreKeptWithinTheCalendar(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	never, late := call("a", "fetch"), call("b", "fetch")
	never.Time, late.Time = time.Time{}, time.Date(12026, time.March, 1, 0, 0, 0, 0, time.UTC)
	write(t, st, iteration(1), tallyOf(never, late))
	write(t, st, iteration(1), tallyOf(never, late))
	assert.EqualValues(t, 2, read(t, st).Total().Calls)
}

func TestGroupsAndScopesHaveFilesOfTheirOwn(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	write(t, st, costs.Run{ID: "r", Folder: "iteration-1/eu", Group: "eu"}, tallyOf(call("a", "fetch")))
	write(t, st, costs.Run{ID: "r", Folder: "iteration-1/eu", Group: "eu", Scope: costs.ScopeEvaluation}, tallyOf(call("a", "grade")))
	content(t, st, workspace.DailyCosts("execution", "eu", day))
	content(t, st, workspace.DailyCosts("evaluation", "eu", day))

	s := read(t, st)
	require.Len(t, s.ByRun(), 2)
	assert.Equal(t, "evaluation", s.ByRun()[0].Key.Scope)
	require.Len(t, s.ByGroup(), 1)
	assert.Equal(t, "eu", s.ByGroup()[0].Key.Group)
}

func TestARunThatNamesNoFolderIsRefused(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]costs.Run{
		"no id":           {Folder: "iteration-1"},
		"no folder":       {ID: "r"},
		"group is a path": {ID: "r", Folder: "f", Group: "../../planning"},
		"scope is a path": {ID: "r", Folder: "f", Scope: ".."},
		"id is taken":     {ID: "unattributed", Folder: "f"},
		"id is not UTF-8": {ID: "\xff", Folder: "f"},
	} {
		err := costs.NewLedger(workspace.NewMem()).Write(t.Context(), run, tallyOf(call("a", "s")))
		assert.ErrorIs(t, err, costs.ErrInvalidRun, name)
	}
}

func TestFieldsThatOthersWroteSurvive(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	put(t, st, dayFile, `{
	  "note": "<kept & unescaped>", "updated_at": "2026-03-14T01:00:00Z",
	  "run_folders": {
	    "iteration-9": {"by_model": {"old": {"input_tokens": 7, "big_number": 12345678901234567890123}}},
	    "iteration-1": {"by_tool": {"search": {"count": 3}}, "executions": {"run-1": {"label": "mine",
	      "by_model": {"big": {"llm_call_count": 1, "context_window_usage": 55, "input_tokens_m": "0.0M"}}}}}
	  }}`)
	write(t, st, iteration(1), tallyOf(call("a", "fetch")))

	text := readable(t, st)
	for _, kept := range []string{
		`"note": "<kept & unescaped>"`, `"big_number": 12345678901234567890123`,
		`"label": "mine"`, `"by_tool"`, `"context_window_usage": 55`,
	} {
		assert.Contains(t, text, kept)
	}
	assert.NotContains(t, text, "input_tokens_m", "a display text beside a count that changed would be wrong")
	write(t, st, iteration(1), tallyOf(call("a", "fetch")))
	assert.Equal(t, text, readable(t, st))
}

func TestWhatAFolderHeldBeforeRunsWereToldApartStillCounts(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	put(t, st, dayFile, `{"run_folders": {"iteration-1": {
	  "by_model": {"big": {"provider": "acme", "llm_call_count": 4, "input_tokens": 40, "output_tokens": 4, "total_cost_usd": 1.25}},
	  "by_step_and_model": {"execution_only:fetch": {"big": {"provider": "acme", "llm_call_count": 4, "input_tokens": 40, "output_tokens": 4, "total_cost_usd": 1.25}}}}}}`)
	before := read(t, st).Total()
	assert.Equal(t, "1.25", before.Cost.Total.String())
	for range 2 {
		write(t, st, iteration(1), tallyOf(call("a", "fetch")))
		total := read(t, st).Total()
		assert.EqualValues(t, 5, total.Calls)
		assert.Equal(t, "1.253", total.Cost.Total.String())
		assert.False(t, total.CostAtLeast())
	}
}

func TestADamagedFileIsNamedAndNeverWrittenOver(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"torn":               `{"date": "2026-03-14", "run_fol`,
		"empty":              ``,
		"null":               `null`,
		"a list":             `[]`,
		"run folders a list": `{"run_folders": []}`,
		"run folder a text":  `{"run_folders": {"iteration-1": "x"}}`,
		"negative tokens":    `{"run_folders": {"iteration-1": {"executions": {"run-1": {"by_model": {"big": {"input_tokens": -1}}}}}}}`,
		"tokens as text":     `{"run_folders": {"iteration-1": {"executions": {"x": {"by_model": {"big": {"input_tokens": "many"}}}}}}}`,
		"cost out of range":  `{"run_folders": {"iteration-1": {"executions": {"x": {"by_model": {"big": {"total_cost_usd": 1e300}}}}}}}`,
		"no time":            `{"run_folders": {"iteration-1": {"executions": {"x": {"created_at": "yesterday"}}}}}`,
		"a run twice":        `{"run_folders": {"iteration-1": {"executions": {"x": {}, "x": {}}}}}`,
		"usage is null":      `{"run_folders": {"iteration-1": {"executions": {"x": {"by_model": {"big": null}}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := workspace.NewMem()
			put(t, st, dayFile, damage)
			next := call("b", "fetch")
			next.Time = noon.AddDate(0, 0, 1)
			err := costs.NewLedger(st).Write(t.Context(), iteration(1), tallyOf(call("a", "fetch"), next))
			var damaged *costs.DamagedError
			require.ErrorAs(t, err, &damaged)
			assert.Equal(t, dayFile, damaged.File)
			assert.Equal(t, damage, content(t, st, dayFile))

			s, err := costs.Read(t.Context(), st, costs.Filter{})
			require.ErrorIs(t, err, costs.ErrDamaged)
			assert.ErrorContains(t, err, dayFile)
			assert.EqualValues(t, 1, s.Total().Calls, "the day after was written and is read all the same")
		})
	}
}

func TestWritersInOneProcessLoseNothing(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	shared := costs.NewLedger(st)
	var wg sync.WaitGroup
	for n := range 16 {
		ledger := shared
		if n%2 == 0 {
			ledger = costs.NewLedger(st)
		}
		wg.Go(func() {
			tally := costs.NewTally(prices())
			for i := range 20 {
				tally.Add(call(fmt.Sprint(i), "fetch"))
				assert.NoError(t, ledger.Write(t.Context(), iteration(n), tally))
			}
		})
	}
	wg.Wait()
	s := read(t, st)
	assert.EqualValues(t, 16*20, s.Total().Calls)
	assert.Len(t, s.ByRun(), 16)
}

func TestWritersInSeveralProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for n := range 3 {
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d %s", writerProcess, n, dir))
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, string(out))
		})
	}
	wg.Wait()
	st, err := workspace.NewDir(dir)
	require.NoError(t, err)
	s := read(t, st)
	assert.EqualValues(t, 3*40, s.Total().Calls)
	assert.Len(t, s.ByRun(), 3)
}

func TestATallyMayBeWrittenWhileItGrows(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	ledger := costs.NewLedger(st)
	tally := costs.NewTally(prices())
	var wg sync.WaitGroup
	for n := range 4 {
		wg.Go(func() {
			for i := range 50 {
				tally.Add(call(fmt.Sprint(i*(n+1)), "fetch")) // keys of the branches overlap
				if i%10 == 0 {
					assert.NoError(t, ledger.Write(t.Context(), iteration(1), tally))
				}
			}
		})
	}
	wg.Wait()
	write(t, st, iteration(1), tally)
	assert.EqualValues(t, tally.Len(), read(t, st).Total().Calls)
}

func TestAWriteGivesUpWhenTheLockStaysHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := workspace.NewMem()
		lock, err := st.TryLock(t.Context(), workspace.CostsLock("execution", ""), "somebody")
		require.NoError(t, err)
		ledger := costs.NewLedger(st)
		tally := tallyOf(call("a", "fetch"))

		start := time.Now()
		err = ledger.Write(t.Context(), iteration(1), tally)
		require.ErrorIs(t, err, costs.ErrBusy)
		require.ErrorIs(t, err, workspace.ErrHeld)
		assert.ErrorContains(t, err, "somebody")
		assert.Equal(t, costs.DefaultLockWait, time.Since(start))

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		require.ErrorIs(t, ledger.Write(ctx, iteration(1), tally), context.DeadlineExceeded)

		ledger.LockWait = -1
		require.ErrorIs(t, ledger.Write(t.Context(), iteration(1), tally), costs.ErrBusy)

		require.NoError(t, lock.Unlock())
		require.NoError(t, ledger.Write(t.Context(), iteration(1), tally))
	})
}

func TestAWriteWaitsForTheLock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := workspace.NewMem()
		lock, err := st.TryLock(t.Context(), workspace.CostsLock("execution", ""), "somebody")
		require.NoError(t, err)
		time.AfterFunc(3*time.Second, func() { assert.NoError(t, lock.Unlock()) })
		ledger := costs.NewLedger(st)
		var wg sync.WaitGroup
		for n := range 3 {
			wg.Go(func() { assert.NoError(t, ledger.Write(t.Context(), iteration(n), tallyOf(call("a", "fetch")))) })
		}
		wg.Wait()
		assert.EqualValues(t, 3, read(t, st).Total().Calls)
	})
}

func TestAnEmptyTallyWritesNothing(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	write(t, st, iteration(1), &costs.Tally{})
	_, err := st.Stat(t.Context(), "costs")
	assert.Error(t, err)
	assert.Zero(t, read(t, st).Total())
	assert.Empty(t, read(t, st).ByStep())
}

func TestModelsOfTheSameNameAtTwoProvidersStayApart(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	ids := [][2]string{{"acme", "big"}, {"other", "big"}, {"", "big"}, {"", "acme/big"}, {"acme", "small"}}
	tally := costs.NewTally(nil)
	for i, id := range ids {
		for n := range i + 1 {
			e := call(fmt.Sprint(i, n), "fetch")
			e.Provider, e.Model = id[0], id[1]
			tally.Add(e)
		}
	}
	want := tally.ByModel()
	require.Len(t, want, len(ids))
	for range 2 {
		write(t, st, iteration(1), tally)
		assert.Equal(t, want, read(t, st).ByModel())
	}
	assert.Equal(t, 2, strings.Count(readable(t, st), `"acme/big": {`)/2) // by model and by step, in the folder and in the run
}

func TestAFieldWhoseNameIsNoTextIsWrittenTheSameEachTime(t *testing.T) {
	t.Parallel()
	st := workspace.NewMem()
	put(t, st, dayFile, "{\"\xff\": {}, \"a\\ud800\": 1}")
	write(t, st, iteration(1), tallyOf(call("a", "fetch")))
	text := content(t, st, dayFile)
	write(t, st, iteration(1), tallyOf(call("a", "fetch"), call("b", "fetch")))
	write(t, st, iteration(1), tallyOf(call("a", "fetch"), call("b", "fetch")))
	assert.Contains(t, text, "\uFFFD")
	assert.NotContains(t, content(t, st, dayFile), `\ufffd`)
}
