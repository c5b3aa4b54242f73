package feedback_test

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/feedback"
	"github.com/treadle-dev/treadle/feedback/feedbacktest"
	"github.com/treadle-dev/treadle/workspace"
)

func TestTheToolsKeepThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	agenttest.TestToolset(t, agenttest.ToolsetTest{
		New: func(t *testing.T) agent.Toolset {
			tools, err := feedback.NewTools(feedback.ToolConfig{Inbox: func(agent.Scope) (*feedback.Inbox, error) {
				return answeredAtOnce(), nil // the suite makes all calls under one key
			}})
			require.NoError(t, err)
			return tools
		},
		Scope: func(*testing.T) agent.Scope {
			return agent.Scope{Workspace: workspace.New(workspace.NewMem()), RunID: "run-1", RunFolder: "iteration-1", Step: "ship"}
		},
		Success: agenttest.ToolCase{Tool: feedback.AskTool, Arguments: `{"message_for_user":"Which?","unique_id":"u","options":["amber","birch"]}`, Want: "amber"},
		Failure: agenttest.ToolCase{Tool: feedback.NotifyTool, Arguments: `{"message_for_user":" "}`},
		Slow:    agenttest.ToolCase{Tool: feedback.AskTool, Arguments: `{"message_for_user":"Say: silence?","unique_id":"s"}`},
		Names:   []string{feedback.AskTool, feedback.NotifyTool},
	})
}

// answeredAtOnce is an inbox in which the one who is notified answers at once.
func answeredAtOnce() *feedback.Inbox {
	var in *feedback.Inbox
	in = feedback.New(workspace.NewMem(), feedback.Config{Notifier: notifyFunc(func(ctx context.Context, n *feedback.Notification) (feedback.Receipt, error) {
		if n.Question == nil || strings.Contains(n.Text, "silence") {
			return feedback.Receipt{}, nil
		}
		_, err := in.Answer(ctx, n.Question.ID, feedback.Answer{Value: "1"})
		return feedback.Receipt{}, err
	})})
	return in
}

// step is a step of a run with the tools.
type step struct {
	session agent.ToolSession
	tools   map[string]agent.Tool
}

func openTools(t *testing.T, config feedback.ToolConfig) *step {
	t.Helper()
	set, err := feedback.NewTools(config)
	require.NoError(t, err)
	session, err := set.Open(t.Context(), agent.Scope{RunID: "run-1", RunFolder: "iteration-1/production", Group: "production", Step: "ship"})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, session.Close()) })
	list, err := session.Tools(t.Context())
	require.NoError(t, err)
	s := &step{session: session, tools: map[string]agent.Tool{}}
	for _, tool := range list {
		s.tools[tool.Spec().Name] = tool
	}
	return s
}

func (s *step) call(ctx context.Context, tool, key string, arguments any) (*agent.ToolResult, error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	return s.tools[tool].Call(ctx, &agent.ToolCall{Name: tool, Key: key, Arguments: text})
}

type args = map[string]any

func TestAQuestionOfAModelWaitsInTheInbox(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := openTools(t, feedback.ToolConfig{Inbox: b.process().For})
	var wg sync.WaitGroup
	wg.Go(func() {
		result, err := s.call(t.Context(), feedback.AskTool, "ship/visit/1/turn/1/tool/1", args{"message_for_user": "Where to?", "unique_id": "u-1", "options": []string{"here", "there"}})
		if assert.NoError(t, err) {
			assert.Equal(t, "there", result.Text())
			assert.False(t, result.IsError)
		}
	})
	other := b.process()
	for e, err := range other.Follow(t.Context(), feedback.Filter{}) {
		require.NoError(t, err)
		want := feedback.Question{
			ID: "run-1/ship/visit/1/turn/1/tool/1", Alias: "u-1", RunID: "run-1", Run: "iteration-1/production", Group: "production", Step: "ship",
			Key: "ship/visit/1/turn/1/tool/1", Kind: feedback.KindChoice, Text: "Where to?", Options: []string{"here", "there"},
			AskedAt: noon, Deadline: noon.Add(5 * time.Minute),
		}
		assert.Equal(t, want, e.Question)
		answer(t, other, e.ID, "option2")
		break
	}
	wg.Wait()
}

func TestAModelThatMayLeaveSuspendsAndTakesTheAnswerUpLater(t *testing.T) {
	t.Parallel()
	b := setup(t)
	leaving := func(agent.Scope) bool { return true }
	ask := args{"message_for_user": "Ship it?", "unique_id": "u", "timeout_seconds": 600}
	for range 2 {
		_, err := openTools(t, feedback.ToolConfig{Inbox: b.process().For, Leave: leaving}).call(t.Context(), feedback.AskTool, "k", ask)
		var suspended *agent.SuspendError
		require.ErrorAs(t, err, &suspended)
		assert.Contains(t, suspended.Reason, "run-1/k")
	}
	assert.Equal(t, []string{"run-1/k"}, open(t, b.process()))
	answer(t, b.process(), "run-1/k", "gladly")
	result, err := openTools(t, feedback.ToolConfig{Inbox: b.process().For, Leave: leaving}).call(t.Context(), feedback.AskTool, "k", ask)
	require.NoError(t, err)
	assert.Equal(t, "gladly", result.Text())
}

func TestAModelIsToldThatNobodyAnswered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := openTools(t, feedback.ToolConfig{Inbox: b.process().For, Leave: func(agent.Scope) bool { return true }})
	ask := args{"message_for_user": "Ship it?", "unique_id": "u"}
	_, err := s.call(t.Context(), feedback.AskTool, "k", ask)
	require.ErrorAs(t, err, new(*agent.SuspendError))
	b.clock.pass(5 * time.Minute)
	result, err := s.call(t.Context(), feedback.AskTool, "k", ask)
	require.NoError(t, err)
	assert.True(t, result.IsError)
	assert.Contains(t, result.Text(), "no_answer: question run-1/k expired at 2026-03-14T12:05:00Z")
	_, err = b.process().Answer(t.Context(), "run-1/k", feedback.Answer{Value: "late"})
	require.ErrorAs(t, err, new(*feedback.ExpiredError), "what the model was told stands")
}

func TestAModelSeesAHandleInThePlaceOfASecret(t *testing.T) {
	t.Parallel()
	const code = "code-582491"
	b := setup(t)
	in := b.process()
	kept := map[string]string{}
	s := openTools(t, feedback.ToolConfig{Inbox: in.For, KeepSecret: func(_ context.Context, scope agent.Scope, id, value string) (string, error) {
		assert.Equal(t, "ship", scope.Step)
		kept[id] = value
		return "[secret:code]", nil
	}})
	var result *agent.ToolResult
	var wg sync.WaitGroup
	wg.Go(func() {
		var err error
		result, err = s.call(t.Context(), feedback.AskTool, "k", args{"message_for_user": "Which code?", "unique_id": "u", "secret": true})
		assert.NoError(t, err)
	})
	for e, err := range in.Follow(t.Context(), feedback.Filter{}) {
		require.NoError(t, err)
		answer(t, in, e.ID, code)
		break
	}
	wg.Wait()
	assert.Contains(t, result.Text(), "[secret:code]")
	assert.NotContains(t, result.Text(), code)
	assert.Equal(t, map[string]string{"run-1/k": code}, kept)
	assert.NotContains(t, everything(t, b.st), code)
}

func TestWithoutAKeeperNoSecretIsAskedFor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := openTools(t, feedback.ToolConfig{Inbox: b.process().For})
	assert.NotContains(t, string(s.tools[feedback.AskTool].Spec().InputSchema), "secret")
	result, err := s.call(t.Context(), feedback.AskTool, "k", args{"message_for_user": "Which code?", "unique_id": "u", "secret": true})
	require.NoError(t, err)
	assert.Contains(t, result.Text(), "secret_not_possible")
	assert.Empty(t, open(t, b.process()))
}

func TestANotificationOfAModelGoesToTheChannelsOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	slack, mail := &feedbacktest.Notifier{}, &feedbacktest.Notifier{}
	channels := feedback.Channels{{Name: "slack", Notifier: slack}, {Name: "mail", Notifier: mail}}
	for range 2 {
		s := openTools(t, feedback.ToolConfig{Inbox: b.process(through(channels)).For})
		result, err := s.call(t.Context(), feedback.NotifyTool, "k", args{
			"message_for_user": "Done.", "kind": "run_summary", "slack_title": "A run", "color": "success",
			"fields": []args{{"title": "Files", "value": "12"}}, "sections": []args{{"text": "All went well."}}, "footer": "Bye.",
			"email_subject": "Done", "email_body": "All is done.", "email_html": "<p>All</p>",
			"exclude_channels": []string{"mail"}, "block_recipients": []string{"ben"},
		})
		require.NoError(t, err)
		var receipt feedback.Receipt
		require.NoError(t, json.Unmarshal(result.Structured, &receipt))
		assert.Equal(t, feedback.Delivered, receipt.Status)
	}
	assert.Empty(t, mail.Sent())
	assert.Equal(t, []feedback.Notification{{
		Key: "run-1/k", Kind: feedback.NoticeRun, RunID: "run-1", Run: "iteration-1/production", Group: "production", Step: "ship",
		Title: "A run", Text: "Done.", Color: feedback.Success,
		Fields: []feedback.Field{{Title: "Files", Value: "12"}}, Sections: []feedback.Section{{Text: "All went well."}}, Footer: "Bye.",
		Email:           &feedback.Email{Subject: "Done", Body: "All is done.", HTML: "<p>All</p>"},
		ExcludeChannels: []string{"mail"}, BlockRecipients: []string{"ben"},
	}}, slack.Sent())
}

func TestHelpersAskForOneKindOfAnswer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.clock = &clock{at: time.Now()}
	person := &feedbacktest.Person{Name: "ann", Rules: []feedbacktest.Rule{
		{About: "approve", Say: "Approved."}, {About: "plan", Say: "Use fewer steps"}, {About: "now", Say: "n"}, {About: "Where", Say: "2"}, {About: "code", Say: "4711"}, {About: "name", Say: "Treadle"},
	}}
	in := b.process()
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { assert.ErrorIs(t, person.Run(ctx, in), context.Canceled) })
	asker := &feedback.Asker{Inbox: in}
	of := func(key, text string, options ...string) *feedback.Question {
		q := question(key)
		q.Text, q.Options = text, options
		return q
	}
	approved, remarks, err := asker.Approval(t.Context(), of("1", "Do you approve?"))
	require.NoError(t, err)
	assert.True(t, approved)
	assert.Empty(t, remarks)
	approved, remarks, err = asker.Approval(t.Context(), of("2", "Is the plan good?"))
	require.NoError(t, err)
	assert.False(t, approved)
	assert.Equal(t, "Use fewer steps", remarks)
	yes, err := asker.YesNo(t.Context(), of("3", "Ship now?", "Ship", "Wait"))
	require.NoError(t, err)
	assert.False(t, yes)
	place, err := asker.Choice(t.Context(), of("4", "Where to?", "here", "there"))
	require.NoError(t, err)
	assert.Equal(t, 1, place)
	code, err := asker.Secret(t.Context(), of("5", "Which code?"))
	require.NoError(t, err)
	assert.Equal(t, "4711", code)
	name, err := asker.Text(t.Context(), of("6", "Which name?"))
	require.NoError(t, err)
	assert.Equal(t, "Treadle", name)
	stop()
	wg.Wait()
	e := get(t, in, "run-1/6")
	assert.Equal(t, feedback.DefaultAskTimeout, e.Deadline.Sub(e.AskedAt))
	assert.Equal(t, "ann", e.Answer.By)
}
