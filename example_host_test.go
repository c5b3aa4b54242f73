package treadle_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/mcp"
	"github.com/treadle-dev/treadle/agent/openai"
	"github.com/treadle-dev/treadle/workflow"
	"github.com/treadle-dev/treadle/workspace"
)

func Example_host() {
	if err := run(context.Background(), "./invoices"); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, dir string) error {
	model, err := openai.FromEnv(os.LookupEnv) // OPENAI_API_KEY or OPENAI_BASE_URL, TREADLE_MODEL
	if err != nil {
		return err
	}
	files, err := mcp.New(mcp.Server{Name: "files", Command: "mcp-server-filesystem", Args: []string{"."}}) // in dir
	if err != nil {
		return err
	}
	ctl, err := workflow.NewController(workflow.Config{Models: agent.Single(model), Toolsets: []agent.Toolset{files}})
	if err != nil {
		return err
	}
	ws, err := workspace.OpenDir(dir)
	if err != nil {
		return err
	}
	defer ws.Close()
	result, err := ctl.Run(ctx, ws, nil) // the plan is in dir/planning/plan.json
	if err != nil {
		return err
	}
	fmt.Println(result.Status, result.Folder, result.Totals.Tokens(), "tokens")
	return nil
}
