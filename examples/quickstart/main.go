// Command quickstart runs a real Treadle workflow on a folder of messy supplier
// invoices: it reads them through an MCP server, writes them down as JSON, compares
// them with a ledger, and reports what does not fit.
//
//	go run ./examples/quickstart [-dir DIR] [-seed N] [-run NAME]
//
// With OPENAI_API_KEY or OPENAI_BASE_URL set it uses that model (TREADLE_MODEL names
// it); without, a small rule-based stand-in. -dir says where the workspace goes;
// running again there makes the next iteration, or with -run goes on with one that
// was interrupted. The program also contains the MCP server, which it starts as
// "quickstart mcp-files DIR".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/treadle-dev/treadle/examples/quickstart/internal/filesmcp"
)

// serverVerb makes the program its own MCP server.
const serverVerb = "mcp-files"

func main() { os.Exit(run(os.Args[1:])) }

// run is the program, with its exit status.
func run(args []string) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(args) > 0 && args[0] == serverVerb {
		return exitStatus(filesmcp.Main(ctx, args[1:]))
	}
	opts, err := parseArgs(args, os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	return exitStatus(quickstart(ctx, opts, os.LookupEnv, os.Stdout))
}

// exitStatus says what went wrong, if anything did.
func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	fmt.Fprintln(os.Stderr, "quickstart:", err)
	return 1
}

type options struct {
	dir  string // absolute; empty is a fresh folder for temporary files
	seed uint64
	run  string // an unfinished run to take up again; empty is a new one
}

func parseArgs(args []string, errs io.Writer) (options, error) {
	var opts options
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.StringVar(&opts.dir, "dir", "", "folder for the workspace (default: a fresh one among the temporary files)")
	flags.Uint64Var(&opts.seed, "seed", templateSeed, "which invoices to make up for a new workspace")
	flags.StringVar(&opts.run, "run", "", "an unfinished run of the workspace in -dir to take up again, such as iteration-1")
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	if flags.NArg() > 0 {
		err := fmt.Errorf("unexpected argument %q", flags.Arg(0))
		fmt.Fprintln(errs, err)
		flags.Usage()
		return opts, err
	}
	if opts.dir == "" && opts.run != "" {
		err := errors.New("-run needs the -dir in which the run lies")
		fmt.Fprintln(errs, err)
		return opts, err
	}
	if opts.dir == "" {
		return opts, nil
	}
	var err error
	opts.dir, err = filepath.Abs(opts.dir)
	return opts, err
}
