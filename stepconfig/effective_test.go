package stepconfig_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/stepconfig"
)

func TestWithoutAnyConfigurationTheLibrarysDefaultsHold(t *testing.T) {
	t.Parallel()
	assert.Equal(t, &stepconfig.Effective{
		ExecutionTier: "high", TodoTaskOrchestratorTier: "high",
		ExecutionMaxTurns: agent.DefaultMaxTurns, ValidationMaxTurns: 100, LearningMaxTurns: 100,
		OrchestrationMaxIterations: 100, LearnCodeMaxFixIterations: 3,
		DisableValidation: true, LLMValidationMode: "skip",
		LearningsAccess: "read", LearningDetailLevel: "exact", KnowledgebaseAccess: "none", DBAccess: "read-write",
		DeclaredExecutionMode: "agentic", EnableContextOffloading: true,
	}, stepconfig.Resolve(nil, nil))
}

func TestTheStepWinsOverTheWorkflowAndTheWorkflowOverTheLibrary(t *testing.T) {
	t.Parallel()
	workflow := &stepconfig.Defaults{
		SelectedServers: []string{"w"}, SelectedTools: []string{"w:t"}, EnabledCustomTools: []string{"w:*"},
		ExecutionMaxTurns: new(7), DisableParallelToolExecution: new(true), UseCodeExecutionMode: new(true),
		GlobalSkillObjective: "the workflow's",
	}
	got := stepconfig.Resolve(&stepconfig.AgentConfigs{}, workflow)
	assert.Equal(t, []string{"w"}, got.SelectedServers)
	assert.Equal(t, []string{"w:t"}, got.SelectedTools)
	assert.Equal(t, []string{"w:*"}, got.EnabledCustomTools)
	assert.Equal(t, 7, got.ExecutionMaxTurns)
	assert.True(t, got.DisableParallelToolExecution)
	assert.True(t, got.UseCodeExecutionMode)
	assert.Equal(t, "the workflow's", got.GlobalSkillObjective)

	step := &stepconfig.AgentConfigs{
		SelectedServers: []string{"s"}, SelectedTools: []string{}, EnabledCustomTools: []string{},
		ExecutionMaxTurns: new(1), DisableParallelToolExecution: new(false), UseCodeExecutionMode: new(false),
		GlobalSkillObjective: "the step's",
	}
	got = stepconfig.Resolve(step, workflow)
	assert.Equal(t, []string{"s"}, got.SelectedServers)
	assert.Equal(t, []string{}, got.SelectedTools, "an empty list of tools is a choice")
	assert.Equal(t, []string{}, got.EnabledCustomTools, "and one of custom tools")
	assert.Equal(t, 1, got.ExecutionMaxTurns)
	assert.False(t, got.DisableParallelToolExecution, "false is a choice")
	assert.False(t, got.UseCodeExecutionMode)
	assert.Equal(t, "the step's", got.GlobalSkillObjective)

	step.SelectedServers = []string{}
	assert.Equal(t, []string{"w"}, stepconfig.Resolve(step, workflow).SelectedServers, "an empty list of servers is no choice")
	step.SelectedServers = []string{stepconfig.NoServers}
	assert.Equal(t, []string{"NO_SERVERS"}, stepconfig.Resolve(step, workflow).SelectedServers)
}

func TestLearningIsNarrowedByALockAndByTheWorkflow(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		access   string
		lock     *bool
		disabled *bool
		want     string
	}{
		{"read-write", nil, nil, "read-write"},
		{"read-write", new(true), nil, "read"},
		{"read-write", new(false), new(true), "read"},
		{"read-write", nil, new(false), "read-write"},
		{"none", new(true), new(true), "none"},
		{"", nil, nil, "read"},
	} {
		step := &stepconfig.AgentConfigs{LearningsAccess: tc.access, LockLearnings: tc.lock}
		got := stepconfig.Resolve(step, &stepconfig.Defaults{DisableLearning: tc.disabled})
		assert.Equal(t, tc.want, got.LearningsAccess)
		assert.Equal(t, tc.lock != nil && *tc.lock, got.LockLearnings, "the lock itself stays to be seen")
	}
}

func TestAModelValidatesOnlyWhereBothSettingsSaySo(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		disabled *bool
		mode     string
		want     string
	}{
		{nil, "", "skip"},
		{nil, "always", "skip"},
		{new(true), "always", "skip"},
		{new(false), "", "skip"},
		{new(false), "auto", "auto"},
		{new(false), "always", "always"},
	} {
		got := stepconfig.Resolve(&stepconfig.AgentConfigs{DisableValidation: tc.disabled, LLMValidationMode: tc.mode}, nil)
		assert.Equal(t, tc.want, got.ModelValidation())
	}
}

// Every field of AgentConfigs goes the whole way: a value that a file gives is parsed,
// holds for the step, and is written again. A field that Resolve forgets fails here.
func TestEveryFieldIsParsedResolvedAndWritten(t *testing.T) {
	t.Parallel()
	fields := reflect.TypeFor[stepconfig.AgentConfigs]()
	for field := range fields.Fields() {
		key := jsonKey(field)
		if key == "" || key == "enabled_custom_tool_categories" { // read as enabled_custom_tools
			continue
		}
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			for _, value := range samples(t, key, field.Type) {
				text := oneStep(`{"` + key + `":` + value + `}`)
				file, _ := stepconfig.Parse("f", []byte(text))
				require.NotNil(t, file)
				step := file.Step("a")

				resolved := reflect.ValueOf(stepconfig.Resolve(step.AgentConfigs, nil)).Elem().FieldByName(field.Name)
				require.True(t, resolved.IsValid(), "Effective has no field %s", field.Name)
				holds, err := json.Marshal(resolved.Interface())
				require.NoError(t, err)
				assert.JSONEq(t, value, string(holds), "Resolve drops it")

				written, err := file.Encode()
				require.NoError(t, err)
				assert.JSONEq(t, value, agentConfig(t, written, key), "Encode drops it")

				editor, err := stepconfig.NewEditor("f", []byte(text))
				require.NoError(t, err)
				require.NoError(t, editor.Set("a", "/title", json.RawMessage(`"edited"`)))
				if edited, _, err := editor.Result(); assert.NoError(t, err) {
					assert.JSONEq(t, value, agentConfig(t, edited, key), "the editor drops it")
				}
			}
		})
	}
}

// agentConfig is the value of a key in the agent_configs of the first step.
func agentConfig(t *testing.T, text []byte, key string) string {
	t.Helper()
	var file struct {
		Steps []struct {
			AgentConfigs map[string]json.RawMessage `json:"agent_configs"`
		} `json:"steps"`
	}
	require.NoError(t, json.Unmarshal(text, &file))
	return string(file.Steps[0].AgentConfigs[key])
}
