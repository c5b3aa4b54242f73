package main

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/examples/quickstart/internal/filesmcp"
)

// TestMain makes the test binary its own MCP server, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == serverVerb {
		if err := filesmcp.Main(context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}
