package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// A tool of a builder adds a step and lets another one wait for its output.
func ExampleEditPlan() {
	ctx := context.Background()
	ws := workspace.New(workspace.NewMem())
	why := workflow.PlanEdit{Tool: "add_regular_step", Reason: "the invoices come by mail now"}
	add := func(step string) func(*workflow.PlanEditor) error {
		return func(plan *workflow.PlanEditor) error {
			return plan.AddStep(json.RawMessage(step), workflow.Place{First: true})
		}
	}
	if _, err := workflow.EditPlan(ctx, ws, why, add(`{"id":"book","type":"regular"}`)); err != nil {
		fmt.Println(err)
		return
	}
	edited, err := workflow.EditPlan(ctx, ws, why, func(plan *workflow.PlanEditor) error {
		if err := add(`{"id":"fetch","type":"regular","context_output":"invoices.json"}`)(plan); err != nil {
			return err
		}
		return plan.Set("book", "/context_dependencies", json.RawMessage(`["invoices.json"]`))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, change := range edited.Entry.Changes {
		fmt.Printf("%s %s: %s\n", change.Step, change.Field, change.New)
	}
	for _, d := range edited.Dependents {
		fmt.Printf("%s: %s\n", d.Kind, d.Why)
	}
	// Output:
	// book context_dependencies: ["invoices.json"]
	//  steps: ["fetch","book"]
	// downstream: step "book" reads invoices.json
}
