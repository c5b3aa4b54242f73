package workspace_test

import (
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
)

// The paths are a file format: hosts, ledgers and other readers know them.
func TestLayoutBuildsThePathsThatReadersOfAWorkflowKnow(t *testing.T) {
	t.Parallel()
	single := workspace.RunLayout(workspace.IterationDir(3))
	grouped := workspace.RunLayout("iteration-3/production")
	golden := []struct{ want, got string }{
		{"workflow.json", workspace.SettingsFile},
		{".mcp.json", workspace.MCPFile},
		{"planning/plan.json", workspace.PlanFile},
		{"planning/step_config.json", workspace.StepConfigFile},
		{"variables/variables.json", workspace.VariablesFile},
		{"soul/soul.md", workspace.SoulFile},
		{"runs", workspace.RunsDir},
		{"learnings", workspace.LearningsDir},
		{"knowledgebase", workspace.KnowledgebaseDir},
		{"db", workspace.DBDir},
		{"costs", workspace.CostsDir},
		{"evaluation", workspace.EvaluationDir},
		{"runs/iteration-3", single.Dir()},
		{"runs/iteration-3/journal.jsonl", single.Journal()},
		{"runs/iteration-3/journal-blobs", single.JournalBlobs()},
		{"runs/iteration-3/run.lock", single.Lock()},
		{"runs/iteration-3/run_metadata.json", single.Metadata()},
		{"runs/iteration-3/planning/step_config.json", single.StepConfig()},
		{"runs/iteration-3/work", single.WorkRoot()},
		{"runs/iteration-3/work/fetch/visit/1", single.Work("fetch/visit/1")},
		{"runs/iteration-3/execution", single.Execution("")},
		{"runs/iteration-3/execution/fetch", single.Execution("fetch")},
		{"runs/iteration-3/execution/archived/run-2/fetch", single.Archived(2, "fetch")},
		{"runs/iteration-3/logs/fetch", single.StepLogs("fetch")},
		{"runs/iteration-3/logs/fetch/execution/execution-attempt-1-iteration-2.json", single.AttemptLog("fetch", 1, 2, "")},
		{"runs/iteration-3/logs/fetch/execution/execution-attempt-1-iteration-2-prompts.json", single.AttemptLog("fetch", 1, 2, "prompts")},
		{"runs/iteration-3/logs/fetch/execution/execution-final-summary.json", single.FinalSummaryLog("fetch")},
		{"runs/iteration-3/logs/fetch/pre_validation.json", single.PreValidationLog("fetch")},
		{"runs/iteration-3/logs/fetch/pre_validation-attempt-1-iteration-2.json", single.AttemptValidationLog("fetch", 1, 2)},
		{"runs/iteration-3/production", grouped.Dir()},
		{"runs/iteration-3/production/journal.jsonl", grouped.Journal()},
		{"runs/iteration-3/production/execution/fetch", grouped.Execution("fetch")},
		{"costs/execution/production/2026-01-31.json", workspace.DailyCosts("execution", "production", "2026-01-31")},
		{"costs/evaluation/__ungrouped__/2026-01-31.json", workspace.DailyCosts("evaluation", "", "2026-01-31")},
		{"costs/execution/production/ledger.lock", workspace.CostsLock("execution", "production")},
		{"costs/execution/__ungrouped__/ledger.lock", workspace.CostsLock("execution", "")},
		{"planning/changelog/changelog-2026-01-31-22-05-09.json", workspace.ChangelogFile(time.Date(2026, 1, 31, 23, 5, 9, 0, time.FixedZone("east", 3600)))},
		{"planning/changelog/recent-edit.json", workspace.RecentEditFile},
		{"runs/questions.jsonl", workspace.OpenQuestionsFile},
		{"runs/questions.lock", workspace.OpenQuestionsLock},
		{"runs/iteration-3/feedback", single.Feedback()},
		{"runs/iteration-3/feedback/questions", single.Questions()},
		{"runs/iteration-3/feedback/questions/a1.jsonl", single.Question("a1")},
		{"runs/iteration-3/production/feedback/notifications", grouped.Notifications()},
		{"runs/iteration-3/feedback/notifications/a1.jsonl", single.Notification("a1")},
	}
	for _, path := range golden {
		assert.Equal(t, path.want, path.got)
		assert.True(t, fs.ValidPath(path.got), path.got)
	}
}

func TestTheNameOfAChangelogFileSaysWhenItWasBegun(t *testing.T) {
	t.Parallel()
	begun, ok := workspace.ChangelogBegun("changelog-2026-01-31-22-05-09.json")
	require.True(t, ok)
	assert.Equal(t, time.Date(2026, 1, 31, 22, 5, 9, 0, time.UTC), begun)
	for _, other := range []string{"recent-edit.json", "changelog-.json", "changelog-2026-13-31-22-05-09.json", "changelog-2026-01-31-22-05-09.json.bak", ""} {
		_, ok := workspace.ChangelogBegun(other)
		assert.False(t, ok, other)
	}
}
