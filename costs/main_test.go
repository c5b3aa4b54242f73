package costs_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/costs"
	"github.com/treadle-dev/treadle/workspace"
)

// writerProcess makes the test binary the other process of
// TestWritersInSeveralProcessesLoseNothing: its number and its folder.
const writerProcess = "TREADLE_COSTS_TEST_WRITER"

func TestMain(m *testing.M) {
	if args := os.Getenv(writerProcess); args != "" {
		if err := writeAsProcess(args); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

func writeAsProcess(args string) error {
	var n int
	var dir string
	if _, err := fmt.Sscanf(args, "%d %s", &n, &dir); err != nil {
		return err
	}
	st, err := workspace.NewDir(dir)
	if err != nil {
		return err
	}
	defer st.Close()
	tally := costs.NewTally(prices())
	for i := range 40 {
		tally.Add(call(fmt.Sprint(i), "fetch"))
		if err := costs.NewLedger(st).Write(context.Background(), iteration(n), tally); err != nil {
			return err
		}
	}
	return nil
}
