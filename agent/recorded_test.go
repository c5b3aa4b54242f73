package agent_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
)

// Texts as providers and tools send them, good and bad.
var anyText = rapid.OneOf(
	rapid.String(),
	rapid.SampledFrom([]string{"", "<b>&</b>", "a\u2028b", "bad \xff\xfe utf-8", "nul \x00", "\xc3", "{}", " "}),
)

var anyRaw = rapid.Map(rapid.SampledFrom([]string{
	`{"a": 1}`, ` { "b" : [ 1, 2 ] } `, `null`, `""`, `"<&>"`, `7`, `[ ]`, `{"a":"\u003c"}`, `{"bad":`, ``, `  `, "\"\xff\"", `{"x":"` + "\u2028" + `"}`,
}), func(s string) json.RawMessage { return json.RawMessage(s) })

var anyFields = rapid.OneOf(
	rapid.Just[map[string]json.RawMessage](nil),
	rapid.MapOfN(rapid.SampledFrom([]string{"reasoning", "signature", "\xff"}), anyRaw, 0, 3),
)

var anyParts = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) agent.Part {
	return agent.Part{
		Type:      rapid.SampledFrom([]agent.PartType{agent.PartText, agent.PartImage}).Draw(t, "type"),
		Text:      anyText.Draw(t, "text"),
		MediaType: anyText.Draw(t, "media"),
		Data:      rapid.SampledFrom([][]byte{nil, {}, {1, 2}}).Draw(t, "data"),
		URI:       anyText.Draw(t, "uri"),
	}
}), 0, 3)

var anyCount = rapid.SampledFrom([]*int64{nil, agent.Tokens(0), agent.Tokens(5), agent.Tokens(-3)})

var anyResponse = rapid.Custom(func(t *rapid.T) *agent.Response {
	r := &agent.Response{
		ID: anyText.Draw(t, "id"), Model: anyText.Draw(t, "model"),
		Finish: rapid.SampledFrom([]agent.FinishReason{agent.FinishStop, agent.FinishToolCalls, agent.FinishLength, ""}).Draw(t, "finish"),
		Usage:  agent.Usage{Input: anyCount.Draw(t, "in"), Output: anyCount.Draw(t, "out"), Reasoning: anyCount.Draw(t, "reasoning")},
		Extra:  anyFields.Draw(t, "extra"),
		Message: agent.Message{
			Role:    rapid.SampledFrom([]agent.Role{"", agent.RoleAssistant}).Draw(t, "role"),
			Content: anyParts.Draw(t, "content"),
			Extra:   anyFields.Draw(t, "message extra"),
		},
	}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		r.Message.ToolCalls = append(r.Message.ToolCalls, agent.ToolCall{
			ID: anyText.Draw(t, "call id"), Name: rapid.SampledFrom([]string{"work", "gone", "\xff"}).Draw(t, "name"),
			Arguments: anyRaw.Draw(t, "arguments"), Invalid: rapid.SampledFrom([]string{"", "", "bad"}).Draw(t, "invalid"),
			Extra: anyFields.Draw(t, "call extra"),
		})
	}
	return r
})

type scripted struct{ replies []*agent.Response }

func (s *scripted) Generate(context.Context, *agent.Request, agent.Sink) (*agent.Response, error) {
	if len(s.replies) == 0 {
		return nil, &agent.ModelError{StatusCode: 400}
	}
	next := s.replies[0]
	s.replies = s.replies[1:]
	return next, nil
}

// Whatever a model and its tools say, the process that heard it and one that reads
// it in the record go on with the same values, and what they gave is not changed.
func TestALiveRunAndItsReplayAreTheSame(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		n := 0
		rapid.Check(t, func(t *rapid.T) {
			n++
			replies := rapid.SliceOfN(anyResponse, 1, 5).Draw(t, "replies")
			results := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) agent.ToolResult {
				return agent.ToolResult{Content: anyParts.Draw(t, "result"), Structured: anyRaw.Draw(t, "structured"), IsError: rapid.Bool().Draw(t, "error")}
			}), 1, 3).Draw(t, "results")
			before, err := json.Marshal(sanitised(replies))
			require.NoError(t, err)
			tool := doing(func(_ context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
				result := results[len(call.Key)%len(results)]
				return &result, nil
			})
			type heard struct {
				replies []agent.Reply
				tools   map[string]agent.ToolRecord
			}
			run := func(llm agent.LLM) (*agent.Conversation, *agent.Result, string, heard) {
				h := heard{tools: map[string]agent.ToolRecord{}}
				loop := agent.Loop{
					LLM: llm, Tools: []agent.Tool{tool}, Journal: under(restart(), time.Duration(n).String()), Retry: agent.NoRetry,
					MaxParallelTools: 1,
					OnReply: func(_ int, r *agent.Reply) {
						c := *r
						c.Replayed, c.Failed = false, nil
						h.replies = append(h.replies, c)
					},
					OnTool: func(_, _ int, r *agent.ToolRecord) {
						c := *r
						c.Replayed = false
						h.tools[c.Call.Key] = c
					},
				}
				conv := asked("go")
				result, err := loop.Run(context.Background(), conv)
				message := ""
				if err != nil {
					message = err.Error()
				}
				return conv, result, message, h
			}
			conv, result, failed, first := run(&scripted{replies: append([]*agent.Response(nil), replies...)})
			made := len(first.replies)
			again, replayed, failedAgain, second := run(&scripted{replies: append([]*agent.Response(nil), replies[made:]...)})
			require.Equal(t, conv.Messages(), again.Messages())
			require.Equal(t, conv.Digest(), again.Digest())
			require.Equal(t, first, second)
			require.Equal(t, failed, failedAgain)
			require.Equal(t, result, replayed)
			after, err := json.Marshal(sanitised(replies))
			require.NoError(t, err)
			assert.Equal(t, string(before), string(after), "the backend's own values stay")
		})
	})
}

// sanitised is what can be compared of replies that JSON may refuse.
func sanitised(replies []*agent.Response) []any {
	var all []any
	for _, r := range replies {
		all = append(all, r.ID, r.Model, r.Finish, r.Message.Role, len(r.Message.Content), len(r.Extra), len(r.Message.Extra))
		for _, c := range r.Message.ToolCalls {
			all = append(all, c.ID, string(c.Arguments), c.Invalid, len(c.Extra))
		}
	}
	return all
}
