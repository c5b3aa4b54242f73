package feedback_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/workspace"
)

// A run asks and leaves; somebody answers from another process; the run goes on.
func Example() {
	ctx := context.Background()
	storage := workspace.NewMem() // what all processes reach

	run := func() {
		asker := &feedback.Asker{Inbox: feedback.New(storage, feedback.Config{}), Leave: true}
		place, err := asker.Choice(ctx, &feedback.Question{
			RunID: "01JQ4ZK2", Run: "iteration-3", Step: "deploy", Key: "deploy/visit/1/ask",
			Text: "Where should it go?", Options: []string{"staging", "production"}, Timeout: time.Hour,
		})
		if suspended := (*agent.SuspendError)(nil); errors.As(err, &suspended) {
			fmt.Println("the run waits")
			return
		}
		fmt.Println("the run goes on:", place, err)
	}
	run()

	inbox := feedback.New(storage, feedback.Config{})
	open, err := inbox.List(ctx, feedback.Filter{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, q := range open {
		fmt.Println(q.ID, q.Text, q.Options)
		if _, err := inbox.Answer(ctx, q.ID, feedback.Answer{Value: "both"}); err != nil {
			fmt.Println(err)
		}
		if _, err := inbox.Answer(ctx, q.ID, feedback.Answer{Value: "production", By: "ann"}); err != nil {
			fmt.Println(err)
		}
	}
	run()
	// Output:
	// the run waits
	// 01JQ4ZK2/deploy/visit/1/ask Where should it go? [staging production]
	// not an answer to 01JQ4ZK2/deploy/visit/1/ask: it is none of the options; answer one of: 1: staging, 2: production
	// the run goes on: 1 <nil>
}
