package feedback_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

// A model asks two questions in one reply; the run is left, the answers come in the other
// order through another process, the run is left again in between, and a third process
// goes on.
func TestTwoQuestionsOfOneReplyGetTheirOwnAnswersInANewProcess(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	process := func() (workspace.Storage, *feedback.Inbox) {
		dir, err := workspace.NewDir(folder)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, dir.Close()) })
		return dir, feedback.New(dir, feedback.Config{})
	}
	run := func(script ...agenttest.Turn) (*agent.Conversation, error) {
		st, in := process()
		s := openTools(t, feedback.ToolConfig{Inbox: in.For, Leave: func(agent.Scope) bool { return true }})
		layout := workspace.RunLayout("iteration-1/production")
		j, err := journal.Open(t.Context(), st, layout.Journal(), journal.Options{Blobs: layout.JournalBlobs()})
		require.NoError(t, err)
		defer func() { assert.NoError(t, j.Close()) }()
		conversation := agent.NewConversation(agent.Message{Role: agent.RoleUser, Content: agent.Text("go")})
		_, err = (&agent.Loop{
			LLM: agenttest.New(t, script...), Tools: []agent.Tool{s.tools[feedback.AskTool]},
			Journal: j.Under("ask/visit/1/attempt/1"), KeyPrefix: "ask/visit/1/attempt/1/",
		}).Run(t.Context(), conversation)
		return conversation, err
	}
	var suspended *agent.SuspendError
	_, err := run(agenttest.Calls(
		agenttest.ToolCall(feedback.AskTool, map[string]any{"message_for_user": "What of amber?", "unique_id": "same"}),
		agenttest.ToolCall(feedback.AskTool, map[string]any{"message_for_user": "What of birch?", "unique_id": "same"}),
	))
	require.ErrorAs(t, err, &suspended)

	answerTo := func(text, value string) {
		_, in := process()
		list, err := in.List(t.Context(), feedback.Filter{})
		require.NoError(t, err)
		for _, e := range list {
			if e.Text == text {
				answer(t, in, e.ID, value)
				return
			}
		}
		require.Fail(t, "not open: "+text)
	}
	answerTo("What of birch?", "birch is good")
	_, err = run()
	require.ErrorAs(t, err, &suspended, "one is still open")
	answerTo("What of amber?", "amber is bad")
	conversation, err := run(agenttest.Reply("done"))
	require.NoError(t, err)
	var told []string
	for _, m := range conversation.Messages() {
		if m.Role == agent.RoleTool {
			told = append(told, m.ContentText())
		}
	}
	assert.Equal(t, []string{"amber is bad", "birch is good"}, told)
	_, in := process()
	assert.Equal(t, []string{}, open(t, in))
}
