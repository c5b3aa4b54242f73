// Package treadle is the front page of a library for step-based agent workflows. It
// holds no code: a host imports the packages below.
//
// A workflow is data: a plan of steps, a configuration per step, and checks of what a
// step has to produce. A controller walks the plan, gives each step to an agent (a
// language model with tools), checks the files that the step leaves, records what it
// cost, and can be killed at any moment: the next process goes on where the last one
// stopped, and pays for no recorded reply again.
//
// # Packages
//
// From the bottom up. A package imports only what stands below it, so the parts can be
// used alone.
//
//   - [github.com/treadle-dev/treadle/workspace]: the files of one workflow. The port
//     Storage with two implementations, a folder of the disk and memory; the layout of
//     all paths; diagnostics.
//   - [github.com/treadle-dev/treadle/manifest]: what a type of step says about itself,
//     as plain data for panels and documentation.
//   - [github.com/treadle-dev/treadle/agent]: one agent. The ports LLM, Toolset and
//     Journal, and the loop of model calls and tool calls.
//   - [github.com/treadle-dev/treadle/stepconfig]: planning/step_config.json.
//   - [github.com/treadle-dev/treadle/validation]: checks of files and of values in JSON,
//     without a model.
//   - [github.com/treadle-dev/treadle/costs]: tokens and money, each call once.
//   - [github.com/treadle-dev/treadle/workflow]: plans, their compiler, the controller,
//     runs and their events, and step types of your own.
//
// Adapters, which only hosts import:
//
//   - [github.com/treadle-dev/treadle/agent/openai]: Chat Completions endpoints.
//   - [github.com/treadle-dev/treadle/agent/mcp]: MCP servers.
//
// Test kits, for hosts that test their own workflows or implement a port:
//
//   - [github.com/treadle-dev/treadle/agent/agenttest]: a scripted model and tools.
//   - [github.com/treadle-dev/treadle/workspace/workspacetest]: the suite that every
//     Storage passes, and storages that fail on purpose.
//
// The command cmd/treadle runs a workflow from a shell; examples/quickstart is a whole
// host. What was decided, and what was turned down, is in docs/design.md.
//
// # Example
//
// A whole workflow in memory. The model is scripted and makes a mistake: it leaves the
// greeting empty, the schema refuses that, and the second attempt mends it.
//
//	ctx := context.Background()
//	files := workspace.NewMem()
//	plan := `{"steps": [{
//		"id": "greet", "type": "regular",
//		"description": "Write a greeting for Ada to greeting.json, as {\"text\": …}.",
//		"context_output": "greeting.json",
//		"validation_schema": {"files": [{"file_name": "greeting.json", "must_exist": true, "json_checks": [
//			{"path": "$.text", "must_exist": true, "value_type": "string", "min_length": 5}]}]}
//	}]}`
//	if err := files.WriteFile(ctx, workspace.PlanFile, []byte(plan), workspace.Lazy); err != nil {
//		fmt.Println(err)
//		return
//	}
//
//	write := func(text string) agenttest.Turn {
//		return agenttest.Call("write_file", map[string]string{"path": "greeting.json", "content": text})
//	}
//	model := &agenttest.Model{Script: []agenttest.Turn{
//		write(`{"text": ""}`), agenttest.Reply("Written."),
//		write(`{"text": "Hello, Ada!"}`), agenttest.Reply("Mended."),
//	}}
//	ctl, err := workflow.NewController(workflow.Config{
//		Models:   agent.Single(model), // or a backend of agent/openai, or your own
//		Toolsets: []agent.Toolset{agenttest.Files()},
//	})
//	if err != nil {
//		fmt.Println(err)
//		return
//	}
//
//	run, err := ctl.Start(ctx, workspace.New(files), nil)
//	if err != nil {
//		fmt.Println(err)
//		return
//	}
//	for ev, err := range run.Events(ctx, workflow.FromStart) {
//		if err != nil {
//			fmt.Println(err)
//			return
//		}
//		if ev.Kind == workflow.AttemptFailed {
//			fmt.Printf("attempt %d of %s was refused\n", ev.Attempt, ev.Step)
//		}
//	}
//	result, err := run.Wait(ctx)
//	if err != nil {
//		fmt.Println(err)
//		return
//	}
//	greeting, err := files.ReadFile(ctx, workspace.RunLayout(result.Folder).Execution("greet")+"/greeting.json")
//	fmt.Println(result.Status, result.Totals.Calls, "model calls:", string(greeting), err)
//
// On a disk it is the same with [github.com/treadle-dev/treadle/workspace.OpenDir], and
// a run that was interrupted goes on with RunOptions{Run: "iteration-1"}.
package treadle
