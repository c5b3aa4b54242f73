package main

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestScriptsWithServersBehindAURL has these commands beside those of all scripts:
//
//	remote FILE…   starts an MCP server that lets in who sends the bearer token ${TOKEN}, and puts its URL
//	               in the place of REMOTE_URL in the files
//	expires        has the server refuse the token when a tool is called
//	heard N        fails unless the server's tool has run N times
func TestScriptsWithServersBehindAURL(t *testing.T) {
	t.Parallel()
	params := scripts("testdata/remote", nil)
	setup := params.Setup
	params.Setup = func(e *testscript.Env) error {
		e.Values[remoteKey{}] = &remote{}
		return setup(e)
	}
	params.Cmds["remote"] = startRemote
	params.Cmds["expires"] = func(ts *testscript.TestScript, _ bool, _ []string) {
		ts.Value(remoteKey{}).(*remote).expires.Store(true)
	}
	params.Cmds["heard"] = func(ts *testscript.TestScript, _ bool, args []string) {
		want, err := strconv.ParseInt(args[0], 10, 64)
		ts.Check(err)
		if n := ts.Value(remoteKey{}).(*remote).calls.Load(); n != want {
			ts.Fatalf("the server's tool has run %d times", n)
		}
	}
	testscript.Run(t, params)
}

type remoteKey struct{}

// remote is an MCP server behind a URL that asks for a token.
type remote struct {
	token   string
	calls   atomic.Int64 // of its tool
	expires atomic.Bool
	serve   http.Handler
}

func startRemote(ts *testscript.TestScript, _ bool, files []string) {
	r := ts.Value(remoteKey{}).(*remote)
	r.token = ts.Getenv("TOKEN")
	s := server.NewMCPServer("remote", "1.0.0")
	s.AddTool(
		mcp.NewTool("weather", mcp.WithDescription("Tells the weather."), mcp.WithReadOnlyHintAnnotation(true), mcp.WithString("city", mcp.Required())),
		func(_ context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			r.calls.Add(1)
			return mcp.NewToolResultText("rain in " + call.GetString("city", "") + ", said to " + r.token), nil
		},
	)
	r.serve = server.NewStreamableHTTPServer(s)
	listener := httptest.NewServer(r)
	ts.Defer(func() {
		listener.CloseClientConnections()
		listener.Close()
	})
	for _, file := range files {
		text := strings.ReplaceAll(ts.ReadFile(file), "REMOTE_URL", listener.URL+"/mcp")
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

func (r *remote) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return
	}
	request.Body = io.NopCloser(bytes.NewReader(body))
	expired := r.expires.Load() && bytes.Contains(body, []byte(`"tools/call"`))
	if request.Header.Get("Authorization") != "Bearer "+r.token || expired {
		w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://auth.example/.well-known/oauth-protected-resource", scope="weather:read", error="invalid_token"`)
		http.Error(w, "you sent "+request.Header.Get("Authorization"), http.StatusUnauthorized)
		return
	}
	r.serve.ServeHTTP(w, request)
}
