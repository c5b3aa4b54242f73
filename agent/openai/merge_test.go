package openai_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
)

// deltas is a stream of the given deltas that ends well.
func deltas(parts ...string) []byte {
	var out strings.Builder
	for _, d := range parts {
		fmt.Fprintf(&out, "data: {\"choices\":[{\"index\":0,\"delta\":%s}]}\n\n", d)
	}
	out.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	return []byte(out.String())
}

func read(t *testing.T, data []byte) outcome {
	t.Helper()
	resp, err := openai.ReadBody(t.Context(), bytes.NewReader(data), ask(lampSpec), nil)
	return outcome{resp, err}
}

func TestCallsAreToldApartHoweverTheServerNumbersThem(t *testing.T) {
	t.Parallel()
	two := calls("a", "f", `{"x":1}`, "b", "f", `{"x":2}`)
	for name, c := range map[string]struct {
		stream []byte
		want   []agent.ToolCall
	}{
		"one index for all calls": {deltas(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
			`{"tool_calls":[{"index":0,"id":"b","function":{"name":"f","arguments":"{\"x\":2}"}}]}`), two},
		"indices out of order": {deltas(
			`{"tool_calls":[{"index":1,"id":"b","function":{"name":"f","arguments":"{\"x\":"}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"function":{"arguments":"2}"}}]}`), two},
		"the name with every piece": {deltas(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":":1}"}}]}`), two[:1]},
		"a new id with every piece": {deltas(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\""}}]}`,
			`{"tool_calls":[{"index":0,"id":"z","function":{"name":"f","arguments":":1}"}}]}`), two[:1]},
		"pieces by id alone": {deltas(
			`{"tool_calls":[{"id":"a","function":{"name":"f","arguments":""}},{"id":"b","function":{"name":"f","arguments":""}}]}`,
			`{"tool_calls":[{"id":"a","function":{"arguments":"{\"x\":1}"}}]}`,
			`{"tool_calls":[{"id":"b","function":{"arguments":"{\"x\":2}"}}]}`), two},
		"the name after the id": {deltas(
			`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":""}}]}`,
			`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}]}`), two[:1]},
		"an empty input before the real one": {deltas(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`,
			`{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":1}"}}]}`), two[:1]},
		"an entry that says nothing": {deltas(
			`{"tool_calls":[{"index":0},{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}]}`), two[:1]},
		"no ids at all": {
			deltas(
				`{"tool_calls":[{"function":{"name":"f","arguments":"{\"x\":1}"}}]}`,
				`{"tool_calls":[{"function":{"name":"f","arguments":"{\"x\":2}"}}]}`),
			calls("call_1_0", "f", `{"x":1}`, "call_1_1", "f", `{"x":2}`),
		},
		"one id for two calls": {
			deltas(
				`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}},{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":2}"}}]}`),
			calls("a", "f", `{"x":1}`, "call_1_1", "f", `{"x":2}`),
		},
		"the old function call": {
			deltas(
				`{"function_call":{"name":"f","arguments":"{\"x\""}}`, `{"function_call":{"arguments":":1}"}}`),
			calls("call_1_0", "f", `{"x":1}`),
		},
		"arguments as an object": {deltas(
			`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`), two[:1]},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCalls(t, read(t, c.stream), c.want)
		})
	}
}

func TestFinishReasonsOfManyServersAreKnown(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]agent.FinishReason{
		"stop": agent.FinishStop, "STOP": agent.FinishStop, "eos": agent.FinishStop, "end_turn": agent.FinishStop,
		"length": agent.FinishLength, "max_tokens": agent.FinishLength, "MAX_TOKENS": agent.FinishLength,
		"content_filter": agent.FinishContentFilter, "SAFETY": agent.FinishContentFilter, "sensitive": agent.FinishContentFilter,
		"refusal": agent.FinishRefusal,
	} {
		wantReply(t, read(t, []byte(`{"choices":[{"message":{"content":"x"},"finish_reason":"`+raw+`"}]}`)), "x", want)
	}
}

func TestRepliesThatCannotBeUsedAreErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body      string
		is        error
		retryable bool
	}{
		"nothing":                  {``, agent.ErrReplyCut, true},
		"an empty message":         {`{"choices":[{"message":{"content":""},"finish_reason":"stop"}]}`, agent.ErrReplyEmpty, true},
		"reasoning alone":          {`{"choices":[{"message":{"content":null,"reasoning_content":"hm"},"finish_reason":"stop"}]}`, agent.ErrReplyEmpty, true},
		"calls that are not there": {`{"choices":[{"message":{"content":null,"tool_calls":[]},"finish_reason":"tool_calls"}]}`, agent.ErrReplyEmpty, true},
		"no choices":               {`{"choices":[]}`, agent.ErrReplyEmpty, true},
		"a finish of error":        {`{"choices":[{"message":{"content":"x"},"finish_reason":"error"}]}`, agent.ErrReplyCut, true},
		"an unreadable call":       {`{"choices":[{"message":{},"finish_reason":"MALFORMED_FUNCTION_CALL"}]}`, agent.ErrModelToolCall, false},
		"a cut body":               {`{"choices":[{"message":{"con`, agent.ErrReplyCut, true},
		"an error in a choice":     {`{"choices":[{"error":{"code":503,"message":"gone"},"message":{"content":"x"}}]}`, nil, true},
		"a fault of the request":   {`{"error":{"type":"invalid_request_error","message":"no"}}`, nil, false},
		"an error event":           {"event: error\ndata: {\"message\":\"gone\",\"type\":\"overloaded_error\"}\n\n", nil, true},
		"an error in a list":       {`[{"error":{"code":429,"message":"slow"}}]`, nil, true},
		"a page":                   {`<html><title>Sign in</title></html>`, nil, false},
		"words":                    {`upstream unavailable`, nil, false},
		"a chunk of garbage":       {"data: garbage\n\ndata: [DONE]\n\n", nil, false},
		"garbage after a chunk":    {someText + "data: {garbage\n\ndata: [DONE]\n\n", nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := read(t, []byte(c.body)).failure(t)
			assert.Equal(t, c.retryable, failure.Retryable, failure)
			assert.NotEmpty(t, failure.Message)
			if c.is != nil {
				assert.ErrorIs(t, failure, c.is)
			}
		})
	}
}

func TestContentFilterAndLengthWithoutTextAreNoErrors(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]agent.FinishReason{"length": agent.FinishLength, "content_filter": agent.FinishContentFilter} {
		wantReply(t, read(t, []byte(`{"choices":[{"message":{"content":""},"finish_reason":"`+raw+`"}]}`)), "", want)
	}
}

func TestContentInPartsIsText(t *testing.T) {
	t.Parallel()
	wantReply(t, read(t, []byte(`{"choices":[{"message":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"yes"}]}}]}`)), "yes", agent.FinishStop)
}

func TestStreamedReasoningDetailsAreJoined(t *testing.T) {
	t.Parallel()
	resp := read(t, deltas(
		`{"content":"","reasoning":"two ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"two "}]}`,
		`{"content":"","reasoning":"and","reasoning_details":[{"type":"reasoning.text","index":0,"text":"and"}]}`,
		`{"content":"4","reasoning_details":[{"type":"reasoning.text","index":0,"signature":"s1"}]}`,
		`{"content":"","reasoning_details":[{"type":"reasoning.encrypted","index":1,"data":"d"}]}`,
	)).response(t)
	assert.JSONEq(t, `"two and"`, string(resp.Message.Extra["reasoning"]))
	assert.JSONEq(t, `[{"type":"reasoning.text","index":0,"text":"two and","signature":"s1"},{"type":"reasoning.encrypted","index":1,"data":"d"}]`,
		string(resp.Message.Extra["reasoning_details"]))
}

func TestUsageOfManyServersFallsIntoBuckets(t *testing.T) {
	t.Parallel()
	n := agent.Tokens
	for raw, want := range map[string]agent.Usage{
		`{"prompt_tokens":10,"completion_tokens":2,"prompt_cache_hit_tokens":4,"prompt_cache_miss_tokens":6}`: {Input: n(6), CacheRead: n(4), Output: n(2)},
		`{"prompt_tokens":10,"completion_tokens":2,"cached_tokens":4}`:                                        {Input: n(6), CacheRead: n(4), Output: n(2)},
		`{"prompt_tokens":10,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":40}}`:             {Input: n(10), CacheRead: n(40), Output: n(2)},
		`{"input_tokens":10,"output_tokens":2,"cache_read_input_tokens":7,"cache_creation_input_tokens":3}`:   {Input: n(10), CacheRead: n(7), CacheWrite: n(3), Output: n(2)},
		`{"input_tokens":10,"output_tokens":2,"input_tokens_details":{"cached_tokens":4}}`:                    {Input: n(6), CacheRead: n(4), Output: n(2)},
		`{"prompt_tokens":10.0,"completion_tokens":"2"}`:                                                      {Input: n(10), Output: n(2)},
		`{"prompt_tokens":-1,"completion_tokens":2}`:                                                          {Output: n(2)},
		`{"prompt_tokens":0,"completion_tokens":0}`:                                                           {Input: n(0), Output: n(0)},
		`{"prompt_tokens":10,"completion_tokens":2,"total_tokens":20}`:                                        {Input: n(10), Output: n(10)},
		`{"prompt_tokens":10,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":9}}`:       {Input: n(10), Output: n(11), Reasoning: n(9)},
		`"none"`: {}, `[]`: {}, `{}`: {},
	} {
		got := read(t, []byte(`{"choices":[{"message":{"content":"x"}}],"usage":`+raw+`}`)).response(t).Usage
		assert.Equal(t, want, got, raw)
	}
}

func TestUsageIsFoundWhereSomeServersPutIt(t *testing.T) {
	t.Parallel()
	const counts = `{"prompt_tokens":3,"completion_tokens":2}`
	for _, chunk := range []string{
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":` + counts + `}]}`,
		`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"usage":` + counts + `}}`,
	} {
		o := read(t, []byte("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\ndata: "+chunk+"\n\n"))
		wantTokens(t, o.response(t).Usage, 3, 2)
	}
}

func TestStreamsEndTheirLinesInAnyWay(t *testing.T) {
	t.Parallel()
	stream := string(deltas(`{"content":"tea"}`, `{"content":" time"}`))
	for name, data := range map[string]string{
		"CR":                 strings.ReplaceAll(stream, "\n", "\r"),
		"CRLF":               strings.ReplaceAll(stream, "\n", "\r\n"),
		"byte order mark":    "\xef\xbb\xbf" + stream,
		"comments first":     ": OPENROUTER PROCESSING\n\n: more\n\n" + stream,
		"no last blank line": strings.TrimRight(stream, "\n"),
		"no [DONE]":          strings.TrimSuffix(stream, "data: [DONE]\n\n"),
		"blank data":         "data:\n\ndata: \n\n" + stream,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantReply(t, read(t, []byte(data)), "tea time", agent.FinishStop)
		})
	}
}

func TestALongReplyTakesTimeInProportion(t *testing.T) {
	t.Parallel()
	// Without care for it, each of these costs its square.
	const n = 5_000
	piece := strings.Repeat("x", 100)
	parts := []string{`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{\"a\":\""}}]}`}
	for range n {
		parts = append(parts, `{"content":"`+piece+`","reasoning":"`+piece+`","reasoning_details":[{"index":0,"text":"`+piece+`"}],`+
			`"tool_calls":[{"index":0,"function":{"name":"f","arguments":"`+piece+`"}}]}`)
	}
	parts = append(parts, `{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"\"}"}}]}`)
	resp := read(t, deltas(parts...)).response(t)
	assert.Len(t, resp.Message.ContentText(), 100*n)
	assert.Len(t, resp.Message.Extra["reasoning"], 100*n+2)
	require.Len(t, resp.Message.ToolCalls, 1)
	assert.Empty(t, resp.Message.ToolCalls[0].Invalid)
}

func TestAnySplitOfAStreamGivesTheSameResponse(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 1, 5).Draw(rt, "texts")
		arguments := rapid.SliceOfN(rapid.MapOf(rapid.String(), rapid.Int()), 0, 3).Draw(rt, "arguments")
		var parts []string
		quote := func(s string) string { q, _ := json.Marshal(s); return string(q) }
		want := ""
		for _, s := range texts {
			parts = append(parts, `{"content":`+quote(s)+`}`)
			want += s
		}
		for i, a := range arguments {
			raw, _ := json.Marshal(a)
			letters := []rune(string(raw))
			cut := rapid.IntRange(0, len(letters)).Draw(rt, "cut")
			for _, piece := range [][]rune{letters[:cut], letters[cut:]} {
				parts = append(parts, fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":"c%d","function":{"name":"f%d","arguments":%s}}]}`, i, i, i, quote(string(piece))))
			}
		}
		data := deltas(parts...)
		if rapid.Bool().Draw(rt, "crlf") {
			data = bytes.ReplaceAll(data, []byte("\n"), []byte("\r\n"))
		}
		p := &pieces{}
		for rest := data; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "piece")
			p.left, rest = append(p.left, rest[:n]), rest[n:]
		}
		resp, err := openai.ReadBody(t.Context(), p, ask(), discard)
		if want == "" && len(arguments) == 0 {
			require.ErrorIs(rt, err, agent.ErrReplyEmpty)
			return
		}
		require.NoError(rt, err)
		require.Equal(rt, strings.ToValidUTF8(want, "\uFFFD"), resp.Message.ContentText())
		require.Len(rt, resp.Message.ToolCalls, len(arguments))
		for i, call := range resp.Message.ToolCalls {
			raw, _ := json.Marshal(arguments[i])
			require.JSONEq(rt, string(raw), string(call.Arguments))
			require.Empty(rt, call.Invalid)
		}
	})
}

func FuzzAnyBodyIsAResponseOrATypedError(f *testing.F) {
	f.Add([]byte(someText))
	f.Add(deltas(`{"content":"a","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}`, `{"reasoning_details":[{"index":0,"text":"x"}]}`))
	f.Add([]byte(`{"choices":[{"message":{"content":[{"text":"x"}],"tool_calls":[{}]},"finish_reason":"length"}],"usage":{"prompt_tokens":1,"completion_tokens":-4,"total_tokens":9}}`))
	f.Add([]byte(`[{"error":{"message":"x"}}]`))
	f.Add([]byte("event: error\r\ndata: {}\r\r: x\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		resp, err := openai.ReadBody(t.Context(), bytes.NewReader(data), ask(lampSpec), discard)
		half, halfErr := openai.ReadBody(t.Context(), splitAt(data, len(data)/2)(), ask(lampSpec), nil)
		require.Equal(t, resp, half)
		require.Equal(t, err, halfErr)
		if err != nil {
			failure := outcome{err: err}.failure(t)
			require.NotEmpty(t, failure.Error())
			if resp = failure.Partial; resp == nil {
				return
			}
		}
		for _, n := range []*int64{resp.Usage.Input, resp.Usage.CacheRead, resp.Usage.CacheWrite, resp.Usage.Output, resp.Usage.Reasoning} {
			require.True(t, n == nil || *n >= 0)
		}
		for _, call := range resp.Message.ToolCalls {
			require.True(t, json.Valid(call.Arguments), "%s", call.Arguments)
			require.NotEmpty(t, call.ID)
			require.Equal(t, call.Invalid == "", call.Arguments[0] == '{')
		}
		_, err = json.Marshal(resp)
		require.NoError(t, err)
	})
}
