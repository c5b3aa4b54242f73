package main

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/internal/nodetest"
	"github.com/treadle-dev/treadle/workspace"
)

// These scripts use programs that others wrote: the MCP filesystem server and an
// OpenAI-compatible endpoint.
func TestProgramsOfOthersServeARun(t *testing.T) {
	t.Parallel()
	node, filesystem := nodetest.Bin(t, "@modelcontextprotocol/server-filesystem", "dist/index.js")
	_, aimock := nodetest.Bin(t, "@copilotkit/aimock", "dist/cli.js")
	params := scripts("testdata/real", map[string]string{"NODE": node, "FILESYSTEM": filesystem[0], "AIMOCK": aimock[0]})
	params.Cmds["aimock"] = startAIMock
	params.Cmds["aimockledger"] = checkAIMockLedger
	testscript.Run(t, params)
}

// startAIMock starts the endpoint with a file of fixtures.
func startAIMock(ts *testscript.TestScript, _ bool, args []string) {
	fixtures := os.Expand(ts.ReadFile(args[0]), ts.Getenv)
	file := ts.MkAbs("fixtures.json")
	ts.Check(os.WriteFile(file, []byte(fixtures), 0o600))
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience)
	cmd := exec.CommandContext(ctx, ts.Getenv("NODE"), ts.Getenv("AIMOCK"), "--port", "0", "--host", "127.0.0.1", "--fixtures", file, "--strict")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + ts.MkAbs(".")}
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	cmd.Stderr = cmd.Stdout
	ts.Check(cmd.Start())
	drained := make(chan struct{})
	ts.Defer(func() {
		cancel()
		<-drained
		_ = cmd.Wait() // killed on purpose
	})
	address := regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if m := address.FindStringSubmatch(lines.Text()); m != nil {
			ts.Setenv("OPENAI_BASE_URL", m[1]+"/v1")
			ts.Setenv("OPENAI_API_KEY", modelKey)
			ts.Setenv("TREADLE_MODEL", "test-model")
			go func() {
				defer close(drained)
				_, _ = io.Copy(io.Discard, out)
			}()
			return
		}
	}
	close(drained)
	ts.Fatalf("the endpoint did not start")
}

// checkAIMockLedger compares the ledger with the endpoint's own record of what it
// has answered.
func checkAIMockLedger(ts *testscript.TestScript, _ bool, args []string) {
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	response, err := client.Get(strings.TrimSuffix(ts.Getenv("OPENAI_BASE_URL"), "/v1") + "/__aimock/journal?method=POST")
	ts.Check(err)
	defer response.Body.Close()
	var answered []struct {
		Response struct {
			Status  int
			Fixture struct {
				Response struct {
					Usage struct {
						In  int64 `json:"prompt_tokens"`
						Out int64 `json:"completion_tokens"`
					}
				}
			}
		}
	}
	ts.Check(json.NewDecoder(response.Body).Decode(&answered))
	var in, out int64
	for _, a := range answered {
		if a.Response.Status != http.StatusOK {
			ts.Fatalf("the endpoint answered with status %d", a.Response.Status)
		}
		in += a.Response.Fixture.Response.Usage.In
		out += a.Response.Fixture.Response.Usage.Out
	}
	ws, err := workspace.OpenDir(ts.MkAbs(args[0]))
	ts.Check(err)
	defer ws.Close()
	summary, err := costs.Read(context.Background(), ws.Storage(), costs.Filter{})
	ts.Check(err)
	total := summary.Total()
	if in == 0 || total.Calls != int64(len(answered)) || sum(total.Usage.Input, total.Usage.CacheRead, total.Usage.CacheWrite) != in || sum(total.Usage.Output) != out {
		ts.Fatalf("the ledger has %+v; the endpoint counted %d calls, %d in, %d out", total, len(answered), in, out)
	}
	if total.Duration > time.Hour {
		ts.Fatalf("the calls took %s", total.Duration)
	}
}
