package stepconfig_test

import (
	"context"
	"fmt"

	"github.com/treadle-dev/treadle/stepconfig"
	"github.com/treadle-dev/treadle/workspace"
)

// A step gets fewer turns. The key that this version does not know, and the number as it
// is spelled, stay.
func ExampleUpdate() {
	ctx, st := context.Background(), workspace.NewMem()
	before := `{"steps": [{"id": "fetch", "agent_configs": {"execution_max_turns": 50, "x-weight": 1.0}}]}`
	_ = st.WriteFile(ctx, workspace.StepConfigFile, []byte(before), workspace.Durable)

	changes, err := stepconfig.Update(ctx, st, workspace.StepConfigFile, func(e *stepconfig.Editor) error {
		return e.Change("fetch", func(step *stepconfig.StepConfig) error {
			step.AgentConfigs.ExecutionMaxTurns = new(20)
			return nil
		})
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range changes {
		fmt.Printf("%s %s: %s -> %s\n", c.Step, c.Pointer, c.Before, c.After)
	}
	after, _ := st.ReadFile(ctx, workspace.StepConfigFile)
	fmt.Println(string(after))
	// Output:
	// fetch /agent_configs/execution_max_turns: 50 -> 20
	// {"steps": [{
	//       "id": "fetch",
	//       "agent_configs": {
	//         "execution_max_turns": 20,
	//         "x-weight": 1.0
	//       }
	//     }]}
}

func ExampleResolve() {
	workflow := &stepconfig.Defaults{ExecutionMaxTurns: new(40), EnabledCustomTools: []string{"workspace_advanced:*"}}
	step := &stepconfig.AgentConfigs{ExecutionMaxTurns: new(10)}
	effective := stepconfig.Resolve(step, workflow)
	fmt.Println(effective.ExecutionMaxTurns, effective.EnabledCustomTools, effective.DBAccess)
	// Output: 10 [workspace_advanced:*] read-write
}
