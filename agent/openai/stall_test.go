package openai_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
)

// paced is a transport whose reply comes byte by byte, each after a pause, and then
// is silent for good.
type paced struct {
	data   string
	pause  time.Duration
	header time.Duration // before the response begins
}

func (p paced) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := pause(req.Context(), p.header); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{}, Request: req,
		Body: io.NopCloser(&pacedBody{paced: p, ctx: req.Context()}),
	}, nil
}

type pacedBody struct {
	paced
	ctx context.Context
}

func (b *pacedBody) Read(p []byte) (int, error) {
	if b.data == "" {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	if err := pause(b.ctx, b.pause); err != nil {
		return 0, err
	}
	n := copy(p[:1], b.data)
	b.data = b.data[n:]
	return n, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const someText = `data: {"id":"x","choices":[{"index":0,"delta":{"content":"some"}}]}` + "\n\n"

func TestAStreamThatFallsSilentIsStalled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := over(t, paced{data: someText}).Generate(t.Context(), ask(), discard)
		failure := failureOf(t, err)
		assert.ErrorIs(t, err, agent.ErrReplyStalled)
		assert.True(t, failure.Retryable)
		assert.Equal(t, 2*time.Minute, time.Since(start))
		require.NotNil(t, failure.Partial)
		assert.Equal(t, "some", failure.Partial.Message.ContentText())
	})
}

func TestAStreamThatIsCompleteNeedsNoEnd(t *testing.T) {
	t.Parallel()
	const end = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	synctest.Test(t, func(t *testing.T) {
		resp, err := over(t, paced{data: someText + end}).Generate(t.Context(), ask(), discard)
		require.NoError(t, err)
		assert.Equal(t, "some", resp.Message.ContentText())
		assert.Equal(t, agent.Usage{}, resp.Usage)
	})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := over(t, paced{data: someText + end + "data: [DONE]\n\n"}).Generate(t.Context(), ask(), discard)
		require.NoError(t, err)
		assert.Less(t, time.Since(start), time.Second, "nothing is awaited after [DONE]")
	})
}

func TestAStreamOfAByteAMinuteEndsAtTheRequestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		_, err := over(t, paced{data: someText, pause: time.Minute}).Generate(t.Context(), ask(), discard)
		assert.ErrorIs(t, err, agent.ErrReplyTimeout)
		assert.True(t, failureOf(t, err).Retryable)
		assert.Equal(t, 10*time.Minute, time.Since(start))
	})
}

func TestAServerThatNeverAnswersEndsAtTheRequestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		llm := over(t, paced{header: time.Hour}, func(c *openai.Config) { c.RequestTimeout = time.Minute })
		_, err := llm.Generate(t.Context(), ask(), nil)
		assert.ErrorIs(t, err, agent.ErrReplyTimeout)
	})
}

func TestTheCallersDeadlineIsNoTimeoutOfTheBackend(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := over(t, paced{data: someText}).Generate(ctx, ask(), discard)
		assert.ErrorIs(t, err, context.DeadlineExceeded)
		assert.NotErrorIs(t, err, agent.ErrReplyTimeout)
		assert.False(t, failureOf(t, err).Retryable)
	})
}

func TestASlowSinkIsNoSilence(t *testing.T) {
	t.Parallel()
	const end = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	synctest.Test(t, func(t *testing.T) {
		_, err := over(t, paced{data: someText + end + "data: [DONE]\n\n"}).Generate(t.Context(), ask(), func(agent.Delta) {
			time.Sleep(5 * time.Minute) // virtual time
		})
		require.NoError(t, err)
	})
}

func TestAReplyOverTheLimitIsRefused(t *testing.T) {
	t.Parallel()
	llm := over(t, &canned{body: bodyOf([]byte(someText + someText + someText))}, func(c *openai.Config) { c.MaxReplyBytes = 100 })
	_, err := llm.Generate(t.Context(), ask(), discard)
	assert.ErrorIs(t, err, agent.ErrReplyTooLarge)
	assert.False(t, failureOf(t, err).Retryable)
}
