package agent_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

func withSchema(schema string) *agenttest.Tool {
	tool := echo("read")
	tool.Schema = schema
	return tool
}

func TestArgumentsThatDoNotFitTheSchemaAreToldInTheValidatorsWords(t *testing.T) {
	t.Parallel()
	schema := `{"type":"object","properties":{"path":{"type":"string"},"mode":{"enum":["r","w"]}},"required":["path"],"additionalProperties":false}`
	for sent, says := range map[string]string{
		`{}`:                       "missing property 'path'",
		`{"path":1}`:               "got number, want string",
		`{"path":"a","mode":"x"}`:  "'r', 'w'",
		`{"path":"a","pathh":"b"}`: "'pathh' not allowed",
	} {
		m := answer(t, agent.ToolCall{Name: "read", Arguments: json.RawMessage(sent)}, withSchema(schema))
		assert.True(t, m.IsError, sent)
		assert.Contains(t, m.ContentText(), "invalid_arguments", sent)
		assert.Contains(t, m.ContentText(), says, sent)
		assert.NotContains(t, m.ContentText(), "treadle:", "the schema's address says nothing to a model")
	}
	m := answer(t, agent.ToolCall{Name: "read", Arguments: json.RawMessage(`{"path":"a"}`)}, withSchema(schema))
	assert.False(t, m.IsError)
}

func TestInvalidCallsAreCountedAlsoWhenReplayed(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		tool := withSchema(`{"type":"object","required":["path"]}`)
		tool.Effect = agent.Unsafe
		script := []agenttest.Turn{
			agenttest.Calls(
				agent.ToolCall{Name: "read", Arguments: json.RawMessage(`"{\"a"`), Invalid: "unexpected end of JSON input"},
				agenttest.ToolCall("read", map[string]string{}),
				agenttest.ToolCall("read", map[string]string{"path": "x"}),
				agent.ToolCall{Name: "read", Arguments: json.RawMessage(`{"path":`)},
			),
			agenttest.Reply("done"),
		}
		conv := asked("go")
		result, err := (&agent.Loop{LLM: agenttest.New(t, script...), Tools: []agent.Tool{tool}, Journal: restart()}).Run(t.Context(), conv)
		require.NoError(t, err)
		assert.Equal(t, 3, result.InvalidCalls)
		answers := toolMessages(conv)
		assert.Contains(t, answers[0].ContentText(), "unexpected end of JSON input")
		assert.Equal(t, `read{"path":"x"}`, answers[2].ContentText())
		assert.Contains(t, answers[3].ContentText(), "unexpected end of JSON input", "a backend that checks nothing ends no run")

		again := asked("go")
		replayed, err := (&agent.Loop{LLM: agenttest.New(t), Tools: []agent.Tool{tool}, Journal: restart()}).Run(t.Context(), again)
		require.NoError(t, err)
		assert.Equal(t, result, replayed)
		assert.Equal(t, conv.Messages(), again.Messages())
	})
}

func TestAToolWhoseSchemaDoesNotCompileIsCalledUncheckedAndReported(t *testing.T) {
	t.Parallel()
	for name, schema := range map[string]string{
		"not JSON":          `{"type":`,
		"not a schema":      `{"type":"strnig"}`,
		"a pattern":         `{"type":"object","properties":{"a":{"pattern":"(?<=x)y"}}}`,
		"a foreign file":    `{"$ref":"file:///etc/passwd"}`,
		"a foreign address": `{"$ref":"https://example.com/schema.json"}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reported []string
			conv := asked("go")
			loop := agent.Loop{
				LLM:         agenttest.New(t, agenttest.Call("read", map[string]int{"a": 1}), agenttest.Call("read", nil), agenttest.Reply("done")),
				Tools:       []agent.Tool{withSchema(schema)},
				OnUnchecked: func(tool string, err error) { reported = append(reported, tool); assert.Error(t, err) },
			}
			_, err := loop.Run(t.Context(), conv)
			require.NoError(t, err)
			assert.Equal(t, []string{"read"}, reported, "once")
			assert.Equal(t, `read{"a":1}`, toolMessages(conv)[0].ContentText())
		})
	}
}

func TestSchemasAndArgumentsOfIllWillEndNoRun(t *testing.T) {
	t.Parallel()
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"allOf":[{"$ref":"#"}]}`, `true`, `false`, `[]`, `null`, `{"$id":"::"}`,
		`{"type":"object","properties":{"a":{"type":"integer","multipleOf":0.0000001}}}`,
		`{"type":"object","additionalProperties":{"$ref":"#"}}`,
	} {
		for _, sent := range []string{`{}`, `{"a":1e999999999}`, `{"a":{"a":{"a":{}}}}`, `{"a":-0.0}`} {
			answer(t, agent.ToolCall{Name: "read", Arguments: json.RawMessage(sent)}, withSchema(schema))
		}
	}
}

func TestCallsOverTheCapOfAReplyAreRefusedByResult(t *testing.T) {
	t.Parallel()
	conv := asked("go")
	calls := make([]agent.ToolCall, 5)
	for i := range calls {
		calls[i] = agenttest.ToolCall("read", nil)
	}
	ran := 0
	tool := counting2("read", func(n int) { ran = n })
	loop := agent.Loop{
		LLM: agenttest.New(t, agenttest.Calls(calls...), agenttest.Reply("done")), Tools: []agent.Tool{tool},
		MaxToolCalls: 3, MaxParallelTools: 1,
	}
	_, err := loop.Run(t.Context(), conv)
	require.NoError(t, err)
	assert.Equal(t, 3, ran)
	answers := toolMessages(conv)
	require.Len(t, answers, 5)
	for _, m := range answers[3:] {
		assert.True(t, m.IsError)
		assert.Contains(t, m.ContentText(), "too_many_calls")
	}
}

func TestAResultWithAStructureThatIsNoJSONIsShownAsText(t *testing.T) {
	t.Parallel()
	m := answer(t, agenttest.ToolCall("work", nil), doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		return &agent.ToolResult{Structured: json.RawMessage(`{"rows":`)}, nil
	}))
	assert.Equal(t, `{"rows":`, m.ContentText())
}
