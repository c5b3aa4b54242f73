package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/examples/quickstart/internal/clerk"
	"github.com/treadle-dev/treadle/examples/quickstart/internal/messy"
	"github.com/treadle-dev/treadle/internal/openaitest"
)

func environment(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := vars[name]
		return v, ok
	}
}

// runIn runs the whole program in a fresh folder and returns the folder of the
// report and what was printed.
func runIn(t *testing.T, seed uint64, vars map[string]string) (dir, printed string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "work space")
	var out bytes.Buffer
	require.NoError(t, quickstart(t.Context(), options{dir: dir, seed: seed}, environment(vars), &out), "seed %d:\n%s", seed, &out)
	return dir, out.String()
}

func reportIn(dir, run string) string {
	return filepath.Join(dir, "runs", run, "execution", "report")
}

func TestTheQuickstartTellsWhoWorkedWhereTheReportIsAndWhatItCost(t *testing.T) {
	t.Parallel()
	dir, printed := runIn(t, templateSeed, nil)
	requireTrueReport(t, truthOf(messy.Generate(templateSeed)), reportIn(dir, "iteration-1"))

	first, rest, _ := strings.Cut(printed, "\n")
	assert.Contains(t, first, "rule-based")
	assert.Contains(t, rest, filepath.Join(reportIn(dir, "iteration-1"), "report.md"))
	assert.Regexp(t, `Cost: +\d+ tokens in 13 model calls`, rest)
	assert.NotContains(t, rest, "USD 0")
	assert.Contains(t, rest, "go run ./cmd/treadle -C '"+dir+"' costs --by step")
	log := regexp.MustCompile(`cat '(.+)'`).FindStringSubmatch(rest)
	require.NotNil(t, log)
	assert.FileExists(t, log[1])
}

func TestValidationRefusesTheFirstAttemptAndTheSecondRepairsIt(t *testing.T) {
	t.Parallel()
	dir, printed := runIn(t, templateSeed, nil)
	assert.Equal(t, 1, strings.Count(printed, "did not pass its validation"))
	assert.Contains(t, printed, "passed at attempt 2")

	first := validationLog(t, dir, "normalise", 1)
	assert.False(t, first.Passed)
	for _, path := range []string{"$.invoices[*].lines[*].unit_price", "$.invoices[*].lines[*].amount"} {
		assert.Contains(t, printed, "- "+path+"\n")
		assert.Contains(t, first.Errors[path], `is string "`, path)
	}
	second := validationLog(t, dir, "normalise", 2)
	assert.True(t, second.Passed)
	assert.Empty(t, second.Errors)
}

// validated is what the log of an attempt's validation says; the errors are what was
// found, by path.
type validated struct {
	Passed bool
	Errors map[string]string
}

func validationLog(t *testing.T, dir, step string, attempt int) validated {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "runs", "iteration-1", "logs", step, fmt.Sprintf("pre_validation-attempt-%d-iteration-1.json", attempt)))
	require.NoError(t, err)
	var log struct {
		Passed bool `json:"overall_pass"`
		Errors []struct{ Path, Actual string }
	}
	require.NoError(t, json.Unmarshal(data, &log))
	found := validated{Passed: log.Passed, Errors: map[string]string{}}
	for _, e := range log.Errors {
		found.Errors[e.Path] = e.Actual
	}
	return found
}

func TestFiftyFoldersGiveTrueReports(t *testing.T) {
	t.Parallel()
	for seed := range uint64(foldersToCheck) {
		dir, _ := runIn(t, seed, nil)
		requireTrueReport(t, truthOf(messy.Generate(seed)), reportIn(dir, "iteration-1"))
	}
}

func TestFiftyFoldersGiveTrueReportsOverTheOpenAIWire(t *testing.T) {
	t.Parallel()
	server := openaitest.Start(t, clerkOnTheWire(t))
	server.Key = "sk-quickstart-test"
	vars := map[string]string{openai.EnvBaseURL: server.URL(), openai.EnvAPIKey: server.Key, openai.EnvModel: "wire-model"}
	for seed := range uint64(foldersToCheck) {
		before := len(server.Calls())
		dir, printed := runIn(t, seed, vars)
		requireTrueReport(t, truthOf(messy.Generate(seed)), reportIn(dir, "iteration-1"))

		var used int64
		calls := server.Calls()[before:]
		for _, c := range calls {
			used += *c.Prompt + *c.Completion
			assert.Equal(t, "wire-model", c.Model)
		}
		assert.Contains(t, printed, fmt.Sprintf("%d tokens in %d model calls; the money is unknown", used, len(calls)))
		assert.True(t, strings.HasPrefix(printed, "Model: wire-model at "), printed)
		assert.NotContains(t, printed, server.Key)
	}
}

// clerkOnTheWire serves the rule-based model as an endpoint would.
func clerkOnTheWire(t *testing.T) openaitest.Handler {
	return func(in openaitest.Request) openaitest.Reply {
		req := &agent.Request{Model: in.Model}
		for _, m := range in.Messages {
			msg := agent.Message{Role: agent.Role(m.Role), ToolCallID: m.ToolCallID, Content: agent.Text(m.Content)}
			for _, c := range m.ToolCalls {
				msg.ToolCalls = append(msg.ToolCalls, agent.ToolCall{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
			}
			req.Messages = append(req.Messages, msg)
		}
		for _, tool := range in.Tools {
			req.Tools = append(req.Tools, agent.ToolSpec{Name: tool.Name, Description: tool.Description, InputSchema: tool.Parameters})
		}
		// The request's own context ends with the call; the clerk only thinks.
		resp, err := clerk.Model{}.Generate(context.Background(), req, nil)
		if err != nil {
			t.Error(err)
			return openaitest.Reply{Status: 400, Message: err.Error()}
		}
		reply := openaitest.Reply{
			Content: resp.Message.ContentText(),
			Usage:   &openaitest.Usage{Prompt: *resp.Usage.Input, Completion: *resp.Usage.Output},
		}
		for _, c := range resp.Message.ToolCalls {
			reply.ToolCalls = append(reply.ToolCalls, openaitest.ToolCall{ID: c.ID, Name: c.Name, Arguments: string(c.Arguments)})
		}
		return reply
	}
}

func TestASecondRunInTheSameFolderIsTheNextIteration(t *testing.T) {
	t.Parallel()
	dir, _ := runIn(t, 7, nil)
	var out bytes.Buffer
	require.NoError(t, quickstart(t.Context(), options{dir: dir, seed: templateSeed}, environment(nil), &out))
	requireTrueReport(t, truthOf(messy.Generate(7)), reportIn(dir, "iteration-2"))
}

func TestAnInterruptedRunSaysHowToGoOnAndPaysNothingTwice(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	var calls atomic.Int64
	answer := clerkOnTheWire(t)
	server := openaitest.Start(t, func(in openaitest.Request) openaitest.Reply {
		if calls.Add(1) == 6 {
			interrupt()
		}
		return answer(in)
	})
	vars := environment(map[string]string{openai.EnvBaseURL: server.URL()})
	dir := t.TempDir()
	var out bytes.Buffer
	err := quickstart(ctx, options{dir: dir, seed: 3}, vars, &out)
	require.ErrorContains(t, err, "-run iteration-1")

	require.NoError(t, quickstart(t.Context(), options{dir: dir, run: "iteration-1"}, vars, &out))
	requireTrueReport(t, truthOf(messy.Generate(3)), reportIn(dir, "iteration-1"))
	seen := map[string]bool{}
	repeated := 0
	for _, r := range server.Requests() {
		messages, err := json.Marshal(r.Body["messages"])
		require.NoError(t, err)
		if seen[string(messages)] {
			repeated++
		}
		seen[string(messages)] = true
	}
	assert.LessOrEqual(t, repeated, 1, "only the call that was interrupted may be made again")
}

func TestABadEndpointIsToldBeforeAnythingRuns(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "none")
	var out bytes.Buffer
	err := quickstart(t.Context(), options{dir: dir}, environment(map[string]string{openai.EnvBaseURL: "not a url"}), &out)
	require.ErrorContains(t, err, openai.EnvBaseURL)
	assert.NoDirExists(t, dir)
}

func TestArgumentsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-seed", "x"}, {"extra"}, {"-run", "iteration-1"}} {
		var errs bytes.Buffer
		_, err := parseArgs(args, &errs)
		require.Error(t, err, args)
		assert.NotEmpty(t, errs.String(), args)
	}
}
