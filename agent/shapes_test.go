package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

// shape reads a payload shape that endpoints were seen to send.
func shape(t *testing.T, name string) []byte {
	t.Helper()
	root := os.Getenv("TREADLE_FIXTURES")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "fixtures")
	}
	data, err := os.ReadFile(filepath.Join(root, "openai", name))
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("the payload shapes are not here (%v); set TREADLE_FIXTURES to the fixtures folder", err)
	}
	require.NoError(t, err, "set TREADLE_FIXTURES to the fixtures folder")
	return data
}

func shapeLines(t *testing.T, name string) [][]byte {
	t.Helper()
	return bytes.Split(bytes.TrimSpace(shape(t, name)), []byte("\n"))
}

// member is the raw value under a name of a JSON object.
func member(t *testing.T, object []byte, name string) []byte {
	t.Helper()
	var members map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(object, &members))
	return members[name]
}

// wire is an endpoint that gives the prepared bodies one after the other, and then
// plain answers.
type wire struct {
	status int // of the prepared ones; 0 is 200
	bodies [][]byte

	mu   sync.Mutex
	sent []sentRequest
}

type sentRequest struct {
	Messages []struct {
		Role      string          `json:"role"`
		Content   json.RawMessage `json:"content"`
		ToolCalls []struct {
			Function struct {
				Name      string `json:"name"`
				Arguments string `json:"arguments"`
			} `json:"function"`
		} `json:"tool_calls"`
	} `json:"messages"`
}

func (w *wire) RoundTrip(req *http.Request) (*http.Response, error) {
	raw, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, err
	}
	var sent sentRequest
	if err := json.Unmarshal(raw, &sent); err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, sent)
	status, body := http.StatusOK, []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}]}`)
	if n := len(w.sent); n <= len(w.bodies) {
		body = w.bodies[n-1]
		if w.status != 0 {
			status = w.status
		}
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{}, Request: req, ContentLength: -1, Body: io.NopCloser(bytes.NewReader(body)),
	}, nil
}

func (w *wire) llm(t *testing.T) agent.LLM {
	t.Helper()
	llm, err := openai.New(openai.Config{BaseURL: "http://endpoint.test/v1", Model: "test-model", HTTPClient: &http.Client{Transport: w}})
	require.NoError(t, err)
	return llm
}

// said are the texts and tool calls of a request's messages of a role.
func (s *sentRequest) said(role string) (texts, arguments []string) {
	for _, m := range s.Messages {
		if m.Role != role {
			continue
		}
		texts = append(texts, string(m.Content))
		for _, call := range m.ToolCalls {
			arguments = append(arguments, call.Function.Arguments)
		}
	}
	return texts, arguments
}

// heard is a tool that keeps the arguments that it was called with.
type heard struct {
	agenttest.Tool

	mu   sync.Mutex
	args []string
}

func hearing(name, schema string) *heard {
	h := &heard{}
	h.Tool = agenttest.Tool{Name: name, Schema: schema, Do: func(_ context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.args = append(h.args, string(call.Arguments))
		return agent.TextResult("ran " + name), nil
	}}
	return h
}

const (
	noArguments = `{"type":"object","properties":{}}`
	lampSchema  = `{"type":"object","properties":{"room":{"type":"string"},"level":{"type":"integer"}},"required":["room"]}`
	noteSchema  = `{"type":"object","properties":{"title":{"type":"string"}},"required":["title"]}`
)

func runShape(t *testing.T, loop *agent.Loop, w *wire, tools ...agent.Tool) (*agent.Result, []agent.Message, error) {
	t.Helper()
	loop.LLM, loop.Tools = w.llm(t), tools
	conv := asked("go on")
	result, err := loop.Run(t.Context(), conv)
	return result, toolMessages(conv), err
}

func TestBlankArgumentsRunAToolThatNeedsNone(t *testing.T) {
	t.Parallel()
	w := &wire{bodies: [][]byte{shape(t, "12_arguments_empty_string.json")}}
	tool := hearing("list_notes", noArguments)
	result, answers, err := runShape(t, &agent.Loop{}, w, tool)
	require.NoError(t, err)
	assert.Equal(t, []string{"{}"}, tool.args)
	assert.Equal(t, "ran list_notes", answers[0].ContentText())
	assert.Zero(t, result.InvalidCalls)
	_, arguments := w.sent[1].said("assistant")
	assert.Equal(t, []string{"{}"}, arguments, "history is sent back as JSON")
}

func TestBlankArgumentsOfAToolThatNeedsSomeAreToldInTheValidatorsWords(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		noteSchema,
		`{"$ref":"#/$defs/Note","$defs":{"Note":` + noteSchema + `}}`,
	} {
		tool := hearing("list_notes", schema)
		w := &wire{bodies: [][]byte{shape(t, "12_arguments_empty_string.json")}}
		result, answers, err := runShape(t, &agent.Loop{}, w, tool)
		require.NoError(t, err)
		assert.Empty(t, tool.args)
		assert.True(t, answers[0].IsError)
		assert.Contains(t, answers[0].ContentText(), "missing property 'title'")
		assert.Equal(t, 1, result.InvalidCalls)
	}
}

func TestABrokenCallIsAnsweredAndTheOtherOneRuns(t *testing.T) {
	t.Parallel()
	door, note := hearing("door", noArguments), hearing("get_note", noteSchema)
	w := &wire{bodies: [][]byte{shape(t, "13_arguments_invalid_json.json")}}
	result, answers, err := runShape(t, &agent.Loop{}, w, door, note)
	require.NoError(t, err)
	assert.Empty(t, door.args)
	assert.Equal(t, []string{`{"title":"a"}`}, note.args)
	require.Len(t, answers, 2)
	assert.True(t, answers[0].IsError)
	assert.Contains(t, answers[0].ContentText(), "invalid character 'o'", "the parser's words")
	assert.NotContains(t, answers[0].ContentText(), "cut off")
	assert.Equal(t, "ran get_note", answers[1].ContentText())
	assert.Equal(t, 1, result.InvalidCalls)
	_, arguments := w.sent[1].said("assistant")
	require.Len(t, arguments, 2)
	for _, sent := range arguments {
		assert.True(t, json.Valid([]byte(sent)), sent)
	}
}

func TestAnObjectInPlaceOfTheArgumentsTextIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	tool := hearing("set_lamp", lampSchema)
	w := &wire{bodies: [][]byte{shape(t, "15_arguments_object_not_string.json")}}
	_, _, err := runShape(t, &agent.Loop{}, w, tool)
	require.NoError(t, err)
	require.Len(t, tool.args, 1)
	assert.JSONEq(t, `{"room":"hall","level":3}`, tool.args[0])
	_, arguments := w.sent[1].said("assistant")
	require.Len(t, arguments, 1)
	assert.JSONEq(t, `{"room":"hall","level":3}`, arguments[0])
}

func TestArgumentsThatAreNoObjectRunNothing(t *testing.T) {
	t.Parallel()
	for _, line := range shapeLines(t, "16_arguments_not_an_object.jsonl") {
		tool := hearing("set_lamp", lampSchema)
		result, answers, err := runShape(t, &agent.Loop{}, &wire{bodies: [][]byte{line}}, tool)
		require.NoError(t, err)
		assert.Empty(t, tool.args, string(line))
		require.Len(t, answers, 1)
		assert.True(t, answers[0].IsError, string(line))
		assert.Equal(t, 1, result.InvalidCalls)

		free := hearing("set_lamp", noArguments)
		_, answers, err = runShape(t, &agent.Loop{}, &wire{bodies: [][]byte{line}}, free)
		require.NoError(t, err)
		if bytes.Contains(line, []byte(`"arguments": "null"`)) {
			assert.Equal(t, []string{"{}"}, free.args, "null is no arguments where none are needed")
		} else {
			assert.Empty(t, free.args, string(line))
			assert.True(t, answers[0].IsError, string(line))
		}
	}
}

const filterSchema = `{"type":"object","properties":{"name":{"type":"string"},"filter":{"$ref":"#/$defs/Filter"}},"required":["name","filter"],
	"$defs":{"Filter":{"type":"object","properties":{"field":{"type":"string"},"op":{"type":"string"},"value":{}},"required":["field","op"]}}}`

func TestAnObjectThatArrivesAsTextIsUnwrappedAndTheFactIsRecorded(t *testing.T) {
	t.Parallel()
	mem := workspace.NewMem()
	var records []*agent.ToolRecord
	loop := func(w *wire, tool *heard) {
		j, err := journal.Open(t.Context(), mem, "journal.jsonl", journal.Options{})
		require.NoError(t, err)
		result, answers, err := runShape(t, &agent.Loop{
			Journal: j.Under("step"),
			OnTool:  func(_, _ int, record *agent.ToolRecord) { records = append(records, record) },
		}, w, tool)
		require.NoError(t, err)
		assert.Equal(t, "ran save_filter", answers[0].ContentText())
		assert.Zero(t, result.InvalidCalls)
		require.NoError(t, j.Close())
	}
	tool := hearing("save_filter", filterSchema)
	w := &wire{bodies: [][]byte{shape(t, "17_nested_argument_as_json_text.json")}}
	loop(w, tool)
	require.Len(t, tool.args, 1)
	assert.JSONEq(t, `{"name":"mine","filter":{"field":"age","op":"gt","value":3}}`, tool.args[0])
	_, arguments := w.sent[1].said("assistant")
	require.Len(t, arguments, 1)
	assert.Contains(t, arguments[0], `\"field\"`, "the model sees what it wrote")

	again := hearing("save_filter", filterSchema)
	loop(&wire{}, again)
	assert.Empty(t, again.args)
	require.Len(t, records, 2)
	for _, record := range records {
		assert.Equal(t, []string{"/filter"}, record.Unwrapped)
	}
}

func TestTextIsUnwrappedOnlyWhereTheSchemaSaysObject(t *testing.T) {
	t.Parallel()
	withFilter := func(filter string) string {
		return `{"type":"object","properties":{"name":{"type":"string"},"filter":` + filter + `},"required":["name","filter"]}`
	}
	const object = `{"type":"object","properties":{"field":{"type":"string"},"big":{"type":"integer"},"in":{"type":"object","required":["a"]}},"required":["field"]}`
	for name, c := range map[string]struct {
		filter, sent string
		gets         string // "" is an error result
		unwrapped    []string
	}{
		"a string is wanted":        {`{"type":"string"}`, `"{\"field\":\"age\"}"`, `"{\"field\":\"age\"}"`, nil},
		"anything is wanted":        {`{}`, `"{\"field\":\"age\"}"`, `"{\"field\":\"age\"}"`, nil},
		"a string is possible":      {`{"anyOf":[{"type":"string"},` + object + `]}`, `"{\"field\":\"age\"}"`, `"{\"field\":\"age\"}"`, nil},
		"another string is wanted":  {`{"anyOf":[{"enum":["all"]},` + object + `]}`, `"{\"field\":\"age\"}"`, "", nil},
		"an object is wanted":       {object, `"{\"field\":\"age\"}"`, `{"field":"age"}`, []string{"/filter"}},
		"an object or nothing":      {`{"anyOf":[` + object + `,{"type":"null"}]}`, `"{\"field\":\"age\"}"`, `{"field":"age"}`, []string{"/filter"}},
		"of two types":              {`{"type":["object","null"]}`, `" {\"a\":1} "`, `{"a":1}`, []string{"/filter"}},
		"text inside of text":       {object, `"{\"field\":\"age\",\"in\":\"{\\\"a\\\":1}\"}"`, `{"field":"age","in":{"a":1}}`, []string{"/filter", "/filter/in"}},
		"in a list":                 {`{"type":"array","items":` + object + `}`, `[{"field":"a"},"{\"field\":\"b\"}"]`, `[{"field":"a"},{"field":"b"}]`, []string{"/filter/1"}},
		"long numbers stay":         {object, `"{\"field\":\"age\",\"big\":12345678901234567890}"`, `{"field":"age","big":12345678901234567890}`, []string{"/filter"}},
		"the object does not fit":   {object, `"{\"op\":\"gt\"}"`, "", nil},
		"the text is an array":      {object, `"[1]"`, "", nil},
		"the text is no JSON":       {object, `"{\"field\":"`, "", nil},
		"more than an object":       {object, `"{\"field\":\"age\"} ok"`, "", nil},
		"a list of text for a list": {`{"type":"array","items":{"type":"string"}}`, `"[\"a\"]"`, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := hearing("save", withFilter(c.filter))
			var record *agent.ToolRecord
			model := agenttest.New(t, agenttest.Calls(agent.ToolCall{Name: "save", Arguments: json.RawMessage(`{"name":"n","filter":` + c.sent + `}`)}), agenttest.Reply("done"))
			_, err := (&agent.Loop{LLM: model, Tools: []agent.Tool{tool}, OnTool: func(_, _ int, r *agent.ToolRecord) { record = r }}).Run(t.Context(), asked("go"))
			require.NoError(t, err)
			assert.Equal(t, c.unwrapped, record.Unwrapped)
			if c.gets == "" {
				assert.Empty(t, tool.args)
				assert.True(t, record.Invalid)
				return
			}
			require.Len(t, tool.args, 1, record.Result.Text())
			assert.JSONEq(t, `{"name":"n","filter":`+c.gets+`}`, tool.args[0])
			if strings.Contains(c.gets, "12345678901234567890") {
				assert.Contains(t, tool.args[0], "12345678901234567890")
			}
		})
	}
}

func TestACallThatTheLimitCutIsNotRunAndNotSentBack(t *testing.T) {
	t.Parallel()
	const pageSchema = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`
	for name, body := range map[string][]byte{
		"in mid call":    shape(t, "18_length_mid_tool_call.sse"),
		"the JSON is ok": member(t, shape(t, "20_length_but_valid_json.json"), "response"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := hearing("write_page", pageSchema)
			w := &wire{bodies: [][]byte{body}}
			result, answers, err := runShape(t, &agent.Loop{}, w, tool)
			require.NoError(t, err)
			assert.Empty(t, tool.args)
			assert.Empty(t, answers)
			assert.Zero(t, result.ToolCalls)
			require.Len(t, w.sent, 2)
			_, arguments := w.sent[1].said("assistant")
			assert.Empty(t, arguments, "the cut call is not history")
			told, _ := w.sent[1].said("user")
			assert.Contains(t, told[len(told)-1], "cut off")
			assert.NotContains(t, told[len(told)-1], "missing")

			w = &wire{bodies: [][]byte{body, body, body}}
			_, _, err = runShape(t, &agent.Loop{MaxCutReplies: 2}, w, tool)
			failure, ok := errors.AsType[*agent.ReplyError](err)
			require.True(t, ok, "%v", err)
			assert.ErrorIs(t, failure, agent.ErrOutputLimit)
			assert.Len(t, w.sent, 3)
			assert.Empty(t, tool.args)
		})
	}
}

func TestAProviderThatRefusesItsModelsOwnCallIsAskedOnceMoreWithItsWords(t *testing.T) {
	t.Parallel()
	for _, line := range shapeLines(t, "29_groq_tool_use_failed.jsonl") {
		body := member(t, line, "body")
		words := string(member(t, member(t, body, "error"), "message"))
		tool := hearing("set_lamp", lampSchema)
		w := &wire{status: http.StatusBadRequest, bodies: [][]byte{body}}
		var failed []*agent.FailedTry
		loop := agent.Loop{OnRetry: func(_ int, f *agent.FailedTry, wait time.Duration, again bool) {
			failed = append(failed, f)
			assert.True(t, again)
			assert.Zero(t, wait)
		}}
		result, _, err := runShape(t, &loop, w, tool)
		require.NoError(t, err)
		assert.Equal(t, "done", result.Final.ContentText())
		assert.Empty(t, tool.args, "the provider's copy is never parsed into a call")
		require.Len(t, failed, 1)
		refusal, ok := errors.AsType[*agent.ModelError](failed[0].Err)
		require.True(t, ok)
		assert.ErrorIs(t, refusal, agent.ErrModelToolCall)
		if generation := member(t, member(t, body, "error"), "failed_generation"); generation != nil {
			assert.Contains(t, refusal.Body, "find_page", "what the model wrote is kept for the log")
		}
		told, _ := w.sent[1].said("user")
		assert.Contains(t, told[len(told)-1], strings.Trim(words, `"`))

		w = &wire{status: http.StatusBadRequest, bodies: [][]byte{body, body, body}}
		_, _, err = runShape(t, &agent.Loop{}, w, tool)
		assert.ErrorIs(t, err, agent.ErrModelToolCall)
		assert.Len(t, w.sent, 2, "once more, and no more")
	}
}

func TestAToolNameWithSomethingLeakedIntoItIsUnknownAndStopsNoOtherCall(t *testing.T) {
	t.Parallel()
	body := shape(t, "38_special_tokens_in_tool_name.json")
	note := hearing("get_note", noteSchema)
	result, answers, err := runShape(t, &agent.Loop{}, &wire{bodies: [][]byte{body}}, note)
	require.NoError(t, err)
	require.Len(t, answers, 3)
	for _, answer := range answers {
		assert.True(t, answer.IsError)
		assert.Contains(t, answer.ContentText(), "tool_not_allowed")
		assert.Contains(t, answer.ContentText(), "You may use: get_note.")
	}
	assert.Empty(t, note.args)
	assert.Equal(t, 3, result.ToolCalls)

	right := bytes.Replace(body, []byte("functions.get_note"), []byte("get_note"), 1)
	_, answers, err = runShape(t, &agent.Loop{}, &wire{bodies: [][]byte{right}}, note)
	require.NoError(t, err)
	assert.Equal(t, []string{`{"title":"b"}`}, note.args)
	assert.Equal(t, "ran get_note", answers[1].ContentText())
}
