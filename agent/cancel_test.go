package agent_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// A run of several turns, retries, parallel tools, a fallback and a meter is
// cancelled at some second. From then on nothing starts, everything ends at once,
// no goroutine is left (synctest fails otherwise), and the next process goes on
// without doing anything recorded again.
func TestACancelAtAnyPointStopsEverythingAndLosesNothing(t *testing.T) {
	t.Parallel()
	eachJournal(t, func(t *testing.T, restart func() process) {
		n := 0
		rapid.Check(t, func(rt *rapid.T) {
			n++
			at := time.Duration(rapid.IntRange(0, 40).Draw(rt, "seconds"))*time.Second + time.Millisecond
			name := time.Duration(n).String()
			synctest.Test(t, func(t *testing.T) {
				w := &world{t: t, done: map[string]int{}}
				ctx, cancel := context.WithCancel(t.Context())
				w.ctx = ctx
				time.AfterFunc(at, cancel)
				loop := w.loop(under(restart(), name))
				began := time.Now()
				_, err := loop.Run(ctx, asked("go"))
				if err != nil {
					require.ErrorIs(t, err, context.Canceled)
					assert.LessOrEqual(t, time.Since(began), at)
				}
				cancel()
				assert.Zero(t, loop.Meter.(*agent.TokenMeter).Reserved())

				w.ctx = t.Context()
				loop = w.loop(under(restart(), name))
				result, err := loop.Run(t.Context(), asked("go"))
				require.NoError(t, err)
				assert.Equal(t, "done", result.Final.ContentText())
				assert.Equal(t, 4, result.Turns)
				for key, times := range w.done {
					assert.Equal(t, 1, times, key)
				}
				assert.Len(t, w.done, 9)
			})
		})
	})
}

// world is a model and tools that take a second each and count what they did.
type world struct {
	t    *testing.T
	ctx  context.Context
	mu   sync.Mutex
	done map[string]int
}

func (w *world) work(ctx context.Context, key string) error {
	assert.NoError(w.t, w.ctx.Err(), "%s starts after the cancel", key)
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second):
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.done[key]++
	return nil
}

func (w *world) loop(j agent.Journal) agent.Loop {
	tool := &agenttest.Tool{Name: "work", Effect: agent.ReadOnly, Do: func(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
		return agent.TextResult("ok"), w.work(ctx, call.Key)
	}}
	tries := 0
	model := func(name string) *agenttest.Model {
		return &agenttest.Model{Respond: func(ctx context.Context, req *agent.Request) (*agent.Response, error) {
			if tries++; tries%2 == 1 && name == "first" {
				return nil, &agent.ModelError{StatusCode: 503, Retryable: true}
			}
			turn := 1 + (len(req.Messages)-1)/3
			if err := w.work(ctx, "turn/"+string(rune('0'+turn))); err != nil {
				return nil, errors.Join(&agent.ModelError{Message: "cut"}, err)
			}
			response := agenttest.Reply("done").Response
			if turn < 4 {
				response = agenttest.Calls(agenttest.ToolCall("work", nil), agenttest.ToolCall("work", nil)).Response
			}
			if turn == 3 {
				response = agenttest.Calls(agenttest.ToolCall("work", nil)).Response
				response.Message.ToolCalls = append(response.Message.ToolCalls, agent.ToolCall{Name: "gone"})
			}
			return &response, nil
		}}
	}
	return agent.Loop{
		LLM: model("first"), Fallbacks: []agent.Fallback{{LLM: model("second")}}, Tools: []agent.Tool{tool},
		Retry:   func(try int, _ error) (time.Duration, bool) { return time.Second, try < 2 },
		Journal: j, Meter: &agent.TokenMeter{}, MaxParallelTools: 1,
	}
}
