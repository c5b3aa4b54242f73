package nodetest

import (
	"strings"
	"testing"
)

// The transports of [Program.Gateway].
const (
	SSE            = "sse"            // HTTP with server-sent events, the older one
	StreamableHTTP = "streamableHttp" // with sessions
)

// Gateway serves an MCP server that speaks stdio over HTTP and returns the URL for a
// client; else it is like [Program.Serve]. With StreamableHTTP each session is a process of
// its own, with SSE all clients share one.
func (program Program) Gateway(t testing.TB, transport string) string {
	t.Helper()
	node, server := Bin(t, program.Package, program.Script)
	command := []string{quote(node)}
	for _, arg := range append(server, program.Args...) {
		command = append(command, quote(arg))
	}
	flags := []string{"--port", "$PORT", "--outputTransport", transport, "--stdio", strings.Join(command, " ")}
	path := "/sse"
	if transport == StreamableHTTP {
		flags = append(flags, "--stateful")
		path = "/mcp"
	}
	gateway := Program{Package: "supergateway", Script: "dist/index.js", Args: flags, Env: program.Env}
	return gateway.Serve(t) + path
}

// quote makes a word of a shell's command line.
func quote(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
