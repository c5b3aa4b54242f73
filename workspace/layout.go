package workspace

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Names of the files and folders that a workflow has once.
const (
	SettingsFile     = "workflow.json"
	MCPFile          = ".mcp.json"
	PlanFile         = "planning/plan.json"
	StepConfigFile   = "planning/step_config.json"
	VariablesFile    = "variables/variables.json"
	SoulFile         = "soul/soul.md"
	RunsDir          = "runs"
	LearningsDir     = "learnings"
	KnowledgebaseDir = "knowledgebase"
	DBDir            = "db"
	CostsDir         = "costs"
	EvaluationDir    = "evaluation"

	EvaluationPlanFile = EvaluationDir + "/evaluation_plan.json"

	// ChangelogDir holds what was changed in the plan, when and why.
	ChangelogDir = "planning/changelog"
	// RecentEditFile is the last edit of the plan with the texts before and after it:
	// what an interrupted edit is brought to its end with, and what a change by hand is
	// compared with.
	RecentEditFile = ChangelogDir + "/recent-edit.json"
	// PlanningLock serialises those who write the plan or the default step
	// configuration.
	PlanningLock = "planning/planning.lock"

	// OpenQuestionsFile lists the questions of all runs that wait for a person. It is
	// rebuilt from the runs when it is missing.
	OpenQuestionsFile = RunsDir + "/questions.jsonl"
	// OpenQuestionsLock serialises those who write OpenQuestionsFile.
	OpenQuestionsLock = RunsDir + "/questions.lock"
)

// changelogTime is the moment in the name of a changelog file, in UTC.
const changelogTime = "2006-01-02-15-04-05"

// ChangelogFile is the changelog file that was begun at a moment.
func ChangelogFile(begun time.Time) string {
	return ChangelogDir + "/changelog-" + begun.UTC().Format(changelogTime) + ".json"
}

// ChangelogBegun is the moment when a changelog file was begun, from the last element
// of its name. It is false for the name of another file.
func ChangelogBegun(name string) (begun time.Time, ok bool) {
	moment, ok := strings.CutPrefix(name, "changelog-")
	if !ok {
		return time.Time{}, false
	}
	moment, ok = strings.CutSuffix(moment, ".json")
	if !ok {
		return time.Time{}, false
	}
	begun, err := time.Parse(changelogTime, moment)
	return begun, err == nil
}

// Ungrouped is the group folder of runs without a group in the cost ledger.
const Ungrouped = "__ungrouped__"

// IterationDir is the folder name of the n-th iteration, such as "iteration-3".
func IterationDir(n int) string { return fmt.Sprintf("iteration-%d", n) }

// Layout builds the paths of one run. The zero value is of no use; get one from
// [RunLayout].
type Layout struct {
	base string // such as runs/iteration-1
}

// RunLayout gives the paths of a run by its folder below runs, which is
// iteration-N or iteration-N/{group}.
func RunLayout(run string) Layout { return Layout{base: RunsDir + "/" + run} }

// Dir is the folder of the run.
func (l Layout) Dir() string { return l.base }

// Journal is the journal of the run.
func (l Layout) Journal() string { return l.base + "/journal.jsonl" }

// JournalBlobs is the folder of the payloads that are too large for a journal line.
func (l Layout) JournalBlobs() string { return l.base + "/journal-blobs" }

// Lock is the lock of the process that drives the run.
func (l Layout) Lock() string { return l.base + "/run.lock" }

// Metadata is the projection that tells the state of the run.
func (l Layout) Metadata() string { return l.base + "/run_metadata.json" }

// StepConfig is the step configuration of this run alone; where it exists it is
// used instead of the default file.
func (l Layout) StepConfig() string { return l.base + "/" + StepConfigFile }

// WorkRoot holds the work folders of all visits.
func (l Layout) WorkRoot() string { return l.base + "/work" }

// Work is the folder where one visit works. The key is the visit's journal key,
// such as "fetch/visit/1", and so unique in the run.
func (l Layout) Work(key string) string { return l.base + "/work/" + key }

// Execution is the folder with what a step has published. An empty step gives
// the folder of all steps.
func (l Layout) Execution(step string) string { return join(l.base+"/execution", step) }

// Downloads is the folder of the run that its steps share for what they fetch.
func (l Layout) Downloads() string { return l.base + "/execution/Downloads" }

// Archived is where the outputs of a step lie after they were replaced for the
// n-th time in the run, counted from 1 over all steps.
func (l Layout) Archived(n int, step string) string {
	return fmt.Sprintf("%s/execution/archived/run-%d/%s", l.base, n, step)
}

// Displaced is where something goes that lies in the execution folder of a step and
// that the run has not put there.
func (l Layout) Displaced(visit int, step string) string {
	return fmt.Sprintf("%s/execution/archived/displaced-%d/%s", l.base, visit, step)
}

// ToolOutput is the folder with the tool output of a step that was too large for
// its conversation.
func (l Layout) ToolOutput(step string) string { return l.base + "/tool_output/" + step }

// StepLogs is the folder with the logs of a step.
func (l Layout) StepLogs(step string) string { return l.base + "/logs/" + step }

// AttemptLog is a file of one attempt, such as
// logs/fetch/execution/execution-attempt-1-iteration-1-prompts.json for the kind
// "prompts"; the empty kind is the attempt's own record. Attempts and visits
// count from 1.
func (l Layout) AttemptLog(step string, attempt, visit int, kind string) string {
	name := l.base + "/logs/" + step + "/execution/execution-attempt-" + strconv.Itoa(attempt) + "-iteration-" + strconv.Itoa(visit)
	if kind != "" {
		name += "-" + kind
	}
	return name + ".json"
}

// FinalSummaryLog is the file that says how the last visit of a step ended.
func (l Layout) FinalSummaryLog(step string) string {
	return l.StepLogs(step) + "/execution/execution-final-summary.json"
}

// PreValidationLog is the last report of a step's validation.
func (l Layout) PreValidationLog(step string) string {
	return l.StepLogs(step) + "/pre_validation.json"
}

// AttemptValidationLog is the validation report of one attempt.
func (l Layout) AttemptValidationLog(step string, attempt, visit int) string {
	return l.StepLogs(step) + fmt.Sprintf("/pre_validation-attempt-%d-iteration-%d.json", attempt, visit)
}

// ModelValidationLog is the log of a validation by a model. Attempts and visits
// count from 1; attempt 0 is the last validation of the step.
func (l Layout) ModelValidationLog(step string, attempt, visit int) string {
	name := l.StepLogs(step) + "/validation"
	if attempt > 0 {
		name += "-" + strconv.Itoa(attempt)
	}
	if attempt > 0 && visit > 1 {
		name += "-iteration-" + strconv.Itoa(visit)
	}
	return name + ".json"
}

// FeedbackDir is the name of a run's folder with what people were asked and told.
const FeedbackDir = "feedback"

// Feedback is the folder with what people were asked and told.
func (l Layout) Feedback() string { return l.base + "/" + FeedbackDir }

// Questions is the folder with the questions of the run.
func (l Layout) Questions() string { return l.Feedback() + "/questions" }

// Question is the file of one question; the name is made from its id.
func (l Layout) Question(name string) string { return l.Questions() + "/" + name + ".jsonl" }

// Notifications is the folder with the receipts of what people were told.
func (l Layout) Notifications() string { return l.Feedback() + "/notifications" }

// Notification is the file of one notification; the name is made from its key.
func (l Layout) Notification(name string) string {
	return l.Notifications() + "/" + name + ".jsonl"
}

// LearningMetadata is the file that counts the successes of a step over all runs.
func LearningMetadata(step string) string {
	return LearningsDir + "/" + step + "/.learning_metadata.json"
}

// DailyCosts is the ledger of one scope (execution, evaluation), group and UTC
// day; the day has the form 2006-01-02. An empty group is [Ungrouped].
func DailyCosts(scope, group, day string) string {
	if group == "" {
		group = Ungrouped
	}
	return CostsDir + "/" + scope + "/" + group + "/" + day + ".json"
}

// CostsLock serialises the writers of the ledger of one scope and group.
func CostsLock(scope, group string) string {
	if group == "" {
		group = Ungrouped
	}
	return CostsDir + "/" + scope + "/" + group + "/ledger.lock"
}

func join(base, rest string) string { return strings.TrimSuffix(base+"/"+rest, "/") }
