package workflow_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/internal/openaitest"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

// killEnv holds the JSON of a victim: with it, the test binary is the process that
// is killed.
const killEnv = "TREADLE_TEST_VICTIM"

func TestMain(m *testing.M) {
	if data, ok := os.LookupEnv(killEnv); ok {
		os.Exit(runVictim(data))
	}
	if data, ok := os.LookupEnv(editEnv); ok {
		os.Exit(runAuthor(data))
	}
	goleak.VerifyTestMain(m)
}

// victim is a process that runs, or resumes, the workflow in Dir, and kills itself
// at a storage operation or in a tool.
type victim struct {
	Dir   string             `json:"dir"`
	Model string             `json:"model"` // base URL
	At    int                `json:"at"`
	When  workspacetest.When `json:"when"`
	Tool  string             `json:"tool"` // "before" or "after" its effect
}

func die() {
	process, err := os.FindProcess(os.Getpid())
	if err == nil {
		_ = process.Kill()
	}
	select {} // until the signal arrives
}

func runVictim(data string) int {
	var v victim
	if err := json.Unmarshal([]byte(data), &v); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	if err := v.run(context.Background()); err != nil && !errors.Is(err, workflow.ErrRunFinished) {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (v *victim) run(ctx context.Context) error {
	dir, err := workspace.NewDir(v.Dir)
	if err != nil {
		return err
	}
	faulty := workspacetest.NewFaulty(dir, workspacetest.Fault{At: v.At, When: v.When, Hook: func(workspacetest.Operation) { die() }})
	llm, err := openai.New(openai.Config{APIKey: "test", BaseURL: v.Model, Model: "scripted"})
	if err != nil {
		return err
	}
	ctl, err := workflow.NewController(workflow.Config{
		Models: agent.Single(llm), Toolsets: []agent.Toolset{agenttest.Files(), v.shop()},
	})
	if err != nil {
		return err
	}
	_, err = ctl.Run(ctx, workspace.New(faulty.Storage()), resumeOptions(ctx, dir, firstRun))
	return errors.Join(err, dir.Close())
}

// shop is a tool that charges a card: each charge is a line in a file beside the
// workspace.
func (v *victim) shop() *agenttest.Toolset {
	return &agenttest.Toolset{ID: "shop", Tools: []agent.Tool{&agenttest.Tool{
		Name: "charge_card", Do: func(context.Context, *agent.ToolCall) (*agent.ToolResult, error) {
			if v.Tool == "before" {
				die()
			}
			f, err := os.OpenFile(v.Dir+".charges", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
			if err != nil {
				return nil, err
			}
			if _, err := f.WriteString("charged\n"); err != nil {
				return nil, err
			}
			if v.Tool == "after" {
				die()
			}
			return agent.TextResult("charged"), f.Close()
		},
	}}}
}

// cashier is the model of the killed workflow, on the other side of HTTP: it
// answers by what the conversation says, so it may be asked again.
func cashier(req openaitest.Request) openaitest.Reply {
	write := func(name, content string) openaitest.Reply {
		args, _ := json.Marshal(map[string]string{"path": name, "content": content})
		return openaitest.Reply{ToolCalls: []openaitest.ToolCall{{Name: "write_file", Arguments: string(args)}}}
	}
	second := strings.Contains(req.Messages[1].Content, "Step: tell")
	switch {
	case second && req.Turns() == 0:
		return write("told.md", "The card was charged.")
	case second:
		return openaitest.Text("Told.", 50, 5)
	case req.Turns() == 0:
		return openaitest.Reply{ToolCalls: []openaitest.ToolCall{{Name: "charge_card", Arguments: "{}"}}}
	case req.Turns() == 1:
		return write("receipt.json", `{"charged": true}`)
	default:
		return openaitest.Text("Charged.", 60, 6)
	}
}

const killedPlan = `{"steps": [
  {"id": "charge", "type": "regular", "description": "Charge the card.", "context_output": "receipt.json",
   "validation_schema": {"files": [{"file_name": "receipt.json", "must_exist": true, "json_checks": [{"path": "$.charged", "value_type": "boolean"}]}]}},
  {"id": "tell", "type": "regular", "description": "Tell it.", "context_dependencies": ["receipt.json"], "context_output": "told.md"}
]}`

const killedCalls = 5 // model calls of an undisturbed run

// TestSIGKILLLosesNothingRecorded kills a real process, which talks to a real
// endpoint and writes to a real disk, at chosen points, and lets another one go on.
func TestSIGKILLLosesNothingRecorded(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("needs SIGKILL")
	}
	points := killPoints(t)
	t.Logf("%d points", len(points))
	require.GreaterOrEqual(t, len(points), 20)
	for _, point := range points {
		t.Run(point.name, func(t *testing.T) {
			t.Parallel()
			server := openaitest.Start(t, cashier)
			dir := filepath.Join(t.TempDir(), "shop")
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "planning"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, workspace.PlanFile), []byte(killedPlan), 0o644))
			v := point.victim
			v.Dir, v.Model = dir, server.URL()
			killed := runProcess(t, v)
			require.Equal(t, -1, killed.ExitCode(), "the process was not killed: %s", killed)

			st, err := workspace.NewDir(dir)
			require.NoError(t, err)
			defer func() { assert.NoError(t, st.Close()) }()
			recorded := len(recordedReplies(t.Context(), st, firstRun))
			paid := len(server.Calls())
			require.Zero(t, runProcess(t, victim{Dir: dir, Model: server.URL()}).ExitCode())

			assert.Equal(t, killedCalls-recorded, len(server.Calls())-paid, "a recorded call was made again, or one is missing")
			assert.Equal(t, map[string]string{
				"runs/iteration-1/execution/charge/receipt.json": `{"charged": true}`,
				"runs/iteration-1/execution/tell/told.md":        "The card was charged.",
			}, executionFiles(t, st, firstRun))
			charges, err := os.ReadFile(dir + ".charges")
			if err != nil {
				require.ErrorIs(t, err, os.ErrNotExist)
			}
			inDoubt := strings.Contains(journalText(t, st, firstRun), `"in_doubt":true`)
			switch n := strings.Count(string(charges), "charged"); n {
			case 1:
			case 0:
				assert.True(t, inDoubt, "the card was not charged and nobody was told")
			default:
				t.Errorf("the card was charged %d times", n)
			}
		})
	}
}

type killPoint struct {
	name   string
	victim victim
}

// killPoints chooses where to kill: around and inside the tool; before, inside and
// after appends to the journal; before and after renames; at the other writes.
func killPoints(t *testing.T) []killPoint {
	t.Helper()
	points := []killPoint{
		{"in the tool before its effect", victim{Tool: "before"}},
		{"in the tool after its effect", victim{Tool: "after"}},
	}
	others := 0
	for at := 1; ; at++ {
		op, ok := killedOperation(t, at)
		if !ok {
			return points
		}
		add := func(when workspacetest.When) {
			name := fmt.Sprintf("%s %s %d", when, op.Kind, at)
			points = append(points, killPoint{name, victim{At: at, When: when}})
		}
		switch op.Kind {
		case workspacetest.AppendAt:
			switch at % 3 {
			case 0:
				add(workspacetest.Before) // such as a reply received and not recorded
			case 1:
				add(workspacetest.Torn)
			default:
				add(workspacetest.After)
			}
		case workspacetest.Rename:
			add(workspacetest.Before)
			add(workspacetest.After)
		default:
			if others++; others%4 == 0 {
				add(workspacetest.Before)
			}
		}
	}
}

// killedOperation tells what the at-th operation of the workflow is.
func killedOperation(t *testing.T, at int) (workspacetest.Operation, bool) {
	t.Helper()
	server := openaitest.Start(t, cashier)
	st := workspace.NewMem()
	require.NoError(t, st.WriteFile(t.Context(), workspace.PlanFile, []byte(killedPlan), workspace.Lazy))
	faulty := workspacetest.NewFaulty(st, workspacetest.Fault{At: at, Stop: true})
	llm, err := openai.New(openai.Config{APIKey: "test", BaseURL: server.URL(), Model: "scripted"})
	require.NoError(t, err)
	v := &victim{Dir: filepath.Join(t.TempDir(), "shop")}
	ctl, err := workflow.NewController(workflow.Config{Models: agent.Single(llm), Toolsets: []agent.Toolset{agenttest.Files(), v.shop()}})
	require.NoError(t, err)
	_, _ = ctl.Run(t.Context(), workspace.New(faulty.Storage()), nil)
	return faulty.Struck()
}

func runProcess(t *testing.T, v victim) *os.ProcessState {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), killEnv+"="+string(data))
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	err = cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		require.NoError(t, err)
	}
	if output.Len() > 0 {
		t.Logf("process %s: %s", cmd.ProcessState, output.String())
	}
	return cmd.ProcessState
}
