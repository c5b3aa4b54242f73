package agenttest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

func asking(text string) *agent.Request {
	return &agent.Request{Model: "m", Messages: []agent.Message{agent.SystemMessage("Be brief."), agent.UserMessage(text)}}
}

// recordTo records what do asks of the model, and returns the file's text.
func recordTo(t *testing.T, cfg agenttest.RecorderConfig, do func(llm agent.LLM)) string {
	t.Helper()
	r, err := agenttest.OpenRecorder(cfg)
	require.NoError(t, err)
	do(r)
	require.NoError(t, r.Close())
	require.NoError(t, r.Close(), "a second Close does nothing")
	data, err := os.ReadFile(cfg.File)
	require.NoError(t, err)
	return string(data)
}

func replayFrom(t *testing.T, cfg agenttest.RecorderConfig) *agenttest.Recorder {
	t.Helper()
	cfg.LLM = nil
	r, err := agenttest.OpenRecorder(cfg)
	require.NoError(t, err)
	return r
}

func echo() *agenttest.Model {
	return &agenttest.Model{Respond: func(_ context.Context, req *agent.Request) (*agent.Response, error) {
		last := req.Messages[len(req.Messages)-1]
		return &agent.Response{ID: "id-1", Message: agent.AssistantMessage("echo " + last.ContentText()), Usage: agent.Usage{Input: agent.Tokens(0)}}, nil
	}}
}

func TestAReplayGivesWhatWasRecorded(t *testing.T) {
	t.Parallel()
	cfg := agenttest.RecorderConfig{File: filepath.Join(t.TempDir(), "deep", "calls.jsonl")}
	model := agenttest.New(t, agenttest.Reply("first"), agenttest.Call("look_up", map[string]any{"z": 1, "a": "<b>"}), agenttest.Reply("again"))
	var live []*agent.Response
	var told []string
	cfg.LLM = model
	recordTo(t, cfg, func(llm agent.LLM) {
		for _, ask := range []string{"one", "two", "one"} {
			resp, err := llm.Generate(t.Context(), asking(ask), func(d agent.Delta) { told = append(told, d.Text) })
			require.NoError(t, err)
			live = append(live, resp)
		}
	})
	r := replayFrom(t, cfg)
	var retold []string
	for i, ask := range []string{"one", "two", "one"} {
		resp, err := r.Generate(t.Context(), asking(ask), func(d agent.Delta) { retold = append(retold, d.Text) })
		require.NoError(t, err)
		want, err := json.Marshal(live[i])
		require.NoError(t, err)
		got, err := json.Marshal(resp)
		require.NoError(t, err)
		assert.Equal(t, string(want), string(got), "also the form of arguments")
	}
	assert.Equal(t, []string{"first", "again"}, told)
	assert.Equal(t, []string{"first", "", "again"}, retold, "a call that the backend did not tell is told all the same")
	require.NoError(t, r.Close())
}

func TestAReplayKnowsRequestsByWhatTheyAskAndNotByTheirOrder(t *testing.T) {
	t.Parallel()
	cfg := agenttest.RecorderConfig{File: filepath.Join(t.TempDir(), "calls.jsonl"), LLM: echo()}
	ask := func(llm agent.LLM) {
		var wg sync.WaitGroup
		for i := range 32 {
			wg.Go(func() {
				resp, err := llm.Generate(t.Context(), asking(fmt.Sprint(i)), nil)
				if assert.NoError(t, err) {
					assert.Equal(t, fmt.Sprintf("echo %d", i), resp.Message.ContentText())
				}
			})
		}
		wg.Wait()
	}
	recordTo(t, cfg, ask)
	r := replayFrom(t, cfg)
	ask(r)
	require.NoError(t, r.Close())
}

func TestAnUnexpectedRequestSaysWhatDiffers(t *testing.T) {
	t.Parallel()
	cfg := agenttest.RecorderConfig{File: filepath.Join(t.TempDir(), "calls.jsonl"), LLM: echo()}
	long := strings.Repeat("the same beginning ", 30)
	recordTo(t, cfg, func(llm agent.LLM) {
		for _, text := range []string{long + "and the old end", "something else"} {
			_, err := llm.Generate(t.Context(), asking(text), nil)
			require.NoError(t, err)
		}
	})
	r := replayFrom(t, cfg)
	req := asking(long + "and a new end")
	req.SerialTools = true
	_, err := r.Generate(t.Context(), req, nil)
	require.ErrorIs(t, err, agenttest.ErrNotRecorded)
	var unexpected *agenttest.UnexpectedRequestError
	require.ErrorAs(t, err, &unexpected)
	require.Len(t, unexpected.Differences, 2)
	assert.Contains(t, unexpected.Differences[0], "/messages/1/content/0/text: recorded ")
	assert.Contains(t, unexpected.Differences[0], "the old end")
	assert.Contains(t, unexpected.Differences[0], "a new end")
	assert.Less(t, len(unexpected.Differences[0]), 400)
	assert.Equal(t, "/serial_tools: not in the recording: true", unexpected.Differences[1])
	assert.ErrorIs(t, r.Close(), agenttest.ErrNotReplayed)

	r = replayFrom(t, cfg)
	req = asking("something else")
	req.Messages = append(req.Messages, agent.UserMessage("and more"))
	_, err = r.Generate(t.Context(), req, nil)
	assert.ErrorContains(t, err, "/messages/2: not in the recording")
	for _, text := range []string{long + "and the old end", "something else"} {
		_, err := r.Generate(t.Context(), asking(text), nil)
		require.NoError(t, err)
	}
	require.NoError(t, r.Close())
	_, err = r.Generate(t.Context(), asking("something else"), nil)
	assert.ErrorContains(t, err, "every recorded call has been made")
}

func TestNoSecretReachesTheFile(t *testing.T) {
	t.Parallel()
	const key, quoted = "sk-very-secret", "pa\"ss\\word"
	cfg := agenttest.RecorderConfig{
		File: filepath.Join(t.TempDir(), "calls.jsonl"),
		LLM: &agenttest.Model{Respond: func(_ context.Context, req *agent.Request) (*agent.Response, error) {
			if strings.Contains(req.Messages[1].ContentText(), "fail") {
				return nil, &agent.ModelError{StatusCode: 401, Message: "bad key " + key, Body: `{"key":"` + key + `"}`, Partial: &agent.Response{Message: agent.AssistantMessage(key)}}
			}
			return &agent.Response{Message: agent.AssistantMessage("you said " + key + quoted + " at 2026-11-30T17:00:00Z")}, nil
		}},
		Secrets: map[string]string{"KEY": key, "PASSWORD": quoted},
		Redact: func(text string) string {
			return regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`).ReplaceAllString(text, "<time>")
		},
	}
	text := recordTo(t, cfg, func(llm agent.LLM) {
		resp, err := llm.Generate(t.Context(), asking("it is 2026-11-30T16:00:00Z, my key is "+key+" "+quoted), func(agent.Delta) {})
		require.NoError(t, err)
		assert.Contains(t, resp.Message.ContentText(), key, "the caller gets the reply as it is")
		_, err = llm.Generate(t.Context(), asking("fail"), nil)
		require.Error(t, err)
	})
	assert.NotContains(t, text, key)
	assert.NotContains(t, text, "pa\\\"ss")
	assert.NotContains(t, text, "2026")
	assert.Contains(t, text, "[secret:KEY]")

	cfg.Secrets = map[string]string{"KEY": "another-key-today", "PASSWORD": quoted}
	r := replayFrom(t, cfg)
	resp, err := r.Generate(t.Context(), asking("it is 2027-01-01T00:00:00Z, my key is another-key-today "+quoted), nil)
	require.NoError(t, err, "other values, and another time, ask the same")
	assert.Contains(t, resp.Message.ContentText(), "[secret:KEY]")
}

func TestASecretThatIsCutByAStreamDoesNotReachTheFile(t *testing.T) {
	t.Parallel()
	cfg := agenttest.RecorderConfig{File: filepath.Join(t.TempDir(), "calls.jsonl"), LLM: piecewise{"sk-ver", "y-sec", "ret"}, Secrets: map[string]string{"KEY": "sk-very-secret"}}
	text := recordTo(t, cfg, func(llm agent.LLM) {
		_, err := llm.Generate(t.Context(), asking("x"), func(agent.Delta) {})
		require.NoError(t, err)
	})
	for _, piece := range []string{"sk-ver", "y-sec"} {
		assert.NotContains(t, text, piece)
	}
}

type piecewise []string

func (p piecewise) Generate(_ context.Context, _ *agent.Request, sink agent.Sink) (*agent.Response, error) {
	for _, piece := range p {
		sink(agent.Delta{Attempt: 1, Text: piece})
	}
	return &agent.Response{Message: agent.AssistantMessage(strings.Join(p, "")), Finish: agent.FinishStop}, nil
}

func (p piecewise) Describe(_ context.Context, model string) (agent.ModelInfo, error) {
	if model == "bad" {
		return agent.ModelInfo{}, errors.New("no such model")
	}
	return agent.ModelInfo{Model: model, ContextWindow: 1000}, nil
}

func TestErrorsAreReplayedAsTheyWere(t *testing.T) {
	t.Parallel()
	given := []error{
		&agent.ModelError{Provider: "p", Model: "m", StatusCode: 429, Code: "rate", Message: "slow down", RetryAfter: 2500 * time.Millisecond, Retryable: true, Body: "{}"},
		&agent.ModelError{Message: "gone", Retryable: true, Err: fmt.Errorf("read: %w", agent.ErrReplyCut), Partial: &agent.Response{Message: agent.AssistantMessage("half")}},
		&agent.ModelError{Err: agent.ErrReplyStalled},
		&agent.ModelError{Err: errors.New("no route to host")},
		errors.New("a plain error"),
	}
	var script []agenttest.Turn
	for _, err := range given {
		script = append(script, agenttest.Turn{Err: err})
	}
	cfg := agenttest.RecorderConfig{File: filepath.Join(t.TempDir(), "calls.jsonl"), LLM: agenttest.New(t, script...)}
	ask := func(llm agent.LLM) {
		for _, want := range given {
			_, err := llm.Generate(t.Context(), asking("x"), nil)
			require.EqualError(t, err, want.Error())
			for _, kind := range []error{agent.ErrReplyCut, agent.ErrReplyStalled, agent.ErrReplyEmpty} {
				assert.Equal(t, errors.Is(want, kind), errors.Is(err, kind), "%v is %v", err, kind)
			}
			var a, b *agent.ModelError
			require.Equal(t, errors.As(want, &a), errors.As(err, &b))
			if a != nil {
				x, y := *a, *b
				x.Err, y.Err = nil, nil
				assert.Equal(t, x, y)
			}
		}
	}
	recordTo(t, cfg, ask)
	r := replayFrom(t, cfg)
	ask(r)
	require.NoError(t, r.Close())
}

func TestACallThatTheCallerLeftIsNotRecorded(t *testing.T) {
	t.Parallel()
	cfg := agenttest.RecorderConfig{File: filepath.Join(t.TempDir(), "calls.jsonl"), LLM: &agenttest.Model{Respond: func(ctx context.Context, _ *agent.Request) (*agent.Response, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}}
	text := recordTo(t, cfg, func(llm agent.LLM) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := llm.Generate(ctx, asking("x"), nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
	assert.Equal(t, 1, strings.Count(text, "\n"))
}

func TestDescriptionsOfModelsAreRecorded(t *testing.T) {
	t.Parallel()
	cfg := agenttest.RecorderConfig{File: filepath.Join(t.TempDir(), "calls.jsonl"), LLM: piecewise{"x"}}
	recordTo(t, cfg, func(llm agent.LLM) {
		for range 2 {
			info, err := llm.(agent.Describer).Describe(t.Context(), "m")
			require.NoError(t, err)
			assert.EqualValues(t, 1000, info.ContextWindow)
		}
		_, err := llm.(agent.Describer).Describe(t.Context(), "bad")
		require.Error(t, err)
	})
	r := replayFrom(t, cfg)
	info, err := r.Describe(t.Context(), "m")
	require.NoError(t, err)
	assert.EqualValues(t, 1000, info.ContextWindow)
	info, err = r.Describe(t.Context(), "other")
	require.NoError(t, err)
	assert.Zero(t, info.ContextWindow, "unknown is zero")
}

func TestAnOldRecordingStaysUntilTheNewOneIsWhole(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	require.NoError(t, os.WriteFile(file, []byte("old"), 0o600))
	r, err := agenttest.OpenRecorder(agenttest.RecorderConfig{File: file, LLM: echo()})
	require.NoError(t, err)
	_, err = r.Generate(t.Context(), asking("x"), nil)
	require.NoError(t, err)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	assert.Equal(t, "old", string(data))
	require.NoError(t, r.Close())
	entries, err := os.ReadDir(filepath.Dir(file))
	require.NoError(t, err)
	assert.Len(t, entries, 1)
	_, err = r.Generate(t.Context(), asking("x"), nil)
	assert.ErrorContains(t, err, "closed")
}

func TestAFileThatIsNoRecordingIsRefusedWithItsLine(t *testing.T) {
	t.Parallel()
	_, err := agenttest.OpenRecorder(agenttest.RecorderConfig{})
	require.Error(t, err)
	file := filepath.Join(t.TempDir(), "calls.jsonl")
	_, err = agenttest.OpenRecorder(agenttest.RecorderConfig{File: file})
	require.ErrorContains(t, err, "record it first")
	for text, words := range map[string]string{
		"":                                 "no recording",
		"{}\n":                             "no recording",
		`{"treadle_recording":99}`:         "version",
		"{\"treadle_recording\":1}\n{oops": "line 2",
	} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, err := agenttest.OpenRecorder(agenttest.RecorderConfig{File: file})
		assert.ErrorContains(t, err, words, text)
	}
}
