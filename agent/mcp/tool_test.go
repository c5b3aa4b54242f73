package mcp_test

import (
	"encoding/json"
	"path/filepath"
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
		{Type: agent.PartText, Text: `[content of the unknown type "hologram", as received] {"depth":3,"type":"hologram"}`},
	}, result.Content)
	require.Len(t, session.Problems(), 1)
	assert.Contains(t, session.Problems()[0].String(), `tool "content": returns content of the unknown type "hologram"`)
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
	require.Len(t, session.Problems(), 1)
	assert.Contains(t, session.Problems()[0].String(), `"structured-list": returns structured content that is an array`)
}

func TestAToolThatPromisedStructureAndReturnsNoneHasFailedAndTheSessionLives(t *testing.T) {
	t.Parallel()
	counter := filepath.Join(t.TempDir(), "starts")
	session := open(t, fake(t, "count="+counter))
	silent, err := call(t.Context(), find(t, session, "typed-silent"), nil)
	require.NoError(t, err)
	assert.True(t, silent.IsError)
	assert.Contains(t, silent.Text(), "it ran, and may have taken effect")

	wordy, err := call(t.Context(), find(t, session, "typed-text"), nil)
	require.NoError(t, err)
	assert.True(t, wordy.IsError)
	require.Len(t, wordy.Content, 2)
	assert.Equal(t, "only words", wordy.Content[0].Text, "what it said is kept")
	require.Len(t, session.Problems(), 2)
	assert.Equal(t, "typed-text", session.Problems()[1].Tool)

	assert.Equal(t, `{}`, text(t, session, "echo", nil))
	assert.Equal(t, "x", requireFile(t, counter), "the server was not started again")
}

func TestAnArrayInPlaceOfAResultIsTakenForItsContent(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	result, err := call(t.Context(), find(t, session, "bare-list"), nil)
	require.NoError(t, err)
	assert.Equal(t, &agent.ToolResult{}, result)
	require.Len(t, session.Problems(), 1)
	assert.Contains(t, session.Problems()[0].String(), "answers with an array in place of a result")
}

func TestAFailureThatIsOnlyInTheBodyIsPassedOnAsItIs(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	result, err := call(t.Context(), find(t, session, "odd-text"), nil)
	require.NoError(t, err)
	assert.Equal(t, agent.TextResult(`{"success":false}`), result)
}

func TestAFailureWithoutWordsGetsSome(t *testing.T) {
	t.Parallel()
	session := open(t, fake(t))
	result, err := call(t.Context(), find(t, session, "silent-fail"), nil)
	require.NoError(t, err)
	assert.Equal(t, agent.ErrorResult("the tool failed and did not say why"), result)
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
