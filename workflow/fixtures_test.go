package workflow_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// fixtureFile reads a file of the shared fixtures.
func fixtureFile(t *testing.T, name string) []byte {
	t.Helper()
	root := os.Getenv("TREADLE_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "fixtures")
	}
	if _, err := os.Stat(root); err != nil {
		if os.Getenv("CI") == "true" {
			require.NoError(t, err, "the fixtures must be there in CI")
		}
		t.Skipf("no fixtures at %s: set TREADLE_FIXTURES", root)
	}
	data, err := os.ReadFile(filepath.Join(root, "agentworks", filepath.FromSlash(name)))
	require.NoError(t, err)
	return data
}

// asSource makes a workflow of a fixture: by the end of its name it is known what it is.
func asSource(name string, data []byte) *workflow.Source {
	wrap := func(before string, after string) []byte { return []byte(before + string(data) + after) }
	trivial := []byte(`{"steps":[{"id":"only","type":"regular","description":"Work."}]}`)
	switch {
	case strings.HasSuffix(name, "agent_configs.json"):
		return &workflow.Source{Plan: trivial, StepConfig: wrap(`{"steps":[{"id":"only","agent_configs":`, `}]}`)}
	case strings.HasSuffix(name, "step_config.json"):
		return &workflow.Source{Plan: planOf(data), StepConfig: data}
	case strings.HasSuffix(name, "variables.json"):
		return &workflow.Source{Plan: trivial, Variables: data}
	case strings.HasSuffix(name, "evaluation_plan.json"):
		return &workflow.Source{Plan: trivial, Evaluation: data}
	case strings.HasSuffix(name, "evaluation_step_bid.json"):
		return &workflow.Source{Plan: trivial, Evaluation: wrap(`{"steps":[`, `]}`)}
	case strings.HasSuffix(name, "validation_count_vs_array.json"):
		return &workflow.Source{Plan: []byte(`{"steps":[{"id":"only","type":"regular",` + strings.TrimPrefix(strings.TrimSpace(string(data)), "{") + `]}`)}
	case strings.HasSuffix(name, ".step.json"):
		return &workflow.Source{Plan: wrap(`{"steps":[`, `]}`)}
	case strings.HasSuffix(name, ".route.json"):
		return &workflow.Source{Plan: wrap(`{"steps":[{"id":"boss","type":"todo_task","predefined_routes":[`, `]}]}`)}
	}
	return &workflow.Source{Plan: data}
}

// planOf is a plan with the steps of a configuration.
func planOf(config []byte) []byte {
	var file struct {
		Steps []struct {
			ID string `json:"id"`
		} `json:"steps"`
	}
	if json.Unmarshal(config, &file) != nil {
		_ = json.Unmarshal(config, &file.Steps)
	}
	seen := map[string]bool{"": true}
	steps := []string{}
	for _, s := range file.Steps {
		if !seen[s.ID] {
			seen[s.ID] = true
			steps = append(steps, fmt.Sprintf(`{"id":%q,"type":"regular","description":"Work."}`, s.ID))
		}
	}
	if len(steps) == 0 {
		steps = []string{`{"id":"only","type":"regular"}`}
	}
	return []byte(`{"steps":[` + strings.Join(steps, ",") + `]}`)
}

// fixtureRow says what happens to a fixture. It is "reject" with an error, else "accept",
// or "accept-with-warnings" with a notice.
type fixtureRow struct {
	outcome string
	codes   []string // with their lines; all of them
	// part builds what the fixture needs; until then it is refused by the name of its
	// step types.
	part int
	// reason says why the outcome is another than EXPECTED.json has, where no later
	// part changes it.
	reason string
}

func rejected(codes ...string) fixtureRow { return fixtureRow{outcome: "reject", codes: codes} }

func later(part int, types ...string) fixtureRow {
	r := fixtureRow{outcome: "reject", part: part}
	for _, place := range types {
		r.codes = append(r.codes, "plan.step.type.unknown "+place)
	}
	return r
}

func (r fixtureRow) with(codes ...string) fixtureRow {
	r.codes = append(r.codes, codes...)
	return r
}

func accepted(reason string, codes ...string) fixtureRow {
	r := fixtureRow{outcome: "accept", codes: codes, reason: reason}
	if len(codes) > 0 {
		r.outcome = "accept-with-warnings"
	}
	return r
}

func fixtureRows() map[string]fixtureRow {
	const (
		noReport  = "the plan is right by itself; no report that reads its outputs is read"
		otherFile = "is none of the files that say what a workflow is"
	)
	return map[string]fixtureRow{
		"gen-a/planning/plan.json": rejected("plan.step.type.missing 3", "plan.step.type.missing 21", "plan.step.type.missing 30"),
		"gen-a/planning/plan_seven_types.json": later(6, "22", "47", "57", "77", "95").with(
			"plan.step.id.missing 69", "plan.step.key.unknown 8", "plan.step.key.unknown 11"),
		"gen-a/planning/step_config.json": accepted("", "stepconfig.key.retired 15", "stepconfig.key.retired 22", "stepconfig.key.retired 23",
			"stepconfig.key.retired 24", "stepconfig.key.retired 31", "stepconfig.custom_tool.format 29", "stepconfig.model_validation.unused 11"),
		"gen-a/variables/variables.json":                   accepted("a key that has no effect here is told, and kept", "variables.key.unknown 2"),
		"gen-a/runs/iteration-1/execution/steps_done.json": {reason: "progress by index is never read: the journal of a run is the only record of it"},
		"gen-a/planning/plan_validation_no_type.json":      rejected("plan.step.type.missing 3"),

		"gen-b/orders-join/planning/plan.json":                  accepted(""),
		"gen-b/orders-nocontract/planning/plan.json":            accepted(noReport),
		"gen-b/orphan_unshared.plan.json":                       later(7, "4").with("plan.orphan.unshared 16", "plan.step.key.unknown 27", "plan.orphan.shared_with 31"),
		"gen-b/learning_locks.step_config.json":                 accepted("the lock narrows what is read, without a notice; a seed keeps lock_learnings"),
		"gen-b/duplicate_ids.step_config.json":                  accepted("a seed repairs it: the last entry counts", "stepconfig.id.duplicate 7"),
		"gen-b/empty_id.step_config.json":                       rejected("stepconfig.id.missing 4"),
		"gen-b/prerequisites.step_config.json":                  accepted("every key is known; what rules do comes with part 6"),
		"gen-b/evaluation/evaluation_plan.json":                 accepted(""),
		"gen-b/evaluation/evaluation_step_bid.json":             accepted(""),
		"gen-b/validation_count_vs_array.json":                  accepted(""),
		"gen-c/planning/starter.plan.json":                      later(7, "34"),
		"gen-c/planning/script_between_conversations.plan.json": later(7, "5", "45"),
		"gen-c/planning/mixed_code_sequence.step.json":          later(7, "3"),
		"gen-c/planning/remaining_code.plan.json":               later(7, "5"),
		"gen-c/planning/todo_messages.plan.json":                later(7, "4"),
		"gen-c/planning/route_context_to_pass.route.json":       later(7, "1"),
		"gen-c/planning/legacy_conditional.plan.json":           rejected("plan.step.type.unknown 4"),
		"gen-c/planning/nested_missing_id.plan.json":            later(7, "4").with("plan.step.id.missing 13"),
		"gen-c/planning/nested_duplicate_id.plan.json":          later(7, "10").with("plan.step.id.duplicate 21"),
		"gen-c/planning/orchestrator_no_next.plan.json":         later(7, "4", "14", "40"),
		"gen-c/planning/pre_orchestrator.plan.json":             rejected("plan.step.type.missing 3", "plan.step.type.missing 11", "plan.step.type.missing 14", "plan.step.type.missing 17"),
		"gen-c/planning/nested_router.plan.json":                later(6, "9"),
		"gen-c/planning/router_isolated.plan.json":              later(6, "4").with("validation.schema.empty 28"),
		"gen-c/planning/drift_reviewed.step_config.json":        accepted(""),
		"gen-c/planning/db_rule.step_config.json":               accepted("", "validation.check.vacuous 7"),
		"gen-c/planning/malformed.plan.json":                    rejected("plan.json.syntax 1"),
		"gen-c/planning/steps_not_array.plan.json":              rejected("plan.json.type 1"),
		"gen-c/planning/revision_pair.jsonl":                    {reason: "two plans in one file: see TestTheStoredPairOfPlansHasOneRevision"},

		"gen-d/relay/planning/plan.json":            later(7, "4"),
		"gen-d/relay/variables/variables.json":      accepted(""),
		"gen-d/removed_override.agent_configs.json": accepted("the seeds have execution_max_turns, so it has its effect"),
		"gen-d/crew_step.plan.json":                 rejected("plan.step.type.unknown 4", "plan.step.id.missing 3"),
		"gen-d/groups_only.variables.json":          accepted(""),

		"measured/cost_baseline.extract.json":   {reason: otherFile},
		"measured/coverage_events.extract.json": {reason: otherFile},
	}
}

func TestFixturesAreReadAsExpectedOrBetterForAReason(t *testing.T) {
	t.Parallel()
	var expected struct {
		Entries []struct{ File, Expect string }
	}
	require.NoError(t, json.Unmarshal(fixtureFile(t, "EXPECTED.json"), &expected))
	rows := fixtureRows()
	require.Len(t, rows, len(expected.Entries))
	for _, e := range expected.Entries {
		row, ok := rows[e.File]
		require.True(t, ok, "%s has no row", e.File)
		if row.outcome == "" {
			require.NotEmpty(t, row.reason)
			continue
		}
		t.Run(e.File, func(t *testing.T) {
			t.Parallel()
			data := fixtureFile(t, e.File)
			before := bytes.Clone(data)
			_, ds := workflow.Compile(asSource(e.File, data), nil)
			assert.Equal(t, before, data)
			found := []string{}
			for _, d := range ds {
				found = append(found, fmt.Sprintf("%s %d", d.Code, d.Line))
			}
			assert.ElementsMatch(t, row.codes, found)
			assert.Equal(t, row.outcome, outcomeOf(ds))
			as := e.Expect == row.outcome || e.Expect == "accept-migrate" && row.outcome != "reject"
			assert.True(t, as || row.part > 0 || row.reason != "", "%s is expected", e.Expect)
		})
	}
}

func outcomeOf(ds workspace.Diagnostics) string {
	switch {
	case ds.HasErrors():
		return "reject"
	case len(ds) > 0:
		return "accept-with-warnings"
	}
	return "accept"
}
