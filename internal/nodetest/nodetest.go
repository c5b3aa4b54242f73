// Package nodetest finds the Node programs that tests run against. Their versions
// are pinned in this folder; "npm ci" here installs them.
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
	_, here, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(here) { // built with -trimpath
		missing(t, "the folder of the Node packages is not known to this build")
	}
	path := filepath.Join(filepath.Dir(here), "node_modules", filepath.FromSlash(pkg), filepath.FromSlash(script))
	if _, err := os.Stat(path); err != nil {
		missing(t, pkg+" is not installed; run npm ci in internal/nodetest")
	}
	return node, []string{path}
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}
