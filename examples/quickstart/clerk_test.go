package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/examples/quickstart/internal/clerk"
	"github.com/treadle-dev/treadle/examples/quickstart/internal/messy"
	"github.com/treadle-dev/treadle/internal/nodetest"
)

// loopBundle plays single steps by agent.Loop alone, over the real server and with
// a prompt of the test's own: what the clerk does is proved without a workflow.
type loopBundle struct {
	dir   string
	tools []agent.Tool
	plan  map[string]string // description by step
}

func setupLoop(t *testing.T, seed uint64) *loopBundle {
	t.Helper()
	return setupLoopWith(t, seed, fileServer)
}

func setupLoopWith(t *testing.T, seed uint64, server func(dir string) (*mcp.Toolset, error)) *loopBundle {
	t.Helper()
	b := &loopBundle{dir: t.TempDir(), plan: map[string]string{}}
	require.NoError(t, place(b.dir, seed))
	files, err := server(b.dir)
	require.NoError(t, err)
	session, err := files.Open(t.Context(), agent.Scope{})
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, session.Close()) })
	b.tools, err = session.Tools(t.Context())
	require.NoError(t, err)

	data, err := os.ReadFile(filepath.Join("workspace", "planning", "plan.json"))
	require.NoError(t, err)
	var plan struct {
		Steps []struct{ ID, Description string }
	}
	require.NoError(t, json.Unmarshal(data, &plan))
	for _, s := range plan.Steps {
		b.plan[s.ID] = strings.NewReplacer("{{INVOICE_FOLDER}}", "inputs/invoices", "{{LEDGER}}", "inputs/ledger.csv").Replace(s.Description)
	}
	return b
}

func (b *loopBundle) conversation(step, output string, inputs ...string) *agent.Conversation {
	prompt := fmt.Sprintf("Step: %s\nWork folder: work/%s\nOutput file: %s\n\n%s\n\n## Inputs\n", step, step, output, b.plan[step])
	for _, in := range inputs {
		prompt += "- " + filepath.Join(b.dir, "work", in) + " (from step " + filepath.Dir(in) + ")\n"
	}
	return agent.NewConversation(agent.UserMessage(prompt))
}

func (b *loopBundle) play(t *testing.T, conv *agent.Conversation) *agent.Result {
	t.Helper()
	loop := agent.Loop{LLM: clerk.Model{}, Tools: b.tools, MaxTurns: 20}
	result, err := loop.Run(t.Context(), conv)
	require.NoError(t, err)
	require.NotContains(t, result.Final.ContentText(), "could not")
	return result
}

func (b *loopBundle) total(t *testing.T) any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(b.dir, "work", "normalise", "invoices.json"))
	require.NoError(t, err)
	var doc struct{ Invoices []struct{ Total any } }
	require.NoError(t, json.Unmarshal(data, &doc))
	require.NotEmpty(t, doc.Invoices)
	return doc.Invoices[0].Total
}

func TestTheClerkWritesAmountsAsTextUntilItIsToldBetter(t *testing.T) {
	t.Parallel()
	b := setupLoop(t, templateSeed)
	conv := b.conversation("normalise", "invoices.json")
	first := b.play(t, conv)
	assert.IsType(t, "", b.total(t))

	conv.Append(agent.UserMessage("$.invoices[0].total: expected: number, actual: string"))
	second := b.play(t, conv)
	assert.IsType(t, 0.0, b.total(t))
	assert.Greater(t, first.ToolCalls, second.ToolCalls, "what was read stays read")
}

func TestFoldersComeOutRightStepByStep(t *testing.T) {
	t.Parallel()
	for seed := range uint64(5) {
		b := setupLoop(t, seed)
		b.playAll(t)
		requireTrueReport(t, truthOf(messy.Generate(seed)), filepath.Join(b.dir, "work", "report"))
	}
}

// The template's .mcp.json names the public server, so that the treadle command can
// run the same plan.
func TestThePublicFilesystemServerServesAsWell(t *testing.T) {
	t.Parallel()
	node, args := nodetest.Bin(t, "@modelcontextprotocol/server-filesystem", "dist/index.js")
	b := setupLoopWith(t, templateSeed, func(dir string) (*mcp.Toolset, error) {
		return mcp.New(mcp.Server{Name: "files", Command: node, Args: append(args, "."), Dir: dir})
	})
	// A run makes the work folders itself; this server does not.
	for _, step := range []string{"normalise", "reconcile", "report"} {
		require.NoError(t, os.MkdirAll(filepath.Join(b.dir, "work", step), 0o755))
	}
	b.playAll(t)
	requireTrueReport(t, truthOf(messy.Generate(templateSeed)), filepath.Join(b.dir, "work", "report"))
}

func (b *loopBundle) playAll(t *testing.T) {
	t.Helper()
	conv := b.conversation("normalise", "invoices.json")
	b.play(t, conv)
	conv.Append(agent.UserMessage("expected a number"))
	b.play(t, conv)
	b.play(t, b.conversation("reconcile", "reconciliation.json", "normalise/invoices.json"))
	b.play(t, b.conversation("report", "report.json", "normalise/invoices.json", "reconcile/reconciliation.json"))
}

func TestTheClerkNeedsTheToolsOfTheRequest(t *testing.T) {
	t.Parallel()
	b := setupLoop(t, templateSeed)
	loop := agent.Loop{LLM: clerk.Model{}}
	_, err := loop.Run(t.Context(), b.conversation("normalise", "invoices.json"))
	require.ErrorContains(t, err, "list_directory")

	_, err = loop.Run(t.Context(), agent.NewConversation(agent.UserMessage("Step: cook\nWork folder: w\nOutput file: x")))
	require.ErrorContains(t, err, "OPENAI_API_KEY")
}
