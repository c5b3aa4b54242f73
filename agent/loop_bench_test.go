//go:build unix

package agent_test

import (
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/internal/journal"
	"github.com/treadle-dev/treadle/workspace"
)

// turns answers with a tool call until it has been called n times.
type turns struct {
	left  int
	call  agent.Response
	final agent.Response
}

func (m *turns) Generate(context.Context, *agent.Request, agent.Sink) (*agent.Response, error) {
	m.left--
	response := m.call
	if m.left < 0 {
		response = m.final
	}
	return &response, nil
}

// A turn is one reply with one tool call and its result. The conversation has 200
// turns, so that a cost that grows with it would show.
func BenchmarkTurn(b *testing.B) {
	const perRun = 200
	call := agenttest.Call("read", map[string]any{"path": "inputs/invoice-17.csv", "limit": 100}).Response
	call.Finish, call.ID, call.Model = agent.FinishToolCalls, "chatcmpl-1", "m-2026"
	final := agenttest.Reply("done").Response
	final.Finish = agent.FinishStop
	tool := &agenttest.Tool{
		Name: "read", Effect: agent.ReadOnly,
		Schema: `{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1}},"required":["path"],"additionalProperties":false}`,
		Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
			return agent.TextResult("number,total\n17,120.50\n"), nil
		},
	}
	for _, kind := range []string{"Mem", "none"} {
		b.Run("journal="+kind, func(b *testing.B) {
			b.ReportAllocs()
			began, done := cpuTime(), 0
			for run := 0; done < b.N; run++ {
				loop := agent.Loop{
					LLM: &turns{left: min(perRun, b.N-done), call: call, final: final}, Tools: []agent.Tool{tool},
					Request: agent.Request{Model: "m"}, MaxTurns: perRun + 1,
				}
				if kind == "Mem" {
					j, err := journal.Open(b.Context(), workspace.NewMem(), "journal.jsonl", journal.Options{})
					require.NoError(b, err)
					loop.Journal = j.Under(fmt.Sprintf("s/visit/%d/attempt/1", run))
				}
				result, err := loop.Run(b.Context(), asked("go"))
				require.NoError(b, err)
				done += result.ToolCalls
			}
			b.ReportMetric(float64((cpuTime()-began).Nanoseconds())/float64(b.N), "cpu-ns/turn")
		})
	}
}

// cpuTime is what this process has used, so that a busy machine does not count.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
