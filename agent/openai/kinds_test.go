package openai_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
)

// readAnyhow reads a body whole, split at every byte, and byte by byte, and checks
// that it is all the same, with a sink and without.
func readAnyhow(t *testing.T, data string) outcome {
	t.Helper()
	want, wantErr := openai.ReadBody(t.Context(), strings.NewReader(data), ask(lampSpec), nil)
	for at := range len(data) {
		got, err := openai.ReadBody(t.Context(), splitAt([]byte(data), at)(), ask(lampSpec), discard)
		require.Equal(t, want, got, "split at %d", at)
		require.Equal(t, wantErr, err, "split at %d", at)
	}
	var said strings.Builder
	got, err := openai.ReadBody(t.Context(), iotest.OneByteReader(strings.NewReader(data)), ask(lampSpec), func(d agent.Delta) { said.WriteString(d.Text) })
	require.Equal(t, want, got)
	require.Equal(t, wantErr, err)
	if want != nil && want.Finish != agent.FinishRefusal {
		assert.Equal(t, want.Message.ContentText(), said.String(), "the sink was told the text")
	}
	return outcome{want, wantErr}
}

// chunks is a stream of the given chunks, with [DONE].
func chunks(parts ...string) string {
	var out strings.Builder
	for _, part := range parts {
		fmt.Fprintf(&out, "data: %s\n\n", part)
	}
	return out.String() + "data: [DONE]\n\n"
}

// message is a whole reply of one message.
func message(msg, finish string) string {
	return `{"choices":[{"index":0,"message":` + msg + `,"finish_reason":"` + finish + `"}]}`
}

func TestCallsComeOutRightHoweverTheirPiecesCome(t *testing.T) {
	t.Parallel()
	one := calls("a", "set_lamp", `{"x":1}`)
	two := calls("a", "set_lamp", `{"x":1}`, "b", "set_lamp", `{"x":2}`)
	own := calls("call_1_0", "set_lamp", `{"x":1}`)
	shared := calls("a", "set_lamp", `{"x":1}`, "call_1_1", "set_lamp", `{"x":2}`)
	call := func(index, id, name, arguments string) string {
		quoted, _ := json.Marshal(arguments)
		entry := `{"type":"function",`
		if index != "" {
			entry += `"index":` + index + `,`
		}
		if id != "" {
			entry += `"id":"` + id + `",`
		}
		return entry + `"function":{"name":"` + name + `","arguments":` + string(quoted) + `}}`
	}
	delta := func(entries ...string) string { return `{"tool_calls":[` + strings.Join(entries, ",") + `]}` }
	for name, c := range map[string]struct {
		parts []string
		want  []agent.ToolCall
	}{
		"the index as text":                   {[]string{delta(call(`"0"`, "a", "set_lamp", `{"x"`)), delta(call(`"0"`, "", "", `:1}`))}, one},
		"the index as a fraction":             {[]string{delta(call(`0.0`, "a", "set_lamp", `{"x"`)), delta(call(`0`, "", "", `:1}`))}, one},
		"the index is null":                   {[]string{delta(call(`null`, "a", "set_lamp", `{"x"`)), delta(call(`null`, "", "", `:1}`))}, one},
		"another id with each piece":          {[]string{delta(call(`0`, "a", "set_lamp", `{"x"`)), delta(call(`0`, "z", "", `:1`)), delta(call(`0`, "y", "", `}`))}, one},
		"id and name with each piece":         {[]string{delta(call(`0`, "a", "set_lamp", ``)), delta(call(`0`, "a", "set_lamp", `{"x"`)), delta(call(`0`, "a", "set_lamp", `:1}`))}, one},
		"name with each piece, no id":         {[]string{delta(call(`0`, "", "set_lamp", `{"x"`)), delta(call(`0`, "", "set_lamp", `:1}`))}, own},
		"two calls in turns":                  {[]string{delta(call(`0`, "a", "set_lamp", `{"x"`), call(`1`, "b", "set_lamp", `{"x"`)), delta(call(`1`, "", "", `:2`)), delta(call(`0`, "", "", `:1`), call(`1`, "", "", `}`)), delta(call(`0`, "", "", `}`))}, two},
		"two calls in turns by id":            {[]string{delta(call(``, "a", "set_lamp", `{"x"`), call(``, "b", "set_lamp", `{"x"`)), delta(call(``, "b", "", `:2}`), call(``, "a", "", `:1}`))}, two},
		"the whole again, nothing else":       {[]string{delta(call(`0`, "a", "set_lamp", `{"x":`)), delta(call(`0`, "", "", `1}`)), delta(call(`0`, "", "", `{"x": 1}`))}, one},
		"the whole again with the id":         {[]string{delta(call(`0`, "a", "set_lamp", `{"x":`)), delta(call(`0`, "", "", `1}`)), delta(call(`0`, "a", "set_lamp", `{"x":1}`))}, one},
		"the whole again without the id":      {[]string{delta(call(`0`, "a", "set_lamp", `{"x":1}`)), delta(call(`0`, "", "set_lamp", `{"x":1}`))}, one},
		"the whole again and again":           {[]string{delta(call(`0`, "a", "set_lamp", `{"x":1}`)), delta(call(`0`, "a", "set_lamp", `{"x":1}`)), delta(call(`0`, "a", "set_lamp", `{"x":1}`)), delta(call(`0`, "", "set_lamp", `{"x":1}`))}, one},
		"an empty last piece with the name":   {[]string{delta(call(`0`, "a", "set_lamp", `{"x":1}`)), delta(call(`0`, "", "set_lamp", ``))}, one},
		"an empty input, then all again":      {[]string{delta(call(`0`, "a", "set_lamp", `{}`)), delta(call(`0`, "a", "set_lamp", `{"x":1}`)), delta(call(`0`, "a", "set_lamp", ``))}, one},
		"the name in parts":                   {[]string{delta(call(`0`, "a", "set_", ``)), delta(call(`0`, "", "lamp", ``)), delta(call(`0`, "", "", `{"x":1}`))}, one},
		"the name in parts with the id":       {[]string{delta(call(`0`, "a", "set", ``)), delta(call(`0`, "a", "_la", ``)), delta(call(`0`, "a", "mp", `{"x":1}`))}, one},
		"the name grows":                      {[]string{delta(call(`0`, "a", "set_", ``)), delta(call(`0`, "a", "set_lamp", ``)), delta(call(`0`, "a", "set_lamp", `{"x":1}`))}, one},
		"one index, two ids":                  {[]string{delta(call(`0`, "a", "set_lamp", `{"x":1}`)), delta(call(`0`, "b", "set_lamp", `{"x":2}`))}, two},
		"one index, two ids, equal arguments": {[]string{delta(call(`0`, "a", "set_lamp", `{"x":1}`)), delta(call(`0`, "b", "set_lamp", `{"x":1}`))}, calls("a", "set_lamp", `{"x":1}`, "b", "set_lamp", `{"x":1}`)},
		"one index, two ids, in pieces":       {[]string{delta(call(`0`, "a", "set_lamp", ``)), delta(call(`0`, "", "", `{"x":1}`)), delta(call(`0`, "b", "set_lamp", ``)), delta(call(`0`, "", "", `{"x":2}`))}, two},
		"one index, no ids":                   {[]string{delta(call(`0`, "", "set_lamp", `{"x":1}`)), delta(call(`0`, "", "set_lamp", `{"x":2}`))}, calls("call_1_0", "set_lamp", `{"x":1}`, "call_1_1", "set_lamp", `{"x":2}`)},
		"one id, two calls":                   {[]string{delta(call(``, "a", "set_lamp", `{"x":1}`)), delta(call(``, "a", "set_lamp", `{"x":2}`))}, shared},
		"one id and index, two calls":         {[]string{delta(call(`0`, "a", "set_lamp", `{"x":1}`)), delta(call(`0`, "a", "set_lamp", `{"x":2}`))}, shared},
		"parameterless calls without indices": {[]string{delta(call(``, "a", "get_clock", ``)), delta(call(``, "b", "get_clock", ``))}, calls("a", "get_clock", `{}`, "b", "get_clock", `{}`)},
		"null entries":                        {[]string{`{"tool_calls":[null]}`, delta(`null`, call(`0`, "a", "set_lamp", `{"x":1}`), `null`), `{"tool_calls":[null]}`}, one},
		"an entry instead of a list":          {[]string{`{"tool_calls":` + call(`0`, "a", "set_lamp", `{"x":1}`) + `}`}, one},
		"the arguments as an object":          {[]string{delta(`{"index":0,"id":"a","function":{"name":"set_lamp","arguments":{"x":1}}}`), delta(call(`0`, "a", "", ``))}, one},
		"a number as id":                      {[]string{delta(`{"index":0,"id":7,"function":{"name":"set_lamp","arguments":"{\"x\":1}"}}`)}, calls("7", "set_lamp", `{"x":1}`)},
		"the old form beside the new":         {[]string{`{"function_call":{"name":"set_lamp","arguments":"{\"x\":1}"},"tool_calls":[` + call(`0`, "a", "set_lamp", `{"x":1}`) + `]}`}, one},
		"the old form":                        {[]string{`{"function_call":{"name":"set_lamp","arguments":""}}`, `{"function_call":{"name":null,"arguments":"{\"x\""}}`, `{"function_call":{"arguments":":1}"}}`}, own},
		"an escape cut in two":                {[]string{delta(`{"index":0,"id":"a","function":{"name":"set_lamp","arguments":"{\"x\":\"\ud83d"}}`), delta(`{"index":0,"function":{"arguments":"\ude00\"}"}}`)}, calls("a", "set_lamp", `{"x":"😀"}`)},
		"indices with gaps and backwards":     {[]string{delta(call(`7`, "b", "set_lamp", `{"x":2}`)), delta(call(`-1`, "a", "set_lamp", `{"x":1}`))}, two},
		"braces inside the text":              {[]string{delta(call(`0`, "a", "set_lamp", `{"x":"}\"}"`)), delta(call(`0`, "a", "set_lamp", `,"y":{}`)), delta(call(`0`, "a", "set_lamp", `}`))}, calls("a", "set_lamp", `{"x":"}\"}","y":{}}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCalls(t, readAnyhow(t, string(deltas(c.parts...))), c.want)
		})
	}
}

func TestCallsOfAWholeMessageAreAllOfThemAndOnce(t *testing.T) {
	t.Parallel()
	const a = `{"id":"a","type":"function","function":{"name":"set_lamp","arguments":"{\"x\":1}"}}`
	for name, c := range map[string]struct {
		msg  string
		want []agent.ToolCall
	}{
		"one id twice":             {`{"tool_calls":[` + a + `,` + a + `]}`, calls("a", "set_lamp", `{"x":1}`, "call_1_1", "set_lamp", `{"x":1}`)},
		"no id":                    {`{"tool_calls":[{"function":{"name":"set_lamp","arguments":"{\"x\":1}"}}]}`, calls("call_1_0", "set_lamp", `{"x":1}`)},
		"id null":                  {`{"tool_calls":[{"id":null,"index":null,"function":{"name":"set_lamp","arguments":"{\"x\":1}"}}]}`, calls("call_1_0", "set_lamp", `{"x":1}`)},
		"null entries":             {`{"tool_calls":[null,` + a + `,null]}`, calls("a", "set_lamp", `{"x":1}`)},
		"one index for all":        {`{"tool_calls":[{"index":0,"id":"a","function":{"name":"set_lamp","arguments":"{\"x\":1}"}},{"index":0,"id":"b","function":{"name":"set_lamp","arguments":"{\"x\":2}"}}]}`, calls("a", "set_lamp", `{"x":1}`, "b", "set_lamp", `{"x":2}`)},
		"the old form":             {`{"function_call":{"name":"set_lamp","arguments":"{\"x\":1}"}}`, calls("call_1_0", "set_lamp", `{"x":1}`)},
		"the old form beside":      {`{"function_call":{"name":"set_lamp","arguments":"{\"x\":1}"},"tool_calls":[` + a + `]}`, calls("a", "set_lamp", `{"x":1}`)},
		"an empty name":            {`{"tool_calls":[{"id":"a","function":{"name":"","arguments":"{}"}}]}`, calls("a", "", `{}`)},
		"arguments left out":       {`{"tool_calls":[{"id":"a","function":{"name":"get_clock"}}]}`, calls("a", "get_clock", `{}`)},
		"an entry for a list":      {`{"tool_calls":` + a + `}`, calls("a", "set_lamp", `{"x":1}`)},
		"the arguments said twice": {`{"tool_calls":[{"id":"a","function":{"name":"set_lamp","arguments":"{\"x\":1}{\"x\": 1}"}}]}`, calls("a", "set_lamp", `{"x":1}`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantCalls(t, readAnyhow(t, message(c.msg, "tool_calls")), c.want)
		})
	}
}

func TestArgumentsThatAreJSONInsideJSONAreTakenOutAndNoted(t *testing.T) {
	t.Parallel()
	resp := readAnyhow(t, message(`{"tool_calls":[{"id":"a","function":{"name":"set_lamp","arguments":"\"{\\\"room\\\":\\\"hall\\\"}\""}}]}`, "tool_calls")).response(t)
	require.Len(t, resp.Message.ToolCalls, 1)
	call := resp.Message.ToolCalls[0]
	assert.Equal(t, `{"room":"hall"}`, string(call.Arguments))
	assert.Empty(t, call.Invalid)
	assert.JSONEq(t, `"\"{\\\"room\\\":\\\"hall\\\"}\""`, string(call.Extra["treadle_arguments"]))
}

func TestArgumentsOfTwoCallsInOneAreNotGuessedAt(t *testing.T) {
	t.Parallel()
	for _, arguments := range []string{`{"x":1}{"x":2}`, `{"x":1} and more`, `{"x":1}]`, `{"x":1}{"x":1`, "```json\\n{}\\n```"} {
		quoted := strings.ReplaceAll(arguments, `"`, `\"`)
		resp := readAnyhow(t, message(`{"tool_calls":[{"id":"a","function":{"name":"set_lamp","arguments":"`+quoted+`"}}]}`, "tool_calls")).response(t)
		require.Len(t, resp.Message.ToolCalls, 1)
		assert.NotEmpty(t, resp.Message.ToolCalls[0].Invalid, arguments)
	}
}

func TestTextAndItsEndComeOutRight(t *testing.T) {
	t.Parallel()
	const stop = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	content := func(c string) string { return `{"choices":[{"index":0,"delta":{"content":` + c + `}}]}` }
	for name, c := range map[string]struct {
		body   string
		text   string
		finish agent.FinishReason
	}{
		"a pair of escapes cut in two":          {chunks(content(`"a\ud83d"`), content(`""`), content(`"\ude00b"`), stop), "a😀b", agent.FinishStop},
		"half a pair of escapes for good":       {chunks(content(`"a\ud83d"`), content(`"b"`), content(`"\ud83d"`), stop), "a\uFFFDb\uFFFD", agent.FinishStop},
		"an escaped backslash before a u":       {chunks(content(`"a\\ud83d"`), content(`"\\ude00b"`), stop), `a\ud83d\ude00b`, agent.FinishStop},
		"the bytes of a character cut":          {chunks(content("\"a\xf0\x9f\""), content("\"\x98\x80b\""), stop), "a😀b", agent.FinishStop},
		"parts":                                 {chunks(content(`[{"type":"text","text":"a"},{"type":"text","text":"b"}]`), content(`{"type":"text","text":"c"}`), stop), "abc", agent.FinishStop},
		"the whole message at the end":          {chunks(content(`"ab"`), `{"choices":[{"index":0,"delta":{},"message":{"content":"ab"},"finish_reason":"stop"}]}`), "ab", agent.FinishStop},
		"messages instead of deltas":            {chunks(`{"choices":[{"message":{"content":"a"}}]}`, `{"choices":[{"message":{"content":"b"},"finish_reason":"stop"}]}`), "ab", agent.FinishStop},
		"a whole message beside an empty delta": {chunks(`{"choices":[{"delta":{},"message":{"content":"ab"},"finish_reason":"stop"}]}`), "ab", agent.FinishStop},
		"two chunks on one line":                {"data: " + content(`"a"`) + content(`"b"`) + "\n\ndata: " + stop + "\n\n", "ab", agent.FinishStop},
		"no blank lines":                        {"data: " + content(`"a"`) + "\ndata: " + content(`"b"`) + "\ndata: " + stop + "\ndata: [DONE]\n", "ab", agent.FinishStop},
		"lines without data:":                   {content(`"a"`) + "\n" + content(`"b"`) + "\n" + stop + "\n", "ab", agent.FinishStop},
		"lines without data:, [DONE]":           {content(`"a"`) + "\n" + content(`"b"`) + "\n[DONE]\n", "ab", agent.FinishStop},
		"[DONE] without a line end":             {"data: " + content(`"ab"`) + "\n\ndata: [DONE]", "ab", agent.FinishStop},
		"nothing after the finish":              {"data: " + content(`"ab"`) + "\n\ndata: " + stop, "ab", agent.FinishStop},
		"no blank after data:":                  {"data:" + content(`"ab"`) + "\n\ndata:" + stop + "\n\ndata:[DONE]\n\n", "ab", agent.FinishStop},
		"CR alone":                              {"data: " + content(`"a"`) + "\r\rdata: " + content(`"b"`) + "\r\rdata: " + stop + "\r\r", "ab", agent.FinishStop},
		"a byte order mark":                     {"\xef\xbb\xbf" + chunks(content(`"ab"`), stop), "ab", agent.FinishStop},
		"a byte order mark before JSON":         {"\xef\xbb\xbf\n" + message(`{"content":"ab"}`, "stop"), "ab", agent.FinishStop},
		"comments before JSON":                  {": wait\n\n" + message(`{"content":"ab"}`, "stop") + "\n", "ab", agent.FinishStop},
		"events that say nothing":               {"event: ping\ndata: {}\n\ndata: null\n\ndata: []\n\n" + chunks(content(`"ab"`), stop), "ab", agent.FinishStop},
		"an error after [DONE]":                 {chunks(content(`"ab"`), stop) + "data: {\"error\":{\"message\":\"late\"}}\n\n", "ab", agent.FinishStop},
		"choices in turns":                      {chunks(`{"choices":[{"index":1,"delta":{"content":"x"}},{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"length"},{"index":0,"delta":{"content":"b"},"finish_reason":"stop"}]}`), "ab", agent.FinishStop},
		"tool calls that are not there":         {chunks(content(`"ab"`), `{"choices":[{"index":0,"delta":{"tool_calls":[]},"finish_reason":"tool_calls"}]}`), "ab", agent.FinishStop},
		"a refusal beside text":                 {chunks(content(`"ab"`), `{"choices":[{"index":0,"delta":{"refusal":"no"},"finish_reason":"stop"}]}`), "ab\nno", agent.FinishRefusal},
		"a refusal as a part":                   {message(`{"content":[{"type":"refusal","refusal":"no"}]}`, "stop"), "no", agent.FinishRefusal},
		"a filter after a call":                 {chunks(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"content_filter"}]}`), "", agent.FinishContentFilter},
		"the limit inside the reasoning":        {chunks(`{"choices":[{"index":0,"delta":{"reasoning_content":"hm"},"finish_reason":"length"}]}`), "", agent.FinishLength},
		"the limit inside tagged reasoning":     {chunks(content(`"<think>hm"`), `{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}`), "", agent.FinishLength},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantReply(t, readAnyhow(t, c.body), c.text, c.finish)
		})
	}
}

func TestReasoningInTagsIsNoPartOfTheText(t *testing.T) {
	t.Parallel()
	for content, want := range map[string]struct{ text, reasoning string }{
		"<think>\nhm <b>\n</think>\n\nyes":    {"yes", "hm <b>"},
		"\n <think></think>yes":               {"yes", ""},
		"<thought>hm</thought> yes</thought>": {"yes</thought>", "hm"},
		"yes <think>hm</think>":               {"yes <think>hm</think>", ""},
		"<thin":                               {"<thin", ""},
		"<think>never closed":                 {"<think>never closed", ""},
		"<thinker>yes</thinker>":              {"<thinker>yes</thinker>", ""},
		" yes":                                {" yes", ""},
		"<think>a</thin</think>b":             {"b", "a</thin"},
	} {
		t.Run(content, func(t *testing.T) {
			t.Parallel()
			quote := func(s string) string { q, _ := json.Marshal(s); return string(q) }
			whole := readAnyhow(t, message(`{"content":`+quote(content)+`}`, "stop")).response(t)
			var pieces []string
			for _, letter := range content {
				pieces = append(pieces, `{"content":`+quote(string(letter))+`}`)
			}
			streamed := read(t, deltas(pieces...)).response(t)
			assert.Equal(t, whole, streamed)
			assert.Equal(t, want.text, whole.Message.ContentText())
			assert.Equal(t, want.reasoning != "", whole.Message.Extra["reasoning_content"] != nil)
			if want.reasoning != "" {
				assert.Equal(t, quote(want.reasoning), strings.NewReplacer(`<`, `\u003c`, `>`, `\u003e`).Replace(string(whole.Message.Extra["reasoning_content"])))
			}
		})
	}
}

func TestReasoningIsKeptWhateverItIsCalled(t *testing.T) {
	t.Parallel()
	stream := readAnyhow(t, string(deltas(
		`{"reasoning":"a","reasoning_content":"a","thinking_blocks":[{"type":"thinking","thinking":"a"}]}`,
		`{"reasoning":"b","reasoning_content":"b","thinking_blocks":[{"type":"thinking","thinking":"b"}],"images":[{"type":"image_url","image_url":{"url":"u1"}}]}`,
		`{"thinking_blocks":[{"type":"thinking","thinking":"","signature":"s"}],"images":[{"type":"image_url","image_url":{"url":"u2"}}]}`,
		`{"thinking_blocks":[{"type":"thinking","thinking":"c"}],"content":[{"type":"thinking","thinking":[{"type":"text","text":"p"}]}]}`,
		`{"content":"yes"}`))).response(t)
	extra := stream.Message.Extra
	assert.JSONEq(t, `"ab"`, string(extra["reasoning"]))
	assert.JSONEq(t, `"ab"`, string(extra["reasoning_content"]))
	assert.JSONEq(t, `"p"`, string(extra["thinking"]))
	assert.JSONEq(t, `[{"type":"thinking","thinking":"ab","signature":"s"},{"type":"thinking","thinking":"c"}]`, string(extra["thinking_blocks"]))
	assert.JSONEq(t, `[{"type":"image_url","image_url":{"url":"u1"}},{"type":"image_url","image_url":{"url":"u2"}}]`, string(extra["images"]))

	const blocks = `[{"type":"thinking","thinking":"a"},{"type":"thinking","thinking":"b"}]`
	whole := readAnyhow(t, message(`{"content":"yes","thinking_blocks":`+blocks+`}`, "stop")).response(t)
	assert.JSONEq(t, blocks, string(whole.Message.Extra["thinking_blocks"]), "as it came")
}

func TestUsageIsCountedOnceAndNeverBelowZero(t *testing.T) {
	t.Parallel()
	const text, stop = `{"choices":[{"index":0,"delta":{"content":"x"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	usage := func(u string) string { return `{"choices":[],"usage":` + u + `}` }
	n := agent.Tokens
	for name, c := range map[string]struct {
		body string
		want agent.Usage
	}{
		"said twice":            {chunks(text, stop, usage(`{"prompt_tokens":3,"completion_tokens":2}`), usage(`{"prompt_tokens":3,"completion_tokens":2}`)), agent.Usage{Input: n(3), Output: n(2)}},
		"in two places":         {chunks(text, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":{"prompt_tokens":3,"completion_tokens":2}}],"usage":{"prompt_tokens":3,"completion_tokens":2},"x_groq":{"usage":{"prompt_tokens":3,"completion_tokens":2}}}`), agent.Usage{Input: n(3), Output: n(2)}},
		"as text":               {chunks(text, stop, usage(`{"prompt_tokens":"3","completion_tokens":"2.0"}`)), agent.Usage{Input: n(3), Output: n(2)}},
		"below zero":            {chunks(text, stop, usage(`{"prompt_tokens":-3,"completion_tokens":2}`)), agent.Usage{Output: n(2)}},
		"below zero later":      {chunks(text, usage(`{"prompt_tokens":3,"completion_tokens":2}`), stop, usage(`{"prompt_tokens":-1,"completion_tokens":-1}`)), agent.Usage{Input: n(3), Output: n(2)}},
		"more cached than sent": {chunks(text, stop, usage(`{"prompt_tokens":3,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":9}}`)), agent.Usage{Input: n(3), CacheRead: n(9), Output: n(2)}},
		"half a token":          {chunks(text, stop, usage(`{"prompt_tokens":3.5,"completion_tokens":2}`)), agent.Usage{Output: n(2)}},
		"beyond all counting":   {chunks(text, stop, usage(`{"prompt_tokens":1e300,"completion_tokens":2}`)), agent.Usage{Output: n(2)}},
		"no figures":            {chunks(text, stop, usage(`[]`), usage(`"x"`), usage(`{}`)), agent.Usage{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			assert.Equal(t, c.want, readAnyhow(t, c.body).response(t).Usage)
		})
	}
}

func TestAnErrorKeepsTheUsageThatCameWithIt(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		chunks(`{"choices":[],"error":{"message":"gone"},"usage":{"prompt_tokens":3,"completion_tokens":2}}`),
		`{"error":{"message":"gone"},"usage":{"prompt_tokens":3,"completion_tokens":2}}`,
	} {
		failure := readAnyhow(t, body).failure(t)
		require.NotNil(t, failure.Partial)
		wantTokens(t, failure.Partial.Usage, 3, 2)
	}
}

func TestErrorsInsideAReplyAreTypedAndKeepTheirWords(t *testing.T) {
	t.Parallel()
	const text, stop = `{"choices":[{"index":0,"delta":{"content":"x"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	start := "data: " + text + "\n\n"
	for name, c := range map[string]struct {
		body      string
		message   string
		is        error
		retryable bool
		partial   bool
	}{
		"an error event of words":              {start + "event: error\ndata: upstream died\n\n", "upstream died", nil, true, true},
		"an error event of JSON":               {start + "event: error\ndata: {\"error\":{\"message\":\"gone\"}}\n\n", "gone", nil, true, true},
		"a field named error":                  {start + "error: {\"code\":500,\"message\":\"gone\",\"type\":\"server_error\"}\n\n", "gone", nil, true, true},
		"an object without data:":              {start + `{"error":{"message":"gone","code":400}}` + "\n", "gone", nil, false, true},
		"a flat error":                         {start + "data: {\"object\":\"error\",\"message\":\"gone\",\"code\":503}\n\n", "gone", nil, true, true},
		"an error beside a finish":             {start + `data: {"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}],"error":{"code":502,"message":"gone"}}` + "\n\n", "gone", nil, true, true},
		"an error after the finish":            {chunks(text, stop, `{"error":{"message":"gone"}}`), "gone", nil, true, true},
		"an error of text":                     {chunks(`{"error":"gone"}`), "gone", nil, true, false},
		"a flat error as the body":             {`{"object":"error","message":"gone","type":"BadRequestError","code":400}`, "gone", nil, false, false},
		"a bare message as the body":           {`{"code":"Throttled","message":"slow down","request_id":"r"}`, "slow down", nil, true, false},
		"a detail as the body":                 {`{"detail":"Not Found"}`, "Not Found", nil, true, false},
		"a filter's error":                     {chunks(`{"error":{"code":"content_filter","message":"filtered"}}`), "filtered", agent.ErrContentFiltered, false, false},
		"a page in the stream":                 {start + "<html><body>Bad gateway</body></html>\n", "without a finish reason", agent.ErrReplyCut, true, true},
		"a page as data":                       {start + "data: <html><body>Bad gateway</body></html>\n\n", "Bad gateway", nil, true, true},
		"comments alone":                       {": wait\n\n: wait\n\n", "without a finish reason", agent.ErrReplyCut, true, false},
		"[DONE] alone":                         {"data: [DONE]\n\n", "no choice", agent.ErrReplyEmpty, true, false},
		"a finish of null as text":             {chunks(`{"choices":[{"delta":{"content":"x"},"finish_reason":"null"}]}`)[:77], "without a finish reason", agent.ErrReplyCut, true, true},
		"a cut chunk":                          {start + "data: {\"choices\":[{\"index\":0,\"del", "without a finish reason", agent.ErrReplyCut, true, true},
		"a cut [DONE]":                         {start + "data: [DON", "without a finish reason", agent.ErrReplyCut, true, true},
		"a cut second chunk of a line":         {start + "data: " + text + "{\"cho", "without a finish reason", agent.ErrReplyCut, true, true},
		"a bad second chunk of a line":         {start + "data: " + text + "{\"cho\n\n", "not what a chat completions endpoint sends", nil, true, true},
		"a line without data: that ends early": {text + "\n", "without a finish reason", agent.ErrReplyCut, true, true},
		"lines without data: that end early":   {text + "\n" + text + "\n", "ends inside", agent.ErrReplyCut, true, true},
		"calls that are not there":             {chunks(`{"choices":[{"index":0,"delta":{"tool_calls":[]},"finish_reason":"tool_calls"}]}`), "neither text nor a tool call", agent.ErrReplyEmpty, true, true},
		"the body is a pretty error":           {"{\n  \"error\": {\n    \"message\": \"gone\"\n  }\n}\n", "gone", nil, true, false},
		"nothing but blanks":                   {" \n\n\r\n", "empty", agent.ErrReplyCut, true, false},
		"null":                                 {"null", "", nil, false, false},
		"packed bytes":                         {"\x1f\x8b\x08\x00\x00\x00", "", nil, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			failure := readAnyhow(t, c.body).failure(t)
			assert.Contains(t, failure.Message, c.message)
			assert.Equal(t, c.retryable, failure.Retryable)
			assert.Equal(t, c.partial, failure.Partial != nil && failure.Partial.Message.Content != nil || name == "calls that are not there")
			assert.NotEmpty(t, failure.Body+failure.Message)
			if c.is != nil {
				assert.ErrorIs(t, failure, c.is)
			}
		})
	}
}

func TestALargeReplyAndALongOneAreReadInProportion(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("x", 5<<20)
	resp := read(t, []byte(message(`{"content":"`+large+`"}`, "stop"))).response(t)
	assert.Len(t, resp.Message.ContentText(), 5<<20)
	resp = read(t, deltas(`{"content":"`+large+`"}`)).response(t)
	assert.Len(t, resp.Message.ContentText(), 5<<20)

	const n = 100_000
	tiny := strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n", n)
	resp = read(t, []byte(tiny+"data: [DONE]\n\n")).response(t)
	assert.Len(t, resp.Message.ContentText(), n)

	// Each piece closes braces inside the text, which makes careless readers look at
	// all that has come; they would take minutes.
	const pieces, length = 10_000, 100
	braces := strings.Repeat("}", length)
	parts := []string{`{"content":"<think>","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":\""}}]}`}
	for range pieces {
		parts = append(parts, `{"content":"`+braces+`","reasoning":"x","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"`+braces+`"}}]}`)
	}
	parts = append(parts, `{"content":"</think>y","tool_calls":[{"index":0,"id":"a","function":{"arguments":"\"}"}}]}`)
	resp = read(t, deltas(parts...)).response(t)
	assert.Equal(t, "y", resp.Message.ContentText())
	require.Len(t, resp.Message.ToolCalls, 1)
	assert.Len(t, resp.Message.ToolCalls[0].Arguments, len(`{"a":""}`)+pieces*length)
	assert.Empty(t, resp.Message.ToolCalls[0].Invalid)
	blank := read(t, deltas(slices.Repeat([]string{`{"content":" "}`}, pieces)...)).response(t)
	assert.Len(t, blank.Message.ContentText(), pieces)
}
