package agent

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// What JSON has to take care of.
var (
	oddText = rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{
			"", "plain", "line\nline\ttab\r\b\f", `"quoted" \ back`, "<b>&</b>", "\x00\x1f\x7f", "grüße \u2028\u2029 �", "\xff broken \xe2\x80", "a\U0001F642",
		}),
	)
	oddTime = rapid.SampledFrom([]time.Time{{}, time.Unix(1_700_000_000, 0).UTC(), time.Unix(1_700_000_000, 120_000_000).UTC(), time.Unix(1, 1).UTC()})
	oddRaw  = rapid.SampledFrom([]json.RawMessage{
		nil, json.RawMessage(``), json.RawMessage(`null`), json.RawMessage(` {"a" : "<x>", "b":[1, 2]} `),
		json.RawMessage(`"\u2028"`), json.RawMessage("\"\u2028\xff\""), json.RawMessage(`{"bad":`), json.RawMessage(`1e400`),
	})
	oddFields = rapid.MapOfN(oddText, oddRaw, 0, 3)
	oddCount  = rapid.SampledFrom([]*int64{nil, Tokens(0), Tokens(7), Tokens(-1 << 63)})
	oddParts  = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Part {
		return Part{
			Type: PartType(oddText.Draw(t, "type")), Text: oddText.Draw(t, "text"), MediaType: oddText.Draw(t, "media"),
			Data: rapid.SliceOfN(rapid.Byte(), 0, 5).Draw(t, "data"), URI: oddText.Draw(t, "uri"),
		}
	}), 0, 3)
	oddCalls = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) ToolCall {
		return ToolCall{
			ID: oddText.Draw(t, "id"), Name: oddText.Draw(t, "name"), Arguments: oddRaw.Draw(t, "arguments"), Invalid: oddText.Draw(t, "invalid"),
			Extra: oddFields.Draw(t, "extra"), Key: oddText.Draw(t, "key"),
		}
	}), 0, 3)
)

func TestRecordsAreWrittenAsTheirTypesSay(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		reply := Reply{
			Response: Response{
				ID: oddText.Draw(t, "id"), Model: oddText.Draw(t, "model"), Finish: FinishReason(oddText.Draw(t, "finish")),
				Message: Message{
					Role: Role(oddText.Draw(t, "role")), Content: oddParts.Draw(t, "content"), ToolCalls: oddCalls.Draw(t, "calls"),
					ToolCallID: oddText.Draw(t, "call id"), ToolName: oddText.Draw(t, "tool"), IsError: rapid.Bool().Draw(t, "error"),
					Extra: oddFields.Draw(t, "message extra"),
				},
				Usage: Usage{
					Input: oddCount.Draw(t, "in"), CacheRead: oddCount.Draw(t, "read"), CacheWrite: oddCount.Draw(t, "write"),
					Output: oddCount.Draw(t, "out"), Reasoning: oddCount.Draw(t, "reasoning"),
				},
				Extra: oddFields.Draw(t, "response extra"),
			},
			Provider: oddText.Draw(t, "provider"), Model: oddText.Draw(t, "asked"), StartedAt: oddTime.Draw(t, "at"),
			DurationMS: rapid.Int64().Draw(t, "took"), FirstTokenMS: rapid.SampledFrom([]int64{0, 3}).Draw(t, "first"),
			Steered: rapid.Bool().Draw(t, "steered"), Condensed: rapid.Bool().Draw(t, "condensed"), Key: "not stored", Replayed: true,
		}
		if rapid.Bool().Draw(t, "failed") {
			reply.Failed = []FailedTry{{Error: oddText.Draw(t, "why"), Billable: true, StartedAt: oddTime.Draw(t, "failed at")}}
		}
		text, _, err := reply.encode()
		require.NoError(t, err)
		want, err := json.Marshal(&reply)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text))

		record := ToolRecord{
			Name: oddText.Draw(t, "name"), StartedAt: oddTime.Draw(t, "tool at"), DurationMS: 5,
			Result:  ToolResult{Content: oddParts.Draw(t, "result"), Structured: oddRaw.Draw(t, "structured"), IsError: rapid.Bool().Draw(t, "failed")},
			InDoubt: rapid.Bool().Draw(t, "doubt"), Invalid: rapid.Bool().Draw(t, "invalid"),
			Unwrapped: rapid.SliceOfN(oddText, 0, 2).Draw(t, "unwrapped"), Call: ToolCall{ID: "not stored"},
		}
		text, _ = record.encode()
		want, err = json.Marshal(&record)
		require.NoError(t, err)
		require.Equal(t, string(want), string(text))
	})
}
