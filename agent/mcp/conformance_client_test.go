package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/internal/nodetest"
)

// The conformance suite runs a client of its own choice. It is this test binary,
// which these variables make one.
const (
	clientVariable = "TREADLE_CONFORMANCE_REPORT" // the file that gets what the client saw
	tokenVariable  = "TREADLE_CONFORMANCE_TOKEN"  // what its Token hook gives out; empty means no hook
)

// seenByClient is what a client saw of its server.
type seenByClient struct {
	Tools    []string // by the server's names
	Text     string   // of the call's result
	Failed   bool     // the result was a failure
	Err      string
	Login    *mcp.LoginNeededError
	Scope    bool // the login does not allow enough
	Renewals int  // how often the Token hook was asked for a new token
}

// runConformanceClient plays the scenario against the server at the URL, and
// reports.
func runConformanceClient(report string) {
	seen := &seenByClient{}
	err := seen.play(os.Getenv("MCP_CONFORMANCE_SCENARIO"), os.Args[len(os.Args)-1], os.Getenv(tokenVariable))
	if err != nil {
		seen.Err = err.Error()
		errors.As(err, &seen.Login)
		seen.Scope = errors.Is(err, mcp.ErrInsufficientScope)
	}
	data, _ := json.Marshal(seen)
	if err := os.WriteFile(report, data, 0o600); err != nil {
		panic(err)
	}
}

func (seen *seenByClient) play(scenario, address, token string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	server := mcp.Server{Name: "suite", URL: address}
	if token != "" {
		server.Token = func(_ context.Context, refresh bool) (string, error) {
			if refresh {
				seen.Renewals++
			}
			return token, nil
		}
	}
	toolset, err := mcp.New(server)
	if err != nil {
		return err
	}
	session, err := toolset.Open(ctx, agent.Scope{})
	if err != nil {
		return err
	}
	tools, err := session.Tools(ctx)
	for _, tool := range tools {
		seen.Tools = append(seen.Tools, tool.Spec().Origin)
	}
	if err == nil && scenario != "initialize" && len(tools) > 0 {
		err = seen.call(ctx, tools[0])
	}
	return errors.Join(err, session.Close())
}

func (seen *seenByClient) call(ctx context.Context, tool agent.Tool) error {
	arguments := `{}`
	if tool.Spec().Origin == "add_numbers" {
		arguments = `{"a":5,"b":3}`
	}
	result, err := tool.Call(ctx, &agent.ToolCall{Arguments: json.RawMessage(arguments)})
	if err == nil {
		seen.Text, seen.Failed = result.Text(), result.IsError
	}
	return err
}

// conform runs a scenario, and returns the status of each of its checks and what
// the client saw.
func conform(t *testing.T, scenario, token string) (map[string]string, *seenByClient) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	report := filepath.Join(t.TempDir(), "report.json")
	env := []string{clientVariable + "=" + report, tokenVariable + "=" + token, "GORACE=atexit_sleep_ms=0"}
	checks := map[string]string{}
	for _, check := range nodetest.Conformance(t, scenario, env, self) {
		if before, ok := checks[check.ID]; !ok || before == "SUCCESS" {
			checks[check.ID] = check.Status
		}
	}
	data, err := os.ReadFile(report)
	require.NoError(t, err, "the client was not run")
	seen := &seenByClient{}
	require.NoError(t, json.Unmarshal(data, seen))
	return checks, seen
}

func TestTheConformanceSuitePassesTheClient(t *testing.T) {
	t.Parallel()
	for scenario, want := range map[string]struct {
		checks []string
		seen   seenByClient
	}{
		"initialize": {[]string{"mcp-client-initialization"}, seenByClient{}},
		"tools_call": {
			[]string{"tool-add-numbers"},
			seenByClient{Tools: []string{"add_numbers"}, Text: "The sum of 5 and 3 is 8"},
		},
		"sse-retry": {
			[]string{"client-sse-graceful-reconnect", "client-sse-last-event-id", "client-sse-retry-timing"},
			seenByClient{Tools: []string{"test_reconnection"}, Text: "Reconnection test completed successfully"},
		},
	} {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			checks, seen := conform(t, scenario, "")
			assert.ElementsMatch(t, want.checks, slices.Collect(maps.Keys(checks)))
			for id, status := range checks {
				assert.Equal(t, "SUCCESS", status, id)
			}
			assert.Equal(t, &want.seen, seen)
		})
	}
}

// A server does not speak to a person by itself, so nothing is filled in for it.
// What counts is that it is told so, and that the call ends.
func TestTheConformanceSuiteIsToldThatElicitationIsRefused(t *testing.T) {
	t.Parallel()
	checks, seen := conform(t, "elicitation-sep1034-client-defaults", "")
	assert.Len(t, checks, 6)
	for id, status := range checks {
		assert.Equal(t, "FAILURE", status, id)
	}
	assert.Equal(t, []string{"test_client_elicitation_defaults"}, seen.Tools)
	assert.Equal(t, "Elicitation error: MCP error -32601: this client does not serve elicitation/create", seen.Text)
	assert.Empty(t, seen.Err)
}

// The suite's scenarios of authorization are of a client that registers itself,
// sends a person to log in and fetches tokens. This one leaves all that to the
// host's Token hook, so it can be held to less: what it tells the host, and that
// it does not try again and again. The other scenarios of auth/ ask for nothing of
// that kind beyond what these do.
func TestTheConformanceSuiteFindsThatLoginsAreTheHosts(t *testing.T) {
	t.Parallel()
	const (
		passes  = "SUCCESS"
		fails   = "FAILURE"
		usual   = "/.well-known/oauth-protected-resource/mcp"
		missing = "Missing Authorization header"
	)
	noFlow := func(more ...string) map[string]string { // none of the flow's requests is made
		checks := map[string]string{"authorization-server-metadata": fails, "client-registration": fails, "authorization-request": fails, "token-request": fails}
		for _, id := range more {
			checks[id] = fails
		}
		return checks
	}
	for _, c := range []struct {
		scenario, token string
		checks          map[string]string
		login           *mcp.LoginNeededError // nil when the login is good; ResourceMetadata is the path of it
		tools           []string
	}{
		{
			"auth/metadata-default", "", noFlow("prm-pathbased-requested"), // nor is the metadata fetched, whose place is told
			&mcp.LoginNeededError{Status: 401, ResourceMetadata: usual, Code: "invalid_token", Description: missing}, nil,
		},
		{
			"auth/metadata-default", "test-token-1",
			func() map[string]string {
				checks := noFlow("prm-pathbased-requested")
				checks["valid-bearer-token"] = passes // the host's own token is sent as it has to be
				return checks
			}(),
			nil,
			[]string{"test-tool"},
		},
		{
			"auth/metadata-var1", "", noFlow("prm-pathbased-requested"), // the server does not say where its metadata is
			&mcp.LoginNeededError{Status: 401, Code: "invalid_token", Description: missing}, nil,
		},
		{
			"auth/metadata-var3", "", noFlow(), // the metadata is in a place of the server's own choice
			&mcp.LoginNeededError{Status: 401, ResourceMetadata: "/custom/metadata/location.json", Code: "invalid_token", Description: missing}, nil,
		},
		{
			"auth/scope-from-www-authenticate", "", map[string]string{"scope-from-www-authenticate": fails}, // no scope is asked for
			&mcp.LoginNeededError{Status: 401, ResourceMetadata: usual, Scope: "mcp:basic", Code: "invalid_token", Description: missing}, nil,
		},
		{
			"auth/scope-step-up", "",
			map[string]string{"scope-step-up-initial": fails, "scope-step-up-escalation": fails},
			&mcp.LoginNeededError{Status: 401, ResourceMetadata: usual, Scope: "mcp:basic"}, nil,
		},
		{
			"auth/scope-step-up", "test-token-1",
			map[string]string{"scope-step-up-initial": fails, "scope-step-up-escalation": fails, "valid-bearer-token": passes},
			&mcp.LoginNeededError{Status: 403, ResourceMetadata: usual, Scope: "mcp:basic", Code: "insufficient_scope"}, nil,
		},
		{
			// The suite counts authorization requests, of which there is none, and wants at least one.
			"auth/scope-retry-limit", "test-token-1",
			map[string]string{"scope-retry-limit": fails},
			&mcp.LoginNeededError{Status: 403, ResourceMetadata: usual, Scope: "mcp:admin", Code: "insufficient_scope", Description: "Scope upgrade will never succeed"}, nil,
		},
		{
			// Passed by every client that does not log in: it says nothing good of this one.
			"auth/resource-mismatch", "",
			map[string]string{"resource-mismatch-rejected": passes},
			&mcp.LoginNeededError{Status: 401, ResourceMetadata: usual, Code: "invalid_token", Description: missing}, nil,
		},
	} {
		t.Run(c.scenario+" with "+strconv.Quote(c.token), func(t *testing.T) {
			t.Parallel()
			checks, seen := conform(t, c.scenario, c.token)
			assert.Equal(t, c.checks, checks)
			assert.Equal(t, c.tools, seen.Tools)
			assert.Zero(t, seen.Renewals, "a new token would allow no more")
			if c.login == nil {
				assert.Empty(t, seen.Err)
				return
			}
			require.NotNil(t, seen.Login, seen.Err)
			if c.login.ResourceMetadata != "" {
				place, err := url.Parse(seen.Login.ResourceMetadata)
				require.NoError(t, err)
				assert.Equal(t, "localhost", place.Hostname())
				seen.Login.ResourceMetadata = place.Path
			}
			c.login.Server = "suite"
			assert.Equal(t, c.login, seen.Login)
			assert.Equal(t, c.login.Status == 403, seen.Scope)
			if c.token != "" {
				assert.NotContains(t, seen.Err, c.token)
			}
		})
	}
}
