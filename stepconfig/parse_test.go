package stepconfig_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// fixture reads a file of the shared fixtures.
func fixture(t *testing.T, name string) []byte {
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
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return data
}

// codes lists severity, code and pointer of every diagnostic.
func codes(found workspace.Diagnostics) []string {
	list := []string{}
	for _, d := range found {
		list = append(list, fmt.Sprintf("%s %s %s", d.Severity, strings.TrimPrefix(d.Code, "stepconfig."), d.Pointer))
	}
	return list
}

// oneStep is a file with one step of the given agent_configs.
func oneStep(configs string) string {
	return `{"steps":[{"id":"a","agent_configs":` + configs + `}]}`
}

func TestEveryFaultOfAFileIsNamedWithItsPlace(t *testing.T) {
	t.Parallel()
	const c = "/steps/0/agent_configs"
	for _, tc := range []struct {
		text string
		want []string
	}{
		{``, []string{"error json.invalid "}},
		{`{"steps":[}`, []string{"error json.invalid "}},
		{`"x"`, []string{"error format.invalid "}},
		{`null`, []string{"error format.invalid "}},
		{`{}`, []string{"error steps.missing "}},
		{`{"steps":null}`, []string{"error steps.missing "}},
		{`{"steps":{}}`, []string{"error field.type /steps"}},
		{`{"steps":[]}`, nil},
		{`{"steps":[],"version":2}`, []string{"notice key.unknown /version"}},
		{`{"steps":[7]}`, []string{"error field.type /steps/0"}},
		{`[]`, []string{"notice format.legacy "}},
		{`[{"id":"a","x":1}]`, []string{"notice format.legacy ", "notice key.unknown /0/x"}},
		{`{"steps":[{"title":"t"}]}`, []string{"error id.missing /steps/0/id"}},
		{`{"steps":[{"id":3}]}`, []string{"error field.type /steps/0/id"}},
		{`{"steps":[{"id":"a","agent_configs":null,"validation_schema":null}]}`, nil},
		{`{"steps":[{"id":"a","agent_configs":[]}]}`, []string{"error field.type " + c}},
		{oneStep(`{"execution_max_turns":"10"}`), []string{"error field.type " + c + "/execution_max_turns"}},
		{oneStep(`{"learn_code_max_fix_iterations":-0}`), []string{"error field.type " + c + "/learn_code_max_fix_iterations"}},
		{oneStep(`{"selected_tools":["a:b",null]}`), []string{"error field.type " + c + "/selected_tools"}},
		{oneStep(`{"execution_max_turns":0}`), []string{"error value.range " + c + "/execution_max_turns"}},
		{oneStep(`{"selected_servers":"x"}`), []string{"error field.type " + c + "/selected_servers"}},
		{oneStep(`{"llm_validation_mode":"often"}`), []string{"error value.unknown " + c + "/llm_validation_mode"}},
		{oneStep(`{"llm_validation_mode":"often","validation_llm":{"model_id":"m"}}`), []string{"error value.unknown " + c + "/llm_validation_mode"}},
		{oneStep(`{"llm_validation_mode":"always"}`), []string{"notice model_validation.unused " + c + "/llm_validation_mode"}},
		{oneStep(`{"disable_validation":true,"llm_validation_mode":"auto","validation_llm":{"model_id":"m"}}`), []string{"notice model_validation.unused " + c + "/llm_validation_mode", "notice model_validation.unused " + c + "/validation_llm"}},
		{oneStep(`{"disable_validation":false,"validation_llm":{"model_id":"m"}}`), []string{"notice model_validation.unused " + c + "/validation_llm"}},
		{oneStep(`{"disable_validation":"no","llm_validation_mode":"always"}`), []string{"error field.type " + c + "/disable_validation"}},
		{oneStep(`{"disable_validation":false,"llm_validation_mode":"always","validation_llm":{"model_id":"m"}}`), nil},
		{oneStep(`{"disable_validation":true,"llm_validation_mode":"skip","validation_max_turns":3}`), nil},
		{oneStep(`{"learning_llm":{},"pre_discovered_tools":[]}`), []string{"notice key.retired " + c + "/learning_llm", "notice key.retired " + c + "/pre_discovered_tools"}},
		{oneStep(`{"execution_llm":{"fallbacks":[{"modelid":"m"}]}}`), []string{"notice key.unknown " + c + "/execution_llm/fallbacks/0/modelid"}},
		{oneStep(`{"enabled_custom_tools":["tool"]}`), []string{"notice custom_tool.format " + c + "/enabled_custom_tools/0"}},
		{oneStep(`{"enabled_custom_tool_categories":["human_tools"]}`), []string{"notice custom_tools.legacy " + c + "/enabled_custom_tool_categories"}},
		{oneStep(`{"declared_execution_mode":"learn_code"}`), []string{"notice execution_mode.legacy " + c + "/declared_execution_mode"}},
		{oneStep(`{"declared_execution_mode":"fast"}`), []string{"error value.unknown " + c + "/declared_execution_mode"}},
		{oneStep(`{"learnings_access":"read-write"}`), []string{"error learning_objective.missing " + c + "/learning_objective"}},
		{oneStep(`{"learning_objective":"o"}`), []string{"notice learnings_access.legacy " + c + "/learning_objective"}},
		{oneStep(`{"knowledgebase_access":"write"}`), []string{"error knowledgebase_contribution.missing " + c + "/knowledgebase_contribution"}},
		{oneStep(`{"prerequisite_rules":[{"description":"d"}]}`), []string{"error prerequisite.step.missing " + c + "/prerequisite_rules/0"}},
		{oneStep(`{"additional_read_paths":["docs","../x","/etc"]}`), []string{"error read_path.outside " + c + "/additional_read_paths/1", "error read_path.outside " + c + "/additional_read_paths/2"}},
		{oneStep(`{"additional_read_paths":["./",".mcp.json","runs/","runs/iteration-1/execution"]}`), []string{"error read_path.wide " + c + "/additional_read_paths/0", "error read_path.wide " + c + "/additional_read_paths/1", "error read_path.wide " + c + "/additional_read_paths/2"}},
		{oneStep(`{"additional_read_paths":["a\\..\\b"]}`), []string{"error read_path.outside " + c + "/additional_read_paths/0"}},
		{oneStep(`{"lock_code":true,"lock_code":false}`), []string{"notice key.duplicate " + c + "/lock_code"}},
	} {
		t.Run(tc.text, func(t *testing.T) {
			t.Parallel()
			_, found := stepconfig.Parse("planning/step_config.json", []byte(tc.text))
			assert.ElementsMatch(t, tc.want, codes(found))
			for _, d := range found {
				assert.Equal(t, "planning/step_config.json", d.File)
			}
		})
	}
}

func TestTheFixturesAreReadAsExpected(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		file string
		want []string
	}{
		{"gen-a/planning/step_config.json", []string{
			"notice model_validation.unused /steps/0/agent_configs/validation_llm",
			"notice key.retired /steps/0/agent_configs/learning_llm",
			"notice key.retired /steps/0/agent_configs/disable_learning",
			"notice key.retired /steps/0/agent_configs/learning_after_loop_iteration",
			"notice key.retired /steps/0/agent_configs/enabled_mcp_servers",
			"notice key.retired /steps/0/agent_configs/enable_large_output_virtual_tools",
			"notice custom_tool.format /steps/0/agent_configs/enabled_custom_tools/0",
		}},
		{"gen-b/learning_locks.step_config.json", nil},
		{"gen-b/duplicate_ids.step_config.json", []string{"notice id.duplicate /steps/1/id"}},
		{"gen-b/empty_id.step_config.json", []string{"error id.missing /steps/0/id"}},
		{"gen-b/prerequisites.step_config.json", nil},
		{"gen-c/planning/drift_reviewed.step_config.json", nil},
		{"gen-c/planning/db_rule.step_config.json", nil},
		{"gen-d/relay/planning/step_config.json", nil},
	} {
		t.Run(tc.file, func(t *testing.T) {
			t.Parallel()
			data := fixture(t, "agentworks/"+tc.file)
			file, found := stepconfig.Parse("planning/step_config.json", data)
			assert.ElementsMatch(t, tc.want, codes(found))
			require.NotNil(t, file)
			written, err := file.Encode()
			require.NoError(t, err)
			assert.JSONEq(t, string(data), string(written), "nothing is lost")
		})
	}
}

func TestAFixtureThatIsEditedLosesNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"gen-a/planning/step_config.json", "gen-b/learning_locks.step_config.json", "gen-b/prerequisites.step_config.json",
		"gen-c/planning/drift_reviewed.step_config.json", "gen-c/planning/db_rule.step_config.json", "gen-d/relay/planning/step_config.json",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := fixture(t, "agentworks/"+name)
			file, _ := stepconfig.Parse("f", data)
			for i := range file.Steps {
				editor, err := stepconfig.NewEditor("f", data)
				require.NoError(t, err)
				require.NoError(t, editor.Set(file.Steps[i].ID, "/x-edited", json.RawMessage(`1.0`)))
				edited, changes, err := editor.Result()
				require.NoError(t, err)
				assert.Len(t, changes, 1, "nothing else changes, no lock and no retired key")
				editor, err = stepconfig.NewEditor("f", edited)
				require.NoError(t, err)
				require.NoError(t, editor.Unset(file.Steps[i].ID, "/x-edited"))
				back, _, err := editor.Result()
				require.NoError(t, err)
				assert.Equal(t, strings.TrimSpace(string(data)), strings.TrimSpace(string(back)), "two spaces a level, as it was")
			}
		})
	}
}

func TestALockNarrowsTheAccessToLearningsAndNeverWidensIt(t *testing.T) {
	t.Parallel()
	file, _ := stepconfig.Parse("f", fixture(t, "agentworks/gen-b/learning_locks.step_config.json"))
	for id, want := range map[string]string{"locked": "read", "none": "none", "unlocked": "read-write"} {
		assert.Equal(t, want, file.Step(id).AgentConfigs.EffectiveLearningsAccess(), id)
	}
	var silent *stepconfig.AgentConfigs
	assert.Equal(t, "read", silent.EffectiveLearningsAccess())
}

func TestTheLastEntryOfADuplicateIDCounts(t *testing.T) {
	t.Parallel()
	file, found := stepconfig.Parse("f", []byte(`{"steps":[{"id":"a","title":"first"},{"id":"b"},{"id":"a","title":"last"}]}`))
	require.NoError(t, found.Err())
	assert.Equal(t, []string{"notice id.duplicate /steps/2/id"}, codes(found))
	assert.Equal(t, "last", file.Step("a").Title)
	assert.Nil(t, file.Step("c"))
	assert.Nil(t, file.Step(""))
	assert.Nil(t, (*stepconfig.File)(nil).Step("a"))
}

func TestAbsentEmptyAndZeroStayThreeThings(t *testing.T) {
	t.Parallel()
	file, found := stepconfig.Parse("f", []byte(`{"steps":[{"id":"absent","agent_configs":{}},{"id":"empty","agent_configs":{"selected_servers":[],"disable_validation":false,"learn_code_max_fix_iterations":0}},{"id":"none"}]}`))
	require.Empty(t, found)
	absent, empty := file.Step("absent").AgentConfigs, file.Step("empty").AgentConfigs
	assert.Nil(t, absent.SelectedServers)
	assert.Nil(t, absent.DisableValidation)
	assert.Equal(t, []string{}, empty.SelectedServers)
	assert.False(t, *empty.DisableValidation)
	assert.Equal(t, 0, *empty.LearnCodeMaxFixIterations)
	assert.Nil(t, file.Step("none").AgentConfigs)
}

func TestLegacyToolCategoriesAreReadAsCustomTools(t *testing.T) {
	t.Parallel()
	file, _ := stepconfig.Parse("f", []byte(oneStep(`{"enabled_custom_tool_categories":["workspace_tools","human_tools"]}`)))
	assert.Equal(t, []string{"workspace_tools:*", "human_tools:*"}, file.Step("a").AgentConfigs.EnabledCustomTools)
	written, err := json.Marshal(file)
	require.NoError(t, err)
	assert.Equal(t, oneStep(`{"enabled_custom_tools":["workspace_tools:*","human_tools:*"]}`), string(written))

	file, _ = stepconfig.Parse("f", []byte(oneStep(`{"enabled_custom_tools":[],"enabled_custom_tool_categories":["human_tools"]}`)))
	assert.Equal(t, []string{}, file.Step("a").AgentConfigs.EnabledCustomTools, "the new form wins, also empty")
}

func TestTheLegacyListIsWrittenAsAnObject(t *testing.T) {
	t.Parallel()
	file, _ := stepconfig.Parse("f", []byte(`[{"later":{"x":[1.50]},"id":"a"}]`))
	written, err := file.Encode()
	require.NoError(t, err)
	assert.Equal(t, "{\n  \"steps\": [\n    {\n      \"later\": {\n        \"x\": [\n          1.50\n        ]\n      },\n      \"id\": \"a\"\n    }\n  ]\n}\n", string(written))
}

func TestWhatIsNotUnderstoodComesBackAsItWas(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		`{"z":1,"steps":[{"x":null,"id":"","title":"","agent_configs":null,"validation_schema":null}],"a":"<&>"}`,
		oneStep(`{"selected_servers":["a",null],"learn_code_max_fix_iterations":-0,"execution_llm":{"fallbacks":[null]}}`),
		`{"steps":null}`, `{"steps":{"a":1}}`, `{"steps":[7,null,"x"]}`,
		oneStep(`{"execution_llm":{"options":{"n":1e5},"fallbacks":[],"new":1},"execution_max_turns":"many","successful_runs":{"agentic":3},"drift_review":{"checks":[{"y":1}]}}`),
	} {
		file, _ := stepconfig.Parse("f", []byte(text))
		written, err := file.Encode()
		require.NoError(t, err)
		assert.JSONEq(t, text, string(written))
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{`[]`, `{"steps":[]}`, oneStep(`{"enabled_custom_tool_categories":["a"],"execution_llm":{"fallbacks":[{}]}}`), `{"steps":[{"id":"a"},{"id":"a"}]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		file, found := stepconfig.Parse("f", data)
		if file == nil {
			require.Error(t, found.Err())
			return
		}
		written, err := file.Encode()
		require.NoError(t, err)
		again, foundAgain := stepconfig.Parse("f", written)
		require.NotNil(t, again)
		if !found.HasErrors() {
			require.NoError(t, foundAgain.Err())
		}
		rewritten, err := again.Encode()
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
	})
}
