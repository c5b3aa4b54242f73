package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
)

type verdict struct {
	Passed bool   `json:"passed"`
	Score  uint8  `json:"score" jsonschema:"maximum=1000"`
	Reason string `json:"reason,omitempty"`
}

func newVerdict(t *testing.T) *agent.Structured[verdict] {
	t.Helper()
	s, err := agent.NewStructured[verdict]("verdict", agent.SchemaOpenAIStrict)
	require.NoError(t, err)
	return s
}

func textReply(text string) *agent.Response { return summaryReply(text) }

func TestAnOutputAsksForItsSchemaInTheProvidersForm(t *testing.T) {
	t.Parallel()
	request := newVerdict(t).Request()
	assert.Equal(t, "verdict", request.Name)
	assert.True(t, request.Strict)
	assert.Contains(t, string(request.Schema), `"additionalProperties":false`)
	request.Schema[0] = 'x'
	assert.True(t, json.Valid(newVerdict(t).Request().Schema))
	plain, err := agent.NewStructured[verdict]("v", agent.SchemaPlain)
	require.NoError(t, err)
	assert.False(t, plain.Request().Strict)
	data, err := json.Marshal(agent.Request{Output: plain.Request()})
	require.NoError(t, err)
	assert.Contains(t, string(data), `"output":{"name":"v"`)
}

func TestAnOutputThatAProviderWouldRefuseIsRefusedWhenItIsMade(t *testing.T) {
	t.Parallel()
	var refused *agent.SchemaProfileError
	_, err := agent.NewStructured[map[string]int]("counts", agent.SchemaOpenAIStrict)
	require.ErrorAs(t, err, &refused)
	_, err = agent.NewStructured[[]verdict]("list", agent.SchemaOpenAIStrict)
	require.ErrorAs(t, err, &refused)
	_, err = agent.NewStructured[[]verdict]("list", agent.SchemaGemini)
	require.NoError(t, err)
	_, err = agent.NewStructured[verdict]("not a name", agent.SchemaPlain)
	require.ErrorContains(t, err, "output name")
}

func TestAValueIsDecodedBareOrFenced(t *testing.T) {
	t.Parallel()
	s := newVerdict(t)
	for _, text := range []string{
		`{"passed":true,"score":7,"reason":null}`,
		" \n{\"passed\":true,\"score\":7}\n",
		"```json\n{\"passed\":true,\"score\":7}\n```",
		"```\n{\"passed\":true,\"score\":7}```\n",
	} {
		got, err := s.Decode(textReply(text))
		require.NoError(t, err, text)
		assert.Equal(t, verdict{Passed: true, Score: 7}, got)
	}
}

func TestAReplyWithoutTheValueIsATypedError(t *testing.T) {
	t.Parallel()
	s := newVerdict(t)
	for name, c := range map[string]struct {
		reply      *agent.Response
		words      string
		repairable bool
	}{
		"prose":         {textReply("It passed."), "not JSON", true},
		"cut JSON":      {textReply(`{"passed":tr`), "not JSON", true},
		"two values":    {textReply(`{"passed":true,"score":1} {}`), "not JSON", true},
		"a misfit":      {textReply(`{"passed":"yes","score":1}`), "at /passed: got string, want boolean", true},
		"a missing one": {textReply(`{"passed":true}`), "score", true},
		"a null":        {textReply(`{"passed":null,"score":1}`), "/passed", true},
		"too large":     {textReply(`{"passed":true,"score":999}`), "uint8", true},
		"empty":         {textReply(""), "empty", true},
		"cut":           {&agent.Response{Message: agent.AssistantMessage(`{"pa`), Finish: agent.FinishLength}, "output limit", true},
		"a refusal":     {&agent.Response{Message: agent.AssistantMessage("no"), Finish: agent.FinishRefusal}, "refused", false},
		"filtered":      {&agent.Response{Finish: agent.FinishContentFilter}, "filtered", false},
		"tools first": {&agent.Response{Message: agent.Message{
			Role: agent.RoleAssistant, Content: agent.Text(`{"passed":true,"score":1}`), ToolCalls: []agent.ToolCall{{Name: "look"}},
		}, Finish: agent.FinishToolCalls}, "calls tools", false},
	} {
		_, err := s.Decode(c.reply)
		var output *agent.OutputError
		if assert.ErrorAs(t, err, &output, name) {
			assert.ErrorContains(t, err, c.words, name)
			assert.Equal(t, c.repairable, output.Repairable(), name)
		}
	}
	var fit *agent.SchemaError
	_, err := s.Decode(textReply(`{"passed":"yes","score":1}`))
	require.ErrorAs(t, err, &fit)
}

func TestTheRepairPromptIsWrittenAsShown(t *testing.T) {
	t.Parallel()
	s := newVerdict(t)
	_, err := s.Decode(textReply(`{"passed":"yes","scores":1}`))
	message := s.Repair(err)
	assert.Equal(t, agent.RoleUser, message.Role)
	golden(t, "structured/repair.golden", message.ContentText())
	_, err = s.Decode(textReply("It passed."))
	message = s.Repair(err)
	golden(t, "structured/repair_prose.golden", message.ContentText())
}

func TestAskingRepairsOnceAndOnlyOnce(t *testing.T) {
	t.Parallel()
	s := newVerdict(t)
	good, bad := textReply(`{"passed":true,"score":1}`), textReply("nope")
	refusal := &agent.Response{Message: agent.AssistantMessage("no"), Finish: agent.FinishRefusal}
	broken := errors.New("broken line")
	for name, c := range map[string]struct {
		replies []any
		calls   int
		fails   bool
	}{
		"right at once":       {[]any{good}, 1, false},
		"right when repaired": {[]any{bad, good}, 2, false},
		"never right":         {[]any{bad, bad}, 2, true},
		"refused":             {[]any{refusal}, 1, true},
		"failed":              {[]any{broken}, 1, true},
		"failed repair":       {[]any{bad, broken}, 2, true},
	} {
		calls := 0
		got, err := s.Ask(t.Context(), func(_ context.Context, repair *agent.Message) (*agent.Response, error) {
			assert.Equal(t, calls > 0, repair != nil, name)
			if repair != nil {
				assert.Contains(t, repair.ContentText(), "not JSON")
			}
			calls++
			if reply, ok := c.replies[calls-1].(*agent.Response); ok {
				return reply, nil
			}
			return nil, broken
		})
		assert.Equal(t, c.calls, calls, name)
		if c.fails {
			assert.Error(t, err, name)
			assert.Zero(t, got, name)
		} else {
			assert.NoError(t, err, name)
			assert.True(t, got.Passed, name)
		}
	}
}

func FuzzOutputValue(f *testing.F) {
	for _, text := range []string{`{"passed":true,"score":1}`, "```json\n{}\n```", "```", "null", `{"passed":null,"reason":null}`, strings.Repeat("[", 100)} {
		f.Add(text)
	}
	s, err := agent.NewStructured[verdict]("verdict", agent.SchemaOpenAIStrict)
	require.NoError(f, err)
	f.Fuzz(func(t *testing.T, text string) {
		value, err := s.Value(textReply(text))
		if err != nil {
			var output *agent.OutputError
			require.ErrorAs(t, err, &output)
			return
		}
		require.True(t, json.Valid(value))
		_, err = s.Value(textReply(string(value)))
		require.NoError(t, err, "what fits still fits")
	})
}
