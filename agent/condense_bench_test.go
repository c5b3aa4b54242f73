package agent_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// The claim: with reported usage the decision costs the same however long the
// conversation is, and far less than a microsecond.
func BenchmarkPlanOf200TurnsThatFit(b *testing.B) {
	conv := conversation(200, 400)
	c := &agent.Condenser{}
	for name, reported := range map[string]int64{"usage known": 30_000, "usage unknown": 0} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := c.Plan(conv, 128_000, reported); ok {
					b.Fatal("it fits")
				}
			}
		})
	}
}

func BenchmarkOffloadOfAResult(b *testing.B) {
	for name, text := range map[string]string{"small": strings.Repeat("x", 4000), "5 MB of one-line JSON": oneLineJSON(50_000)} {
		b.Run(name, func(b *testing.B) {
			o := &agent.Offload{Storage: workspace.NewMem()}
			result := agent.TextResult(text)
			b.ReportAllocs()
			for b.Loop() {
				_, err := o.Result(b.Context(), "k", result)
				require.NoError(b, err)
			}
		})
	}
}
