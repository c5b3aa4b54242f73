package openai_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
)

// outcome is what a call gave: a response, or an error.
type outcome struct {
	resp *agent.Response
	err  error
}

func (o outcome) response(t *testing.T) *agent.Response {
	t.Helper()
	require.NoError(t, o.err)
	return o.resp
}

func (o outcome) failure(t *testing.T) *agent.ModelError {
	t.Helper()
	var failure *agent.ModelError
	require.ErrorAs(t, o.err, &failure)
	return failure
}

func calls(names ...any) []agent.ToolCall {
	var list []agent.ToolCall
	for i := 0; i < len(names); i += 3 {
		list = append(list, agent.ToolCall{ID: names[i].(string), Name: names[i+1].(string), Arguments: json.RawMessage(names[i+2].(string))})
	}
	return list
}

func wantReply(t *testing.T, o outcome, text string, finish agent.FinishReason) *agent.Response {
	t.Helper()
	resp := o.response(t)
	assert.Equal(t, text, resp.Message.ContentText())
	assert.Equal(t, finish, resp.Finish)
	return resp
}

func wantTokens(t *testing.T, u agent.Usage, input, output int64) {
	t.Helper()
	assert.Equal(t, agent.Tokens(input), u.Input, "input")
	assert.Equal(t, agent.Tokens(output), u.Output, "output")
}

func wantCalls(t *testing.T, o outcome, want []agent.ToolCall) {
	t.Helper()
	resp := o.response(t)
	assert.Equal(t, agent.FinishToolCalls, resp.Finish)
	assert.Equal(t, want, resp.Message.ToolCalls)
}

var lampSpec = agent.ToolSpec{
	Name:        "set_lamp",
	InputSchema: json.RawMessage(`{"type":"object","properties":{"room":{"type":"string"}},"required":["room"]}`),
}

// shapes holds, per stream, what is right for it.
var shapes = map[string]func(*testing.T, outcome){
	"01_usage_last_chunk_empty_choices.sse": func(t *testing.T, o outcome) {
		resp := wantReply(t, o, "The lamp is on.", agent.FinishStop)
		wantTokens(t, resp.Usage, 11, 4)
		assert.Equal(t, "chatcmpl-x1", resp.ID)
		assert.Equal(t, "test-model", resp.Model)
	},
	"02_usage_not_requested_and_cost_tail.sse": func(t *testing.T, o outcome) {
		wantTokens(t, wantReply(t, o, "Hi", agent.FinishStop).Usage, 1, 8)
	},
	"03_usage_cumulative_every_chunk.sse": func(t *testing.T, o outcome) {
		wantTokens(t, wantReply(t, o, "one two three", agent.FinishStop).Usage, 35, 4)
	},
	"04_usage_zero_then_real.sse": func(t *testing.T, o outcome) {
		wantTokens(t, wantReply(t, o, "ok", agent.FinishStop).Usage, 20, 1)
	},
	"05_tool_delta_empty_id_and_name.sse": func(t *testing.T, o outcome) {
		wantCalls(t, o, calls("call_a1", "set_lamp", `{"room":"hall"}`))
	},
	"07_tool_delta_no_index_gemini.sse": func(t *testing.T, o outcome) {
		want := calls("function-call-1", "get_note", `{"title":"a"}`, "function-call-2", "get_note", `{"title":"b"}`)
		want[0].Extra = map[string]json.RawMessage{"extra_content": json.RawMessage(`{"google":{"thought_signature":"c2lnbmF0dXJl"}}`)}
		wantCalls(t, o, want)
		assert.JSONEq(t, `{"google":{"thought_signature":"c2lnMg=="}}`, string(o.resp.Message.Extra["extra_content"]))
		wantTokens(t, o.resp.Usage, 30, 12)
	},
	"09_tool_index_starts_at_one.sse": func(t *testing.T, o outcome) {
		wantCalls(t, o, calls("toolu_1", "get_note", `{"title":"a"}`, "toolu_2", "get_clock", `{}`))
		assert.Equal(t, "Let me look.", o.resp.Message.ContentText())
	},
	"10_duplicate_index_in_first_chunk.sse": func(t *testing.T, o outcome) {
		wantCalls(t, o, calls("call_d1", "set_lamp", `{"room":"hall"}`))
	},
	"11_first_delta_has_arguments.sse": func(t *testing.T, o outcome) {
		wantCalls(t, o, calls("call_f1", "find_page", `{"query": "tall trees"}`))
		assert.Empty(t, o.resp.Message.Extra)
	},
	"18_length_mid_tool_call.sse": func(t *testing.T, o outcome) {
		resp := wantReply(t, o, "", agent.FinishLength)
		require.Len(t, resp.Message.ToolCalls, 1)
		assert.Equal(t, "write_page", resp.Message.ToolCalls[0].Name)
		assert.NotEmpty(t, resp.Message.ToolCalls[0].Invalid)
		wantTokens(t, resp.Usage, 100, 64)
	},
	"21_refusal_stream.sse": func(t *testing.T, o outcome) {
		wantTokens(t, wantReply(t, o, "I can't help with that.", agent.FinishRefusal).Usage, 30, 8)
	},
	"25_azure_first_chunk_prompt_filter.sse": func(t *testing.T, o outcome) {
		resp := wantReply(t, o, "Hello", agent.FinishStop)
		assert.Equal(t, "chatcmpl-x1", resp.ID)
		assert.Equal(t, "test-model", resp.Model)
		assert.Equal(t, agent.Usage{}, resp.Usage)
	},
	"26_azure_filter_chunk_without_delta.sse": func(t *testing.T, o outcome) {
		wantReply(t, o, "Hello there", agent.FinishContentFilter)
	},
	"28_midstream_error_empty_choices.sse": func(t *testing.T, o outcome) {
		failure := o.failure(t)
		assert.Equal(t, "502", failure.Code)
		assert.Equal(t, "no free worker", failure.Message)
		assert.True(t, failure.Retryable)
		assert.Equal(t, 200, failure.StatusCode)
	},
	"32_whole_call_then_finish_stop.sse": func(t *testing.T, o outcome) {
		wantCalls(t, o, calls("call_o9", "get_note", `{"title":"a"}`))
	},
	"33_finish_reason_empty_string.sse": func(t *testing.T, o outcome) {
		wantCalls(t, o, calls("call_e1", "get_note", `{"title":"a"}`))
		assert.Equal(t, " if you", o.resp.Message.ContentText())
	},
	"34_no_finish_no_done.sse": func(t *testing.T, o outcome) {
		failure := o.failure(t)
		assert.ErrorIs(t, failure, agent.ErrReplyCut)
		assert.True(t, failure.Retryable)
		require.NotNil(t, failure.Partial)
		assert.Equal(t, "Half an answer", failure.Partial.Message.ContentText())
		assert.Empty(t, failure.Partial.Finish)
	},
	"36_crlf_multiline_and_no_space.sse": func(t *testing.T, o outcome) {
		wantReply(t, o, "tea time", agent.FinishStop)
	},
	"40_nulls_everywhere.sse": func(t *testing.T, o outcome) {
		resp := wantReply(t, o, "yes", agent.FinishStop)
		assert.JSONEq(t, `"both"`, string(resp.Message.Extra["reasoning_content"]))
		wantTokens(t, resp.Usage, 5, 2)
	},
	"42_name_first_args_later.sse": func(t *testing.T, o outcome) {
		wantCalls(t, o, calls("call_n1", "lookup", `{"docid":"4711"}`))
		assert.Equal(t, "(done)", o.resp.Message.ContentText())
	},
	"43_two_choices_interleaved.sse": func(t *testing.T, o outcome) {
		wantReply(t, o, "A1A2", agent.FinishStop)
	},
}

func TestEveryStreamShapeIsReadRightWhole(t *testing.T) {
	t.Parallel()
	for name, check := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			llm := over(t, &canned{body: bodyOf(fixture(t, name))})
			resp, err := llm.Generate(t.Context(), ask(lampSpec), discard)
			check(t, outcome{resp, err})
		})
	}
}

func TestEveryStreamShapeIsReadTheSameSplitAtEveryByte(t *testing.T) {
	t.Parallel()
	for name, check := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data := fixture(t, name)
			want, wantErr := openai.ReadBody(t.Context(), bytes.NewReader(data), ask(lampSpec), nil)
			check(t, outcome{want, wantErr})
			for at := 1; at < len(data); at++ {
				got, err := openai.ReadBody(t.Context(), splitAt(data, at)(), ask(lampSpec), discard)
				require.Equal(t, want, got, "split at %d", at)
				require.Equal(t, wantErr, err, "split at %d", at)
			}
			got, err := openai.ReadBody(t.Context(), iotest.OneByteReader(bytes.NewReader(data)), ask(lampSpec), discard)
			check(t, outcome{got, err})
		})
	}
}

func TestEveryShapeInTheFolderHasItsCheck(t *testing.T) {
	t.Parallel()
	entries, err := os.ReadDir(fixturesDir(t))
	require.NoError(t, err)
	for _, entry := range entries {
		switch name := entry.Name(); filepath.Ext(name) {
		case ".sse":
			assert.Contains(t, shapes, name)
		case ".json", ".jsonl":
			assert.Contains(t, bodies, name)
		}
	}
}

// bodies holds, per file of whole bodies, what is right for it.
var bodies = map[string]func(*testing.T, string){
	"12_arguments_empty_string.json": func(t *testing.T, name string) {
		o := generate(t, fixture(t, name))
		wantCalls(t, o, calls("call_1", "list_notes", `{}`))
		assert.Equal(t, "{}", historyArguments(t, o.resp, 0))
	},
	"13_arguments_invalid_json.json": func(t *testing.T, name string) {
		o := generate(t, fixture(t, name))
		resp := o.response(t)
		assert.Equal(t, agent.FinishToolCalls, resp.Finish)
		require.Len(t, resp.Message.ToolCalls, 2)
		broken := resp.Message.ToolCalls[0]
		assert.Contains(t, broken.Invalid, "invalid character")
		var raw string
		require.NoError(t, json.Unmarshal(broken.Arguments, &raw))
		assert.Equal(t, `{"action": opnen_door"}`, raw)
		assert.Empty(t, resp.Message.ToolCalls[1].Invalid)
		assert.Equal(t, "{}", historyArguments(t, resp, 0))
		assert.Equal(t, `{"title":"a"}`, historyArguments(t, resp, 1))
	},
	"15_arguments_object_not_string.json": func(t *testing.T, name string) {
		resp := generate(t, fixture(t, name)).response(t)
		require.Len(t, resp.Message.ToolCalls, 1)
		assert.Empty(t, resp.Message.ToolCalls[0].Invalid)
		assert.JSONEq(t, `{"room":"hall","level":3}`, string(resp.Message.ToolCalls[0].Arguments))
		assert.JSONEq(t, `{"room":"hall","level":3}`, historyArguments(t, resp, 0))
	},
	"16_arguments_not_an_object.jsonl": func(t *testing.T, name string) {
		for i, line := range fixtureLines(t, name) {
			resp := generate(t, line, lampSpec).response(t)
			require.Len(t, resp.Message.ToolCalls, 1)
			assert.Contains(t, resp.Message.ToolCalls[0].Invalid, "must be a JSON object", "line %d", i+1)
			assert.Equal(t, "{}", historyArguments(t, resp, 0))
		}
		free := generate(t, fixtureLines(t, name)[2], agent.ToolSpec{Name: "set_lamp"}).response(t)
		assert.Equal(t, calls("call_1", "set_lamp", `{}`), free.Message.ToolCalls, "null, for a tool that needs nothing")
	},
	"17_nested_argument_as_json_text.json": func(t *testing.T, name string) {
		resp := generate(t, fixture(t, name)).response(t)
		assert.JSONEq(t, `{"name":"mine","filter":"{\"field\": \"age\", \"op\": \"gt\", \"value\": 3}"}`,
			string(resp.Message.ToolCalls[0].Arguments), "left as it came: only a schema can tell text from an object")
	},
	"20_length_but_valid_json.json": func(t *testing.T, name string) {
		var wrapper struct{ Response json.RawMessage }
		require.NoError(t, json.Unmarshal(fixture(t, name), &wrapper))
		resp := wantReply(t, generate(t, wrapper.Response), "", agent.FinishLength)
		assert.Equal(t, calls("call_1", "write_page", `{"path":"a.md"}`), resp.Message.ToolCalls)
	},
	"22_refusal_message.json": func(t *testing.T, name string) {
		wantReply(t, generate(t, fixture(t, name)), "I can't help with that.", agent.FinishRefusal)
	},
	"23_usage_details_variants.jsonl": func(t *testing.T, name string) {
		for i, line := range fixtureLines(t, name) {
			u := generate(t, line).response(t).Usage
			switch i + 1 {
			case 5, 6:
				assert.Equal(t, agent.Usage{}, u, "line %d", i+1)
			case 7:
				wantTokens(t, u, 220, 300)
				assert.Equal(t, agent.Tokens(1280), u.CacheRead)
				assert.Equal(t, agent.Tokens(192), u.Reasoning)
				assert.EqualValues(t, 1800, u.Total())
			default:
				wantTokens(t, u, 10, 2)
				assert.Nil(t, u.CacheRead, "line %d", i+1)
				assert.Nil(t, u.Reasoning, "line %d", i+1)
			}
		}
	},
	"24_usage_total_does_not_add_up.json": func(t *testing.T, name string) {
		resp := generate(t, fixture(t, name)).response(t)
		assert.EqualValues(t, 1250, resp.Usage.Total())
		assert.Equal(t, agent.Tokens(200), resp.Usage.Reasoning)
		assert.Equal(t, agent.Tokens(1000), resp.Usage.Input)
		assert.JSONEq(t, `1250`, string(member(t, resp.Extra["usage"], "total_tokens")))
	},
	"29_groq_tool_use_failed.jsonl": func(t *testing.T, name string) {
		for i, line := range fixtureLines(t, name) {
			failure := respond(t, line).failure(t)
			assert.Equal(t, 400, failure.StatusCode)
			assert.Equal(t, "tool_use_failed", failure.Code)
			assert.ErrorIs(t, failure, agent.ErrModelToolCall)
			assert.False(t, failure.Retryable, "the same call is not to be repeated unchanged")
			assert.Equal(t, i == 0, errors.Is(failure, agent.ErrModelToolCall) && len(member(t, member(t, []byte(failure.Body), "error"), "failed_generation")) > 0)
		}
	},
	"30_deepseek_reasoning_round_trip.json": func(t *testing.T, name string) {
		var f struct {
			Turn1 json.RawMessage `json:"turn1_response"`
			Turn2 json.RawMessage `json:"turn2_request_must_contain"`
		}
		require.NoError(t, json.Unmarshal(fixture(t, name), &f))
		for _, provider := range []string{"deepseek", ""} {
			resp := generate(t, f.Turn1).response(t)
			assert.Equal(t, agent.Tokens(9), resp.Usage.Reasoning)
			resp.Message.Extra["treadle_provider"] = nil
			delete(resp.Message.Extra, "treadle_provider")
			assert.JSONEq(t, string(f.Turn2), string(history(t, &resp.Message, provider)))
		}
		resp := generate(t, f.Turn1).response(t)
		assert.NotContains(t, string(history(t, &resp.Message, "groq")), "reasoning_content")
		assert.NotContains(t, string(history(t, &resp.Message, "openai")), "reasoning_content")
		resp.Message.Extra = nil
		assert.JSONEq(t, `""`, string(member(t, history(t, &resp.Message, "deepseek"), "reasoning_content")))
	},
	"37_error_body_variants.jsonl": func(t *testing.T, name string) {
		want := []struct {
			message, code string
			retryable     bool
		}{
			{"bad", "invalid_api_key", false},
			{"bad", "400", false},
			{"slow down", "429", true},
			{"bad", "400", false},
			{"something broke", "", true},
			{"bad", "400", false},
			{"Bad gateway", "", true},
			{"provider error", "524", true},
			{"the reply holds no choice", "", true},
		}
		lines := fixtureLines(t, name)
		require.Len(t, lines, len(want))
		for i, line := range lines {
			var f struct {
				Status int `json:"http_status"`
			}
			require.NoError(t, json.Unmarshal(line, &f))
			failure := respond(t, line).failure(t)
			assert.Equal(t, f.Status, failure.StatusCode, "line %d", i+1)
			assert.Equal(t, want[i].message, failure.Message, "line %d", i+1)
			assert.Equal(t, want[i].code, failure.Code, "line %d", i+1)
			assert.Equal(t, want[i].retryable, failure.Retryable, "line %d", i+1)
			assert.NotEmpty(t, failure.Body, "line %d", i+1)
		}
	},
	"38_special_tokens_in_tool_name.json": func(t *testing.T, name string) {
		resp := generate(t, fixture(t, name)).response(t)
		assert.Equal(t, calls(
			"call_1", "get_note<|channel|>commentary", `{"title":"a"}`,
			"call_2", "functions.get_note", `{"title":"b"}`,
			"call_3", "get_notejson", `{"title":"c"}`), resp.Message.ToolCalls, "names are not guessed")
		sent := string(history(t, &resp.Message, ""))
		assert.Contains(t, sent, `"get_note__channel__commentary"`)
		assert.Contains(t, sent, `"functions_get_note"`)
	},
	"44_openrouter_provider_reasoning_details.json": func(t *testing.T, name string) {
		resp := wantReply(t, generate(t, fixture(t, name)), "4", agent.FinishStop)
		assert.Equal(t, agent.Tokens(0), resp.Usage.CacheRead, "a real zero")
		wantTokens(t, resp.Usage, 7, 9)
		assert.JSONEq(t, `1.23e-05`, string(member(t, resp.Extra["usage"], "cost")))
		delete(resp.Message.Extra, "treadle_provider")
		sent := history(t, &resp.Message, "openrouter")
		assert.JSONEq(t, `[{"type":"reasoning.text","text":"two and two","format":"unknown","index":0}]`, string(member(t, sent, "reasoning_details")))
		assert.Nil(t, member(t, sent, "reasoning"), "once, not twice")
	},
}

func TestEveryWholeBodyShapeIsReadRight(t *testing.T) {
	t.Parallel()
	for name, check := range bodies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, name)
		})
	}
}

func generate(t *testing.T, body []byte, tools ...agent.ToolSpec) outcome {
	t.Helper()
	resp, err := over(t, &canned{body: bodyOf(body)}).Generate(t.Context(), ask(tools...), nil)
	return outcome{resp, err}
}

// respond serves one line of the form {"http_status": …, "body": …}.
func respond(t *testing.T, line []byte) outcome {
	t.Helper()
	var f struct {
		Status int             `json:"http_status"`
		Body   json.RawMessage `json:"body"`
	}
	require.NoError(t, json.Unmarshal(line, &f))
	body := []byte(f.Body)
	var page string
	if json.Unmarshal(body, &page) == nil {
		body = []byte(page)
	}
	resp, err := over(t, &canned{status: f.Status, body: bodyOf(body)}).Generate(t.Context(), ask(), nil)
	return outcome{resp, err}
}

// history is how a message goes back to a provider.
func history(t *testing.T, msg *agent.Message, provider string) json.RawMessage {
	t.Helper()
	transport := &canned{body: bodyOf([]byte(`{"choices":[{"message":{"content":"ok"}}]}`))}
	llm := over(t, transport, func(c *openai.Config) { c.Provider = provider })
	_, err := llm.Generate(t.Context(), &agent.Request{Messages: []agent.Message{agent.UserMessage("go on"), *msg}}, nil)
	require.NoError(t, err)
	var messages []json.RawMessage
	require.NoError(t, json.Unmarshal(transport.last(t)["messages"], &messages))
	require.Len(t, messages, 2)
	return messages[1]
}

func historyArguments(t *testing.T, resp *agent.Response, n int) string {
	t.Helper()
	var wire struct {
		ToolCalls []struct{ Function struct{ Arguments string } } `json:"tool_calls"`
	}
	require.NoError(t, json.Unmarshal(history(t, &resp.Message, ""), &wire))
	require.Greater(t, len(wire.ToolCalls), n)
	return wire.ToolCalls[n].Function.Arguments
}

func member(t *testing.T, object []byte, key string) json.RawMessage {
	t.Helper()
	var o map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(object, &o))
	return o[key]
}
