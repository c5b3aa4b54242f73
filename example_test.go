package treadle_test

import (
	"context"
	"fmt"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// A whole workflow in memory. The model is scripted and makes a mistake: it leaves the
// greeting empty, the schema refuses that, and the second attempt mends it.
func Example() {
	ctx := context.Background()
	files := workspace.NewMem()
	plan := `{"steps": [{
		"id": "greet", "type": "regular",
		"description": "Write a greeting for Ada to greeting.json, as {\"text\": …}.",
		"context_output": "greeting.json",
		"validation_schema": {"files": [{"file_name": "greeting.json", "must_exist": true, "json_checks": [
			{"path": "$.text", "must_exist": true, "value_type": "string", "min_length": 5}]}]}
	}]}`
	if err := files.WriteFile(ctx, workspace.PlanFile, []byte(plan), workspace.Lazy); err != nil {
		fmt.Println(err)
		return
	}

	write := func(text string) agenttest.Turn {
		return agenttest.Call("write_file", map[string]string{"path": "greeting.json", "content": text})
	}
	model := &agenttest.Model{Script: []agenttest.Turn{
		write(`{"text": ""}`), agenttest.Reply("Written."),
		write(`{"text": "Hello, Ada!"}`), agenttest.Reply("Mended."),
	}}
	ctl, err := workflow.NewController(workflow.Config{
		Models:   agent.Single(model), // or a backend of agent/openai, or your own
		Toolsets: []agent.Toolset{agenttest.Files()},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	run, err := ctl.Start(ctx, workspace.New(files), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for ev, err := range run.Events(ctx, workflow.FromStart) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if ev.Kind == workflow.AttemptFailed {
			fmt.Printf("attempt %d of %s was refused\n", ev.Attempt, ev.Step)
		}
	}
	result, err := run.Wait(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	greeting, err := files.ReadFile(ctx, workspace.RunLayout(result.Folder).Execution("greet")+"/greeting.json")
	fmt.Println(result.Status, result.Totals.Calls, "model calls:", string(greeting), err)
	// Output:
	// attempt 1 of greet was refused
	// completed 4 model calls: {"text": "Hello, Ada!"} <nil>
}
