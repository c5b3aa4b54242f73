package agent_test

import (
	"context"
	"fmt"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// A Go type goes in, a checked value comes out; a reply that does not fit gets one
// repair turn.
func ExampleStructured() {
	type Weather struct {
		City    string  `json:"city"`
		Celsius float64 `json:"celsius" jsonschema:"minimum=-90,maximum=60"`
	}
	weather, err := agent.NewStructured[Weather]("weather", agent.SchemaOpenAIStrict)
	if err != nil {
		fmt.Println(err) // the schema cannot be used; known before any call
		return
	}
	llm := &agenttest.Model{Script: []agenttest.Turn{
		agenttest.Reply(`{"city":"Oslo","celsius":"four"}`),
		agenttest.Reply(`{"city":"Oslo","celsius":4}`),
	}}

	req := &agent.Request{Messages: []agent.Message{agent.UserMessage("How warm is Oslo?")}, Output: weather.Request()}
	value, err := weather.Ask(context.Background(), func(ctx context.Context, repair *agent.Message) (*agent.Response, error) {
		if repair != nil {
			req.Messages = append(req.Messages, *repair)
		}
		reply, err := llm.Generate(ctx, req, nil)
		if err == nil {
			req.Messages = append(req.Messages, reply.Message)
		}
		return reply, err
	})
	fmt.Println(value, err, len(req.Messages))
	// Output: {Oslo 4} <nil> 4
}
