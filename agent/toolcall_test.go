package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// answer runs one call and returns what the model is told.
func answer(t *testing.T, call agent.ToolCall, tools ...agent.Tool) agent.Message {
	t.Helper()
	conv := asked("go")
	loop := agent.Loop{LLM: agenttest.New(t, agenttest.Calls(call), agenttest.Reply("done")), Tools: tools}
	_, err := loop.Run(t.Context(), conv)
	require.NoError(t, err)
	results := toolMessages(conv)
	require.Len(t, results, 1)
	return results[0]
}

func doing(do func(context.Context, *agent.ToolCall) (*agent.ToolResult, error)) *agenttest.Tool {
	return &agenttest.Tool{Name: "work", Do: do}
}

func TestAnUnknownToolIsAnsweredWithTheNamesItMayUse(t *testing.T) {
	t.Parallel()
	m := answer(t, agenttest.ToolCall("erase", nil), echo("write"), echo("read"))
	assert.True(t, m.IsError)
	assert.Contains(t, m.ContentText(), `tool_not_allowed`)
	assert.Contains(t, m.ContentText(), `"erase"`)
	assert.Contains(t, m.ContentText(), `read, write`)
}

func TestAnUnknownToolWhereThereAreNoneSaysSo(t *testing.T) {
	t.Parallel()
	m := answer(t, agenttest.ToolCall("erase", nil))
	assert.True(t, m.IsError)
	assert.Contains(t, m.ContentText(), "no tools")
}

func TestAnErrorOfAToolIsAResultThatTheModelSees(t *testing.T) {
	t.Parallel()
	m := answer(t, agenttest.ToolCall("work", nil), doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		return nil, errors.New("no such file")
	}))
	assert.True(t, m.IsError)
	assert.Equal(t, "no such file", m.ContentText())
}

func TestAPanicOfAToolIsAResultThatTheModelSees(t *testing.T) {
	t.Parallel()
	m := answer(t, agenttest.ToolCall("work", nil), doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		panic("index out of range")
	}))
	assert.True(t, m.IsError)
	assert.Contains(t, m.ContentText(), "index out of range")
}

func TestAToolThatReturnsNothingHasAnEmptyResult(t *testing.T) {
	t.Parallel()
	m := answer(t, agenttest.ToolCall("work", nil), doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		return nil, nil
	}))
	assert.False(t, m.IsError)
	assert.Empty(t, m.ContentText())
}

func TestAStructuredResultWithoutContentIsShownAsItsJSON(t *testing.T) {
	t.Parallel()
	m := answer(t, agenttest.ToolCall("work", nil), doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		return &agent.ToolResult{Structured: json.RawMessage(`{"rows":3}`)}, nil
	}))
	assert.Equal(t, `{"rows":3}`, m.ContentText())
}

func TestWhatModelsSendForNoArgumentsIsAnEmptyObject(t *testing.T) {
	t.Parallel()
	for name, sent := range map[string]json.RawMessage{
		"absent": nil, "empty": json.RawMessage(``), "blank": json.RawMessage(" \n"),
		"null": json.RawMessage(`null`), "empty object": json.RawMessage(`{}`),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "blank" || name == "empty" {
				// Such text is no JSON and so in no record; a backend makes it absent.
				sent = nil
			}
			m := answer(t, agent.ToolCall{Name: "read", Arguments: sent}, echo("read"))
			assert.False(t, m.IsError)
			assert.Equal(t, `read{}`, m.ContentText())
		})
	}
}

func TestArgumentsThatAreNoObjectAreToldToTheModel(t *testing.T) {
	t.Parallel()
	for _, sent := range []string{`[1]`, `"text"`, `""`, `7`, `true`} {
		m := answer(t, agent.ToolCall{Name: "read", Arguments: json.RawMessage(sent)}, echo("read"))
		assert.True(t, m.IsError, sent)
		assert.Contains(t, m.ContentText(), "JSON object", sent)
	}
}

func TestOnlyAReentrantToolMaySuspend(t *testing.T) {
	t.Parallel()
	m := answer(t, agenttest.ToolCall("work", nil), doing(func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
		return nil, agent.Suspend("waiting for a person")
	}))
	assert.True(t, m.IsError)
	assert.Contains(t, m.ContentText(), "reentrant")
}
