// Package nodetest finds and starts the Node programs that tests run against. Their
// versions are pinned in this folder; "npm ci" here installs them.
//
//   - @modelcontextprotocol/server-everything, server-filesystem and server-memory: real
//     MCP servers, over stdio; the first over HTTP too ([Program.Serve]).
//   - supergateway: serves any of them over HTTP ([Program.Gateway]).
//   - @modelcontextprotocol/conformance: tests of MCP clients ([Conformance]). 0.1.13 is
//     the newest that runs on Node 20.
//   - @copilotkit/aimock: a Chat Completions endpoint.
//   - ajv and ajv-formats: a second opinion on JSON Schema ([Ajv]), by require in a script that
//     runs in [Folder].
package nodetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// Bin returns the Node executable, and as its first argument the path of a script
// inside an installed package, such as "@modelcontextprotocol/server-filesystem"
// and "dist/index.js". Where Node or the package is absent it skips the test and
// says what is missing; with CI=true it fails the test instead.
func Bin(t testing.TB, pkg, script string) (node string, args []string) {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		missing(t, "Node is not installed")
	}
	path := filepath.Join(Folder(t), "node_modules", filepath.FromSlash(pkg), filepath.FromSlash(script))
	if _, err := os.Stat(path); err != nil {
		missing(t, pkg+" is not installed; run npm ci in internal/nodetest")
	}
	return node, []string{path}
}

// Folder is where the packages are installed: a Node script that runs there can require
// them. It may be empty of them.
func Folder(t testing.TB) string {
	t.Helper()
	_, here, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(here) { // built with -trimpath
		missing(t, "the folder of the Node packages is not known to this build")
	}
	return filepath.Dir(here)
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}
