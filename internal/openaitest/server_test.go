package openaitest_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/internal/openaitest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func hello(openaitest.Request) openaitest.Reply { return openaitest.Text("hello there, friend", 12, 4) }

func post(t *testing.T, s *openaitest.Server, body string) (int, string, error) {
	t.Helper()
	resp, err := s.Client().Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(body))
	require.NoError(t, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data), err
}

const ask = `{"model":"m","messages":[{"role":"user","content":"hi"}]}`

func TestAReplyIsSentWholeOrAsAStream(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, hello)
	status, body, err := post(t, s, ask)
	require.NoError(t, err)
	require.Equal(t, 200, status)
	var whole struct {
		Choices []struct {
			Message      struct{ Content string }
			FinishReason string `json:"finish_reason"`
		}
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(body), &whole))
	assert.Equal(t, "hello there, friend", whole.Choices[0].Message.Content)
	assert.Equal(t, "stop", whole.Choices[0].FinishReason)
	assert.Equal(t, 16, whole.Usage.Total)

	_, stream, err := post(t, s, strings.Replace(ask, "{", `{"stream":true,"stream_options":{"include_usage":true},`, 1))
	require.NoError(t, err)
	lines, text := bufio.NewScanner(strings.NewReader(stream)), ""
	for lines.Scan() {
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: {"); ok {
			require.NoError(t, json.Unmarshal([]byte("{"+data), &chunk))
			for _, c := range chunk.Choices {
				text += c.Delta.Content
			}
		}
	}
	assert.Equal(t, "hello there, friend", text)
	assert.Contains(t, stream, `"total_tokens":16`)
	assert.True(t, strings.HasSuffix(stream, "data: [DONE]\n\n"))
}

func TestAStreamCarriesUsageOnlyWhenAsked(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, hello)
	_, stream, err := post(t, s, strings.Replace(ask, "{", `{"stream":true,`, 1))
	require.NoError(t, err)
	assert.NotContains(t, stream, "usage")
}

func TestTheUsageLogHoldsWhatWasReported(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply {
		return openaitest.Reply{Content: "x", Usage: &openaitest.Usage{Prompt: 9, Completion: 3, Cached: openaitest.Tokens(0)}}
	})
	_, _, err := post(t, s, ask)
	require.NoError(t, err)
	require.Len(t, s.Calls(), 1)
	call := s.Calls()[0]
	assert.Equal(t, "m", call.Model)
	assert.Equal(t, openaitest.Tokens(9), call.Prompt)
	assert.Equal(t, openaitest.Tokens(0), call.Cached)
	assert.Nil(t, call.Reasoning)
	assert.NotEmpty(t, call.RequestID)
}

func TestRequestsThatOpenAIRefusesAreRefused(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, hello)
	call := `{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]}`
	for name, body := range map[string]string{
		"no JSON":                  `{`,
		"no model":                 `{"messages":[{"role":"user","content":"hi"}]}`,
		"no messages":              `{"model":"m","messages":[]}`,
		"a null field":             `{"model":"m","temperature":null,"messages":[{"role":"user","content":"hi"}]}`,
		"an unknown role":          `{"model":"m","messages":[{"role":"boss","content":"hi"}]}`,
		"null content":             `{"model":"m","messages":[{"role":"user","content":null}]}`,
		"an orphan tool message":   `{"model":"m","messages":[{"role":"tool","tool_call_id":"c1","content":"x"}]}`,
		"an unanswered call":       `{"model":"m","messages":[` + call + `,{"role":"user","content":"hi"}]}`,
		"a call left open":         `{"model":"m","messages":[` + call + `]}`,
		"an answer to another":     `{"model":"m","messages":[` + call + `,{"role":"tool","tool_call_id":"c2","content":"x"}]}`,
		"broken arguments":         `{"model":"m","messages":[` + strings.Replace(call, `"{}"`, `"{"`, 1) + `]}`,
		"a bad call name":          `{"model":"m","messages":[` + strings.Replace(call, `"f"`, `"f g"`, 1) + `]}`,
		"a bad tool name":          `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"a.b"}}]}`,
		"a schema of no object":    `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"string"}}}]}`,
		"an empty tool list":       `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[]}`,
		"the same tool twice":      `{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]}`,
		"stream options alone":     `{"model":"m","stream_options":{},"messages":[{"role":"user","content":"hi"}]}`,
		"parallel without tools":   `{"model":"m","parallel_tool_calls":false,"messages":[{"role":"user","content":"hi"}]}`,
		"an image in a tool reply": `{"model":"m","messages":[` + call + `,{"role":"tool","tool_call_id":"c1","content":[{"type":"image_url"}]}]}`,
	} {
		status, answer, err := post(t, s, body)
		require.NoError(t, err)
		assert.Equal(t, 400, status, name)
		assert.Contains(t, answer, `"invalid_request_error"`, name)
	}
	assert.Empty(t, s.Requests())
	assert.Empty(t, s.Calls())
}

func TestAnAnsweredCallIsAccepted(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(r openaitest.Request) openaitest.Reply {
		require.Len(t, r.Results(), 2)
		return openaitest.Text(r.Results()[1].Content, 1, 1)
	})
	status, body, err := post(t, s, `{"model":"m","messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":"","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}},
			{"id":"c2","type":"function","function":{"name":"f","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c2","content":"two"},{"role":"tool","tool_call_id":"c1","content":"one"}]}`)
	require.NoError(t, err)
	assert.Equal(t, 200, status)
	assert.Contains(t, body, `"content":"one"`)
}

func TestAWrongKeyIsRefused(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, hello)
	s.Key = "right"
	status, body, err := post(t, s, ask)
	require.NoError(t, err)
	assert.Equal(t, 401, status)
	assert.Contains(t, body, "invalid_api_key")
}

func TestACutReplyBreaksTheConnection(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply {
		return openaitest.Reply{Content: "a long enough text", CutAfter: 20, Usage: &openaitest.Usage{Prompt: 1, Completion: 1}}
	})
	_, body, err := post(t, s, ask)
	assert.ErrorIs(t, err, io.ErrUnexpectedEOF)
	assert.Len(t, body, 20)
	assert.True(t, s.Calls()[0].Cut)
}

func TestCloseEndsAReplyThatHangs(t *testing.T) {
	t.Parallel()
	started := make(chan struct{})
	s, err := openaitest.New(func(openaitest.Request) openaitest.Reply {
		close(started)
		return openaitest.Reply{Delay: time.Hour}
	})
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		resp, err := s.Client().Post(s.URL()+"/chat/completions", "application/json", strings.NewReader(ask))
		if err == nil {
			resp.Body.Close()
		}
		ended <- err
	}()
	<-started
	s.Close()
	require.Error(t, <-ended)
}

func TestAnErrorReplyHasTheFormOfOpenAI(t *testing.T) {
	t.Parallel()
	s := openaitest.Start(t, func(openaitest.Request) openaitest.Reply {
		return openaitest.Reply{Status: http.StatusTooManyRequests, Code: "rate_limit_exceeded", Message: "slow down", RetryAfter: "2"}
	})
	status, body, err := post(t, s, ask)
	require.NoError(t, err)
	assert.Equal(t, 429, status)
	assert.JSONEq(t, `{"error":{"message":"slow down","type":"error","param":null,"code":"rate_limit_exceeded"}}`, body)
	assert.Empty(t, s.Calls(), "nothing was used")
}
