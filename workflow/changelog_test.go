package workflow_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// at makes an edit at a moment.
func (b *bench) at(t testing.TB, moment time.Time, tool string, edit func(*workflow.PlanEditor) error) *workflow.EditedPlan {
	t.Helper()
	done, err := workflow.EditPlan(t.Context(), b.ws, workflow.PlanEdit{Tool: tool, Reason: "because", Now: func() time.Time { return moment }}, edit)
	require.NoError(t, err)
	return done
}

func (b *bench) log(t testing.TB, filter *workflow.ChangelogFilter) ([]workflow.ChangelogEntry, workspace.Diagnostics) {
	t.Helper()
	entries, found, err := workflow.ReadChangelog(t.Context(), b.ws, filter)
	require.NoError(t, err)
	return entries, found
}

func changelogFiles(t testing.TB, b *bench) []string {
	t.Helper()
	entries, err := b.ws.Storage().ReadDir(t.Context(), workspace.ChangelogDir)
	require.NoError(t, err)
	var names []string
	for _, entry := range entries {
		if _, ok := workspace.ChangelogBegun(entry.Name()); ok {
			names = append(names, entry.Name())
		}
	}
	return names
}

func TestAChangelogEntryHasTheFormThatOtherReadersKnow(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular","n":1.50}]}`)
	done := b.edited(t, set("a", "/n", "2"))
	assert.Equal(t, `{
  "entries": [
    {
      "id": "`+done.Entry.ID+`",
      "timestamp": "2026-03-04T12:00:00Z",
      "tool": "update_regular_step",
      "reason": "tidy up",
      "step_ids": [
        "a"
      ],
      "changes": [
        {
          "step_id": "a",
          "field": "n",
          "old_value": 1.50,
          "new_value": 2
        }
      ],
      "revision_before": "`+done.Entry.RevisionBefore+`",
      "revision_after": "`+done.Entry.RevisionAfter+`",
      "artifact_review": {
        "done": false
      }
    }
  ]
}
`, b.read(t, "planning/changelog/changelog-2026-03-04-12-00-00.json"))
}

func TestEveryHourHasItsChangelogFile(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan)
	for i, moment := range []time.Duration{0, 59*time.Minute + 59*time.Second, time.Hour, 25 * time.Hour, 25*time.Hour + time.Second} {
		b.at(t, noon.Add(moment), "t", set("fetch", "/title", `"title `+string(rune('0'+i))+`"`))
	}
	assert.Equal(t, []string{
		"changelog-2026-03-04-12-00-00.json", "changelog-2026-03-04-13-00-00.json", "changelog-2026-03-05-13-00-00.json",
	}, changelogFiles(t, b))
	entries, found := b.log(t, nil)
	assert.Len(t, entries, 5)
	assert.Empty(t, found)
}

func TestTheChangelogIsReadWithAFilterTheLatestFirst(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan)
	for i, step := range []string{"fetch", "match", "fetch", "report"} {
		b.at(t, noon.Add(time.Duration(i)*time.Hour), "tool_"+step, set(step, "/title", `"title `+string(rune('0'+i))+`"`))
	}
	all, _ := b.log(t, nil)
	require.NoError(t, workflow.ReviewChangelogEntry(t.Context(), b.ws, all[0].ID, workflow.ArtifactReview{Done: true, Result: "clean"}))
	hours := func(filter workflow.ChangelogFilter) []int {
		entries, _ := b.log(t, &filter)
		var hours []int
		for _, e := range entries {
			hours = append(hours, e.Timestamp.Hour()-12)
		}
		return hours
	}
	assert.Equal(t, []int{3, 2, 1, 0}, hours(workflow.ChangelogFilter{}))
	assert.Equal(t, []int{2, 0}, hours(workflow.ChangelogFilter{Step: "fetch"}))
	assert.Equal(t, []int{1}, hours(workflow.ChangelogFilter{Tool: "tool_match"}))
	assert.Equal(t, []int{2, 1}, hours(workflow.ChangelogFilter{Since: noon.Add(time.Hour), Until: noon.Add(3 * time.Hour)}))
	assert.Equal(t, []int{2, 1, 0}, hours(workflow.ChangelogFilter{Unreviewed: true}))
	assert.Equal(t, []int{3, 2}, hours(workflow.ChangelogFilter{Limit: 2}))
}

func TestAReviewIsRecordedInTheEntryAndLeavesTheRest(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan)
	done := b.edited(t, set("fetch", "/title", `"t"`))
	const name = "planning/changelog/changelog-2026-03-04-12-00-00.json"
	var file map[string]any
	require.NoError(t, json.Unmarshal([]byte(b.read(t, name)), &file))
	file["x"] = "kept"
	file["entries"].([]any)[0].(map[string]any)["y"] = "kept"
	text, err := json.Marshal(file)
	require.NoError(t, err)
	b.write(t, name, string(text))
	moment := noon.Add(time.Hour)
	review := workflow.ArtifactReview{Done: true, ReviewedAt: &moment, ReviewedBy: "somebody", Result: "findings", ReportEntryID: "r1"}
	require.NoError(t, workflow.ReviewChangelogEntry(t.Context(), b.ws, done.Entry.ID, review))
	entries, _ := b.log(t, nil)
	assert.Equal(t, review, entries[0].ArtifactReview)
	assert.Contains(t, b.read(t, name), `"x":"kept"`)
	assert.Contains(t, b.read(t, name), `"y": "kept"`)
	require.ErrorIs(t, workflow.ReviewChangelogEntry(t.Context(), b.ws, "nobody", review), workflow.ErrEntryNotFound)
}

func TestAChangeByHandBetweenTwoEditsIsLoggedAsOne(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular"}]}`)
	b.edited(t, set("a", "/title", `"one"`))
	b.write(t, workspace.PlanFile, `{"steps":[{"type":"regular","id":"a","title":"by hand"},{"id":"b","type":"regular"}]}`)
	done := b.edited(t, set("a", "/title", `"two"`))
	require.NotNil(t, done.Outside)
	assert.Equal(t, workflow.OutsideTool, done.Outside.Tool)
	assert.Equal(t, []workflow.PlanChange{
		{Step: "a", Field: "title", Old: json.RawMessage(`"one"`), New: json.RawMessage(`"by hand"`)},
		{Field: "steps", Old: json.RawMessage(`["a"]`), New: json.RawMessage(`["a","b"]`)},
	}, done.Outside.Changes)
	assert.Len(t, done.Outside.AddedSteps, 1)
	entries, _ := b.log(t, nil)
	require.Len(t, entries, 3)
	assert.Equal(t, json.RawMessage(`"by hand"`), entries[0].Changes[0].Old)

	again := b.edited(t, set("a", "/title", `"three"`))
	assert.Nil(t, again.Outside, "it is logged once")
}

func TestAChangeByHandIsLoggedEvenWhenTheNextEditIsRefused(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular"}]}`)
	b.edited(t, set("a", "/title", `"one"`))
	for _, title := range []string{"x", "y"} {
		b.write(t, workspace.PlanFile, `{"steps":[{"id":"a","type":"regular","title":"`+title+`"}]}`)
		_, err := b.edit(t, set("nobody", "/title", `"two"`))
		require.ErrorIs(t, err, workflow.ErrStepNotFound)
	}
	entries, _ := b.log(t, &workflow.ChangelogFilter{Tool: workflow.OutsideTool})
	require.Len(t, entries, 2)
	var olds []string
	for _, e := range entries {
		olds = append(olds, string(e.Changes[0].Old))
	}
	assert.ElementsMatch(t, []string{`"one"`, `"x"`}, olds)
}

func TestLayingThePlanOutAnewIsNoChange(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular"}]}`)
	b.edited(t, set("a", "/title", `"one"`))
	b.write(t, workspace.PlanFile, `{"steps":[{"title":"one","type":"regular","id":"a"}]}`)
	assert.Nil(t, b.edited(t, set("a", "/title", `"two"`)).Outside)
}

func TestWithoutTheRecentEditAChangeByHandIsLoggedAsUnknown(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular"}]}`)
	b.edited(t, set("a", "/title", `"one"`))
	require.NoError(t, b.ws.Storage().Remove(t.Context(), workspace.RecentEditFile))
	assert.Nil(t, b.edited(t, set("a", "/title", `"two"`)).Outside)
	require.NoError(t, b.ws.Storage().Remove(t.Context(), workspace.RecentEditFile))
	b.write(t, workspace.PlanFile, `{"steps":[{"id":"a","type":"regular"}]}`)
	done := b.edited(t, set("a", "/title", `"three"`))
	require.NotNil(t, done.Outside)
	assert.Empty(t, done.Outside.Changes)
	assert.Contains(t, done.Outside.Reason, "not known")
}

func TestAChangelogFileThatCannotBeReadIsReportedAndKept(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"changelog.json.syntax":      "{",
		"changelog.json.type":        `{"entries": 1}`,
		"changelog.entry.unreadable": `[1]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const file = "planning/changelog/changelog-2026-03-04-12-00-00.json"
			b := planBench(t, invoicePlan, file, text)
			_, err := b.edit(t, set("fetch", "/title", `"t"`))
			require.NoError(t, err)
			entries, found := b.log(t, nil)
			assert.Len(t, entries, 1)
			require.Len(t, found, 1)
			assert.Equal(t, name, found[0].Code)
			assert.Equal(t, file, found[0].File)
			if name != "changelog.entry.unreadable" {
				assert.Equal(t, text, b.read(t, file))
				assert.Len(t, changelogFiles(t, b), 2)
			}
		})
	}
}

func TestTheChangelogIsPrunedToAWindow(t *testing.T) {
	t.Parallel()
	ages := []int{200, 181, 100, 31, 8, 6, 0} // days
	for window, kept := range map[workflow.ChangelogWindow]int{
		workflow.KeepWeek: 2, workflow.KeepMonth: 3, workflow.KeepQuarter: 4, workflow.KeepHalfYear: 5,
	} {
		b := planBench(t, invoicePlan)
		for i, age := range ages {
			b.at(t, noon.AddDate(0, 0, -age), "t", set("fetch", "/title", `"title `+string(rune('0'+i))+`"`))
		}
		pruned, err := workflow.PruneChangelog(t.Context(), b.ws, window, noon)
		require.NoError(t, err)
		assert.Len(t, pruned.Removed, len(ages)-kept)
		assert.Equal(t, len(ages)-kept, pruned.Entries)
		entries, _ := b.log(t, nil)
		assert.Len(t, entries, kept)
		assert.Nil(t, b.edited(t, set("fetch", "/title", `"last"`)).Outside)
	}
}

func TestPruningKeepsTheLatestFileAndThoseThatCannotBeRead(t *testing.T) {
	t.Parallel()
	b := planBench(t, invoicePlan, "planning/changelog/changelog-2020-01-01-00-00-00.json", "{")
	b.at(t, noon.AddDate(-1, 0, 0), "t", set("fetch", "/title", `"one"`))
	pruned, err := workflow.PruneChangelog(t.Context(), b.ws, workflow.KeepWeek, noon)
	require.NoError(t, err)
	assert.Empty(t, pruned.Removed)
	require.Len(t, pruned.Kept, 1)
	assert.Equal(t, "changelog.json.syntax", pruned.Kept[0].Code)
	assert.Len(t, changelogFiles(t, b), 2)
	_, err = workflow.PruneChangelog(t.Context(), b.ws, 8, noon)
	require.ErrorIs(t, err, workflow.ErrChangelogWindow)
}

func TestPruningAnAbsentChangelogIsNoError(t *testing.T) {
	t.Parallel()
	pruned, err := workflow.PruneChangelog(t.Context(), planBench(t, invoicePlan).ws, workflow.KeepWeek, noon)
	require.NoError(t, err)
	assert.Empty(t, pruned.Removed)
}

func TestTheSameEditAtTheSameMomentIsAnotherEntry(t *testing.T) {
	t.Parallel()
	b := planBench(t, `{"steps":[{"id":"a","type":"regular","n":1}]}`)
	seen := map[string]bool{}
	for _, n := range []string{"2", "1", "2", "1"} {
		seen[b.edited(t, set("a", "/n", n)).Entry.ID] = true
	}
	assert.Len(t, seen, 4)
}
