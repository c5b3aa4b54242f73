package nodetest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Check is one thing that the conformance suite looked at.
type Check struct {
	ID           string `json:"id"`
	Description  string `json:"description"`
	Status       string `json:"status"`       // SUCCESS, FAILURE, WARNING or SKIPPED
	ErrorMessage string `json:"errorMessage"` //nolint:tagliatelle // the suite's form
}

// conformanceTime is how long a scenario may take; the suite ends a client after half of
// it.
const conformanceTime = 2 * time.Minute

// Conformance runs a scenario of the MCP conformance suite against a client, such as
// "tools_call", and returns its checks. The client is a program that gets the URL of a
// streamable HTTP server after its own arguments, and the scenario's name in the
// environment as MCP_CONFORMANCE_SCENARIO; what env names is added.
//
// The caller judges the checks: the suite itself passes a client that it saw nothing of.
func Conformance(t testing.TB, scenario string, env []string, client ...string) []Check {
	t.Helper()
	node, args := Bin(t, "@modelcontextprotocol/conformance", "dist/index.js")
	results := t.TempDir()
	var command []string
	for _, word := range client {
		command = append(command, quote(word))
	}
	p := newProcess(node)
	p.cmd.Args = append(p.cmd.Args, args...)
	p.cmd.Args = append(p.cmd.Args, "client", "--scenario", scenario, "--command", strings.Join(command, " "), "--output-dir", results, "--timeout", "60000")
	p.cmd.Env = append(os.Environ(), env...)
	if err := p.begin(); err != nil {
		t.Fatal(err)
	}
	defer p.end(t)
	patience := time.NewTimer(conformanceTime)
	defer patience.Stop()
	select {
	case <-p.ended:
	case <-patience.C:
		t.Fatalf("scenario %s did not end within %s", scenario, conformanceTime)
	}
	// A folder for each run, named for the scenario and the time.
	files, err := filepath.Glob(filepath.Join(results, filepath.FromSlash(scenario)+"-*", "checks.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("scenario %s has no result (%v); the suite wrote:\n%s", scenario, err, p.output.String())
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var all, checks []Check
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatalf("scenario %s: %v in %s", scenario, err, text)
	}
	for _, check := range all {
		if check.Status != "INFO" { // a line of its log
			checks = append(checks, check)
		}
	}
	return checks
}
