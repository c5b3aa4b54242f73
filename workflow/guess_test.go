package workflow_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workflow"
)

func TestAMisspelledNameIsToldWithTheOneThatIsMeant(t *testing.T) {
	t.Parallel()
	_, ds := workflow.Compile(&workflow.Source{
		Plan: []byte(`{"step":[],"steps":[{"id":"collect","type":"regular","descriptioon":"Work.","next_step_id":"reprot"},
			{"id":"report","type":"regular","shared_with":{"orchestrator_id":[]}}]}`),
		StepConfig: []byte(`{"steps":[{"id":"Collect","agent_configs":{"execution_max_turn":3,"execution_llm":{"modelId":"x"}}}]}`),
		Settings:   []byte(`{"capabilitys":{},"execution_defaults":{"max_parallel_step":1}}`),
		Variables:  []byte(`{"variables":[{"name":"A","valeu":"x"}]}`),
	}, nil)
	hints := map[string]string{}
	for _, d := range ds {
		hints[d.File+d.Pointer] = d.Hint
	}
	for place, want := range map[string]string{
		"planning/plan.json/step":                                               "steps",
		"planning/plan.json/steps/0/descriptioon":                               "description",
		"planning/plan.json/steps/0/next_step_id":                               "report",
		"planning/plan.json/steps/1/shared_with/orchestrator_id":                "orchestrator_ids",
		"planning/step_config.json/steps/0/id":                                  "collect",
		"planning/step_config.json/steps/0/agent_configs/execution_max_turn":    "execution_max_turns",
		"planning/step_config.json/steps/0/agent_configs/execution_llm/modelId": "model_id",
		"workflow.json/capabilitys":                                             "capabilities",
		"workflow.json/execution_defaults/max_parallel_step":                    "max_parallel_steps",
		"variables/variables.json/variables/0/valeu":                            "value",
	} {
		require.Contains(t, hints, place)
		assert.Equal(t, `did you mean "`+want+`"?`, hints[place], place)
	}
}
