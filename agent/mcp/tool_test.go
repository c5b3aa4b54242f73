package mcp_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
)

func TestEveryKindOfContentIsKept(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	result, err := call(t.Context(), find(t, session, "content"), nil)
	require.NoError(t, err)
	assert.Equal(t, []agent.Part{
		{Type: agent.PartText, Text: "words"},
		{Type: agent.PartImage, MediaType: "image/png", Data: []byte("img")},
		{Type: agent.PartAudio, MediaType: "audio/wav", Data: []byte("snd")},
		{Type: agent.PartText, Text: "inside", MediaType: "text/plain", URI: "file:///a.txt"},
		{Type: agent.PartFile, MediaType: "application/pdf", Data: []byte("%PDF"), URI: "file:///a.pdf"},
		{Type: agent.PartText, Text: "[resource] b.csv <file:///b.csv> (text/csv): the ledger", MediaType: "text/csv", URI: "file:///b.csv"},
		{Type: agent.PartText, Text: `{"depth":3,"type":"hologram"}`},
	}, result.Content)
}

func TestStructuredContentIsTheTextWhereThereIsNoOther(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	for origin, want := range map[string]string{"structured": `{"total":12}`, "structured-list": `[1,2]`} {
		result, err := call(t.Context(), find(t, session, origin), nil)
		require.NoError(t, err)
		assert.False(t, result.IsError)
		assert.Equal(t, agent.Text(want), result.Content)
		assert.Equal(t, json.RawMessage(want), result.Structured)
	}
}

func TestAToolThatPromisedStructureAndReturnsNothingHasFailed(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	result, err := call(t.Context(), find(t, session, "typed-silent"), nil)
	require.NoError(t, err)
	assert.True(t, result.IsError)
	assert.Equal(t, "only words", text(t, session, "typed-text", nil))
	require.Len(t, session.Problems(), 1)
	assert.Equal(t, "typed-text", session.Problems()[0].Tool)
}

func TestAResultMarkedAsErrorIsAFailedResultWithItsText(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	result, err := call(t.Context(), find(t, session, "fail"), nil)
	require.NoError(t, err)
	assert.Equal(t, agent.ErrorResult("the disk is full"), result)
}

func TestARefusedCallIsAnErrorInTheServersWords(t *testing.T) {
	t.Parallel()
	server := fake(t)
	server.Env["TOKEN"] = "hunter22"
	server.Secrets = []string{"hunter22"}
	session := open(t, server)
	_, err := call(t.Context(), find(t, session, "refuse"), nil)
	var refused *mcp.ServerError
	require.ErrorAs(t, err, &refused)
	assert.Equal(t, -32602, refused.Code)
	require.EqualError(t, err, `mcp server "fake" refused refuse: city is required; token is [secret] (code -32602)`)
}

func TestAnErrorThatBreaksTheProtocolIsStillAnAnswer(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	_, err := call(t.Context(), find(t, session, "odd-error"), nil)
	require.ErrorContains(t, err, "it rains")
}

func TestArgumentsMustBeAnObject(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	echo := find(t, session, "echo")
	for _, raw := range []string{"", "null", " {\n} "} {
		result, err := echo.Call(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(raw)})
		require.NoError(t, err, raw)
		assert.Equal(t, "{}", result.Content[0].Text)
	}
	for _, raw := range []string{"[]", `"text"`, "{", "{} {}"} {
		_, err := echo.Call(t.Context(), &agent.ToolCall{Arguments: json.RawMessage(raw)})
		require.ErrorContains(t, err, "the arguments", raw)
	}
}
