package workflow_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

// noopType is a step type of a host that does nothing.
func noopType() *workflow.StepType {
	return &workflow.StepType{
		Name:    "noop",
		Execute: func(*workflow.StepContext) (*workflow.Outcome, error) { return nil, nil },
	}
}

// chain is a plan of n steps of a type, one after the other.
func chain(n int, stepType string) []byte {
	var b strings.Builder
	b.WriteString(`{"steps":[`)
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":"step-%d","type":%q,"title":"Step number %d","description":"Do the work of step %d."}`, i+1, stepType, i+1, i+1)
	}
	b.WriteString(`]}`)
	return []byte(b.String())
}

func compiled(tb testing.TB, plan []byte) *workflow.Program {
	tb.Helper()
	program, ds := workflow.Compile(&workflow.Source{Plan: plan}, &workflow.CompileOptions{StepTypes: []*workflow.StepType{noopType()}})
	require.NoError(tb, ds.Err())
	return program
}

// BenchmarkNoopChain runs chains of no-op steps through a controller on memory,
// with journal, events and metadata.
func BenchmarkNoopChain(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("Mem/%d", n), func(b *testing.B) {
			program := compiled(b, chain(n, "noop"))
			ctl, err := workflow.NewController(workflow.Config{StepTypes: []*workflow.StepType{noopType()}})
			require.NoError(b, err)
			for b.Loop() {
				_, err := ctl.Run(context.Background(), workspace.New(workspace.NewMem()), &workflow.RunOptions{Program: program})
				require.NoError(b, err)
			}
			perStep(b, n)
		})
	}
}

// BenchmarkRegularChain runs regular steps with a model that answers at once, on
// memory, with all logs.
func BenchmarkRegularChain(b *testing.B) {
	for _, n := range []int{10, 100, 1_000} {
		b.Run(fmt.Sprintf("Mem/%d", n), func(b *testing.B) {
			program := compiled(b, chain(n, "regular"))
			reply := agenttest.Reply("Done.").Response
			reply.Message.Role = agent.RoleAssistant
			model := instantModel{&reply}
			ctl, err := workflow.NewController(workflow.Config{Models: agent.Single(model)})
			require.NoError(b, err)
			for b.Loop() {
				_, err := ctl.Run(context.Background(), workspace.New(workspace.NewMem()), &workflow.RunOptions{Program: program})
				require.NoError(b, err)
			}
			perStep(b, n)
		})
	}
}

type instantModel struct{ response *agent.Response }

func (m instantModel) Generate(context.Context, *agent.Request, agent.Sink) (*agent.Response, error) {
	return m.response, nil
}

// BenchmarkDurable compares a durable no-op step on the disk with a bare append
// and sync of the same bytes, taken in turn, and reports the median of the ratios.
func BenchmarkDurable(b *testing.B) {
	const n = 1_000
	program := compiled(b, chain(n, "noop"))
	ctl, err := workflow.NewController(workflow.Config{StepTypes: []*workflow.StepType{noopType()}})
	require.NoError(b, err)
	lines := journalLines(b, ctl, program)
	var step, bare time.Duration
	var ratios []float64
	for b.Loop() {
		took := durableRun(b, ctl, program)
		base := bareAppends(b, lines)
		step, bare = step+took, bare+base
		ratios = append(ratios, float64(took)/float64(base))
	}
	slices.Sort(ratios)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(step.Nanoseconds())/float64(b.N*n), "ns/step")
	b.ReportMetric(float64(bare.Nanoseconds())/float64(b.N*len(lines)), "ns/bare-append")
	b.ReportMetric(ratios[len(ratios)/2], "ratio")
}

func durableRun(b *testing.B, ctl *workflow.Controller, program *workflow.Program) time.Duration {
	b.Helper()
	ws, err := workspace.OpenDir(b.TempDir())
	require.NoError(b, err)
	began := time.Now()
	_, err = ctl.Run(context.Background(), ws, &workflow.RunOptions{Program: program})
	took := time.Since(began)
	require.NoError(b, err)
	require.NoError(b, ws.Close())
	return took
}

func bareAppends(b *testing.B, lines [][]byte) time.Duration {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	require.NoError(b, err)
	began := time.Now()
	for _, line := range lines {
		_, err := f.Write(line)
		require.NoError(b, err)
		require.NoError(b, f.Sync())
	}
	took := time.Since(began)
	require.NoError(b, f.Close())
	return took
}

// journalLines is what a run of the program appends, record by record.
func journalLines(tb testing.TB, ctl *workflow.Controller, program *workflow.Program) [][]byte {
	tb.Helper()
	ws := workspace.New(workspace.NewMem())
	_, err := ctl.Run(context.Background(), ws, &workflow.RunOptions{Program: program})
	require.NoError(tb, err)
	data, err := ws.Storage().ReadFile(context.Background(), workspace.RunLayout("iteration-1").Journal())
	require.NoError(tb, err)
	var lines [][]byte
	for line := range strings.SplitAfterSeq(string(data), "\n") {
		if strings.Contains(line, `"kind":"outcome"`) {
			lines = append(lines, []byte(line))
		}
	}
	return lines
}

// BenchmarkCompile compiles a plan of regular steps.
func BenchmarkCompile(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			src := &workflow.Source{Plan: chain(n, "regular")}
			for b.Loop() {
				_, ds := workflow.Compile(src, nil)
				require.NoError(b, ds.Err())
			}
		})
	}
}

func perStep(b *testing.B, steps int) {
	b.Helper()
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(steps), "ns/step")
}
