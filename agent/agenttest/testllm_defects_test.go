package agenttest_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// defective is a backend with one thing wrong.
type defective struct {
	agenttest.Model
	defect string
}

func (d *defective) Generate(ctx context.Context, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
	if d.defect == "ignores the caller" {
		ctx = context.WithoutCancel(ctx)
	}
	if d.defect == "changes the request" {
		req.Messages[0].Content[0].Text += "!"
	}
	if d.defect == "writes behind the messages" {
		_ = append(req.Messages, agent.UserMessage("mine"))
	}
	inner := sink
	switch {
	case sink == nil:
	case d.defect == "loses pieces":
		inner = func(delta agent.Delta) { delta.Text = strings.TrimPrefix(delta.Text, "G"); sink(delta) }
	case d.defect == "counts attempts from zero":
		inner = func(delta agent.Delta) { delta.Attempt = 0; sink(delta) }
	}
	resp, err := d.Model.Generate(ctx, req, inner)
	if err != nil {
		return nil, d.failure(err)
	}
	switch d.defect {
	case "makes usage up":
		resp.Usage.CacheRead = agent.Tokens(0)
	case "forgets usage when it streams":
		if sink != nil {
			resp.Usage = agent.Usage{}
		}
	case "gives every call one id":
		for i := range resp.Message.ToolCalls {
			resp.Message.ToolCalls[i].ID = "same"
		}
	case "always stops":
		resp.Finish = agent.FinishStop
	}
	return resp, nil
}

func (d *defective) failure(err error) error {
	var failure *agent.ModelError
	if !errors.As(err, &failure) {
		return err
	}
	switch d.defect {
	case "hides errors":
		return errors.New("something went wrong")
	case "retries everything":
		failure.Retryable = true
	case "forgets what broke off":
		failure.Err = nil
	}
	return failure
}

// What finds each defect.
var defects = map[string]string{
	"loses pieces":                  "a_streamed_reply_equals_the_whole_one",
	"counts attempts from zero":     "a_streamed_reply_equals_the_whole_one",
	"forgets usage when it streams": "usage_is_what_was_reported",
	"makes usage up":                "usage_that_was_not_reported_stays_unknown",
	"gives every call one id":       "streamed_tool_calls_equal_the_whole_ones",
	"always stops":                  "the_finish_reason_is_told",
	"changes the request":           "the_request_is_left_as_it_was",
	"writes behind the messages":    "the_request_is_left_as_it_was",
	"ignores the caller":            "cancelling_ends_a_call_that_waits",
	"hides errors":                  "refusals_are_typed",
	"retries everything":            "refusals_are_typed",
	"forgets what broke off":        "a_reply_that_breaks_off_is_an_error_that_may_be_retried",
}

const defectEnv = "TREADLE_TEST_DEFECT"

// TestDefectiveBackend runs only as a child of the test below.
func TestDefectiveBackend(t *testing.T) {
	defect := os.Getenv(defectEnv)
	if defect == "" {
		t.Skip("runs inside TestEveryDefectOfABackendIsFoundOut")
	}
	agenttest.TestLLM(t, func(_ *testing.T, far agenttest.FarSide) agent.LLM {
		return &defective{defect: defect, Model: agenttest.Model{Respond: func(ctx context.Context, req *agent.Request) (*agent.Response, error) {
			return scripted(ctx, far(seenBy(req)))
		}}}
	}, &agenttest.LLMSuite{Timeout: 500 * time.Millisecond})
}

func TestEveryDefectOfABackendIsFoundOut(t *testing.T) {
	t.Parallel()
	binary, err := os.Executable()
	require.NoError(t, err)
	for defect, finder := range defects {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			child := exec.CommandContext(t.Context(), binary, "-test.run=^TestDefectiveBackend$", "-test.v")
			child.Env = append(os.Environ(), defectEnv+"="+defect)
			out, err := child.CombinedOutput()
			require.Error(t, err, "the suite did not see it")
			assert.Contains(t, string(out), "--- FAIL: TestDefectiveBackend/"+finder)
		})
	}
}
