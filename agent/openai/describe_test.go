package openai_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
)

// lister is an endpoint on 127.0.0.1 with nothing but a list of models.
func lister(t *testing.T, provider string, answer http.HandlerFunc, models ...agent.ModelInfo) (*openai.LLM, *atomic.Int32) {
	t.Helper()
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" {
			http.NotFound(w, r)
			return
		}
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	llm, err := openai.New(openai.Config{
		BaseURL: s.URL + "/v1", Provider: provider, Model: "default", Models: models, HTTPClient: &http.Client{Transport: transport},
	})
	require.NoError(t, err)
	return llm, &asked
}

func listing(entry string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"object":"list","data":[{"id":"other"},%s]}`, entry)
	}
}

func TestTheEndpointsListTellsWhatAModelCanTake(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		provider, entry string
		window, output  int64
	}{
		{"openrouter", `{"id":"m","context_length":200000,"top_provider":{"context_length":200000,"max_completion_tokens":64000}}`, 200000, 64000},
		{"openrouter", `{"id":"m","context_length":32768,"top_provider":{"max_completion_tokens":null}}`, 32768, 0},
		{"vllm", `{"id":"m","max_model_len":8192}`, 8192, 0},
		{"groq", `{"id":"m","context_window":131072,"max_completion_tokens":32768}`, 131072, 32768},
		{"mistral", `{"id":"m","max_context_length":128000,"capabilities":{}}`, 128000, 0},
		{"vllm", `{"id":"m","max_model_len":"many","top_provider":"x"}`, 0, 0},
		{"vllm", `{"id":"m","max_model_len":-1}`, 0, 0},
		{"vllm", `{"id":"m"}`, 0, 0},
	} {
		llm, asked := lister(t, c.provider, listing(c.entry))
		for range 3 {
			info, err := llm.Describe(t.Context(), "m")
			require.NoError(t, err)
			assert.Equal(t, agent.ModelInfo{Model: "m", ContextWindow: c.window, MaxOutputTokens: c.output}, info, c.entry)
		}
		info, err := llm.Describe(t.Context(), "")
		require.NoError(t, err)
		assert.Equal(t, agent.ModelInfo{Model: "default"}, info)
		assert.Equal(t, int32(1), asked.Load(), "the list is asked for once")
	}
}

func TestAnEndpointThatIsNotKnownToTellIsNotAsked(t *testing.T) {
	t.Parallel()
	for _, provider := range []string{"", "openai", "deepseek", "gemini", "ollama", "litellm"} {
		llm, asked := lister(t, provider, listing(`{"id":"m","context_length":1}`))
		info, err := llm.Describe(t.Context(), "m")
		require.NoError(t, err)
		assert.Equal(t, agent.ModelInfo{Model: "m"}, info)
		assert.Zero(t, asked.Load())
	}
}

func TestWhatTheHostSaysOfAModelWinsAndCostsNoRequest(t *testing.T) {
	t.Parallel()
	said := agent.ModelInfo{Model: "m", ContextWindow: 1000}
	llm, asked := lister(t, "vllm", listing(`{"id":"m","max_model_len":8192}`), said, agent.ModelInfo{Model: "default", MaxOutputTokens: 5})
	info, err := llm.Describe(t.Context(), "m")
	require.NoError(t, err)
	assert.Equal(t, said, info)
	info, err = llm.Describe(t.Context(), "")
	require.NoError(t, err)
	assert.Equal(t, int64(5), info.MaxOutputTokens)
	assert.Zero(t, asked.Load())

	for _, wrong := range []agent.ModelInfo{{}, {Model: "m", ContextWindow: -1}, {Model: "m", MaxOutputTokens: -1}} {
		_, err := openai.New(openai.Config{APIKey: "key", Models: []agent.ModelInfo{wrong}})
		assert.ErrorContains(t, err, "Models[0]")
	}
}

func TestManyWhoAskAtOnceCostOneRequest(t *testing.T) {
	t.Parallel()
	llm, asked := lister(t, "vllm", listing(`{"id":"m","max_model_len":8192}`))
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			info, err := llm.Describe(t.Context(), "m")
			assert.NoError(t, err)
			assert.Equal(t, int64(8192), info.ContextWindow)
		})
	}
	group.Wait()
	assert.Equal(t, int32(1), asked.Load())
}

// answering is a transport that counts what it is asked.
type answering struct {
	asked  atomic.Int32
	answer func(*http.Request) (*http.Response, error)
}

func (a *answering) RoundTrip(req *http.Request) (*http.Response, error) {
	a.asked.Add(1)
	return a.answer(req)
}

func TestAListThatCannotBeHadMeansUnknownAndIsNotAskedForAgainForAWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := &answering{answer: func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusServiceUnavailable, Header: http.Header{}, Request: req, Body: bodyOf([]byte(`{"error":{"message":"no list today"}}`))()}, nil
		}}
		llm := over(t, transport, func(c *openai.Config) { c.Provider = "groq" })
		for range 3 {
			info, err := llm.Describe(t.Context(), "m")
			assert.Equal(t, 503, failureOf(t, err).StatusCode)
			assert.Equal(t, agent.ModelInfo{Model: "m"}, info)
		}
		assert.Equal(t, int32(1), transport.asked.Load())
		time.Sleep(5 * time.Minute)
		transport.answer = func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, Body: bodyOf([]byte(`{"data":[{"id":"m","context_window":10}]}`))()}, nil
		}
		info, err := llm.Describe(t.Context(), "m")
		require.NoError(t, err)
		assert.Equal(t, int64(10), info.ContextWindow)
		assert.Equal(t, int32(2), transport.asked.Load())
	})
}

func TestAnEndpointThatDoesNotAnswerHoldsADescriptionForTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		llm := over(t, paced{header: time.Hour}, func(c *openai.Config) { c.Provider = "openrouter" })
		start := time.Now()
		_, err := llm.Describe(t.Context(), "m")
		assert.ErrorIs(t, err, agent.ErrReplyTimeout)
		assert.Equal(t, 10*time.Second, time.Since(start))

		_, err = llm.Describe(t.Context(), "m")
		assert.ErrorIs(t, err, agent.ErrReplyTimeout)
		assert.Equal(t, 10*time.Second, time.Since(start), "it is not asked again")
	})
}

func TestACallerThatLeavesSaysNothingOfTheEndpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		transport := &answering{answer: paced{header: time.Hour}.RoundTrip}
		llm := over(t, transport, func(c *openai.Config) { c.Provider = "vllm" })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := llm.Describe(ctx, "m")
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		transport.answer = func(req *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: req, Body: bodyOf([]byte(`{"data":[{"id":"m","max_model_len":10}]}`))()}, nil
		}
		info, err := llm.Describe(t.Context(), "m")
		require.NoError(t, err)
		assert.Equal(t, int64(10), info.ContextWindow)
	})
}
