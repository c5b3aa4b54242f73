package mcp_test

import (
	"fmt"
	"testing"

	"github.com/treadle-dev/treadle/agent/agenttest"
	"github.com/treadle-dev/treadle/agent/mcp"
)

func TestServersBehindAURLKeepThePromisesOfAToolset(t *testing.T) {
	t.Parallel()
	newer, older := newHTTPFake(), newOlderFake()
	for _, f := range []*httpFake{newer, older.httpFake} {
		f.tools["fail"] = func(c *httpCall) {
			writeJSON(c.w, 200, success(c.id, map[string]any{"isError": true, "content": []any{textBlock("the disk is full")}}))
		}
		f.tools["bare"] = func(c *httpCall) { c.answer("bare") }
	}
	newer.tools["slow"] = func(c *httpCall) { <-c.r.Context().Done() }
	older.tools["slow"] = func(*httpCall) {}
	for name, server := range map[string]mcp.Server{"newer": newer.serve(t), "older": older.serve(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agenttest.TestToolset(t, agenttest.ToolsetTest{
				New:     served(server),
				Success: agenttest.ToolCase{Tool: "echo", Arguments: `{"message":"hello"}`, Want: `"hello"`},
				Failure: agenttest.ToolCase{Tool: "fail", Want: "the disk is full"},
				Slow:    agenttest.ToolCase{Tool: "slow"},
				Bare:    "bare",
				Each: func(i int) agenttest.ToolCase {
					return agenttest.ToolCase{Tool: "echo", Arguments: fmt.Sprintf(`{"n":"call %02d"}`, i), Want: fmt.Sprintf(`"call %02d"`, i)}
				},
			})
		})
	}
}
