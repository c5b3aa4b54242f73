package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// The commands are this test binary under other names, so scripts run real
// processes of the real main.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"treadle":  main,
		"mcpfiles": serveFiles,
	})
}
