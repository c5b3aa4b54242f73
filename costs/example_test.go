package costs_test

import (
	"context"
	"fmt"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workspace"
)

// A host that runs agents of its own can keep the ledger without the controller.
func Example() {
	ctx := context.Background()
	st := workspace.NewMem()
	prices := &costs.Prices{Version: "2026-03", Models: []costs.ModelPrice{
		{Model: "big", Input: new(costs.Dollars(2)), Output: new(costs.Dollars(10))},
	}}

	tally := costs.NewTally(prices)
	at := time.Date(2026, time.March, 14, 12, 0, 0, 0, time.UTC)
	for turn := range 2 {
		tally.Add(costs.Entry{
			Key: fmt.Sprintf("draft/turn/%d", turn+1), Time: at, StepID: "draft", Model: "big",
			Usage: agent.Usage{Input: agent.Tokens(12_000), Output: agent.Tokens(900)},
		})
	}
	tally.Add(costs.Entry{Key: "send/turn/1", Time: at, StepID: "send", Model: "unpriced", Usage: agent.Usage{Input: agent.Tokens(70)}})
	if err := costs.NewLedger(st).Write(ctx, costs.Run{ID: "run-1", Folder: "iteration-1"}, tally); err != nil {
		fmt.Println(err)
		return
	}

	summary, err := costs.Read(ctx, st, costs.Filter{RunFolder: "iteration-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range summary.ByStep() {
		cost, bound := "unknown", ""
		if row.Amount.Cost.Total != nil {
			cost = row.Amount.Cost.Total.String()
		}
		if row.Amount.TokensAtLeast() {
			bound = "at least "
		}
		fmt.Printf("%s: %d calls, %s%d tokens, USD %s\n", row.Key, row.Amount.Calls, bound, row.Amount.Tokens(), cost)
	}
	// Output:
	// execution:draft: 2 calls, 25800 tokens, USD 0.066
	// execution:send: 1 calls, at least 70 tokens, USD unknown
}
