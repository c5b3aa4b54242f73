// Package filesmcp is a small MCP server over one folder: it lists, reads and
// writes files there and cannot reach anything outside.
package filesmcp

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Names of the tools.
const (
	ListDirectory = "list_directory"
	ReadTextFile  = "read_text_file"
	WriteFile     = "write_file"
)

// Serve answers MCP requests from in on out until in ends or the context is done.
// Every path that a client sends is below dir: relative to it, or absolute and
// inside it. Problems of the server itself are told on errs, never on out, which
// belongs to the protocol.
func Serve(ctx context.Context, dir string, in io.Reader, out, errs io.Writer) error {
	files, err := openFolder(dir)
	if err != nil {
		return err
	}
	defer files.Close()

	stdio := server.NewStdioServer(newServer(files))
	stdio.SetErrorLogger(log.New(errs, "files: ", 0))
	return stdio.Listen(ctx, in, out)
}

func newServer(files *folder) *server.MCPServer {
	srv := server.NewMCPServer("quickstart-files", "1.0.0",
		server.WithToolCapabilities(false),
		server.WithRecovery(),
		server.WithInstructions("Files of one folder. Paths are relative to it, with slashes."))

	srv.AddTool(mcp.NewTool(ListDirectory,
		mcp.WithDescription("Lists a folder, one entry a line, sorted by name: [FILE] name or [DIR] name."),
		mcp.WithString("path", mcp.Required(), mcp.Description("The folder; \".\" is the top.")),
		mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithOpenWorldHintAnnotation(false),
	), pathTool(files.list))

	srv.AddTool(mcp.NewTool(ReadTextFile,
		mcp.WithDescription("Reads a whole UTF-8 text file, as it is."),
		mcp.WithString("path", mcp.Required(), mcp.Description("The file.")),
		mcp.WithReadOnlyHintAnnotation(true),
		mcp.WithOpenWorldHintAnnotation(false),
	), pathTool(files.read))

	srv.AddTool(mcp.NewTool(WriteFile,
		mcp.WithDescription("Writes a text file, replacing what is there. Missing folders are made."),
		mcp.WithString("path", mcp.Required(), mcp.Description("The file.")),
		mcp.WithString("content", mcp.Required(), mcp.Description("The whole new content.")),
		mcp.WithReadOnlyHintAnnotation(false),
		mcp.WithDestructiveHintAnnotation(true),
		mcp.WithIdempotentHintAnnotation(true),
		mcp.WithOpenWorldHintAnnotation(false),
	), writeTool(files))
	return srv
}

func pathTool(do func(path string) (string, error)) server.ToolHandlerFunc {
	return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		path, err := req.RequireString("path")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return answer(do(path))
	}
}

func writeTool(files *folder) server.ToolHandlerFunc {
	return func(_ context.Context, req mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		path, err := req.RequireString("path")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		content, err := req.RequireString("content")
		if err != nil {
			return mcp.NewToolResultError(err.Error()), nil
		}
		return answer(files.write(path, content))
	}
}

// A refused or missing path is something the model can correct, so it is a failed
// result and not a protocol error.
func answer(text string, err error) (*mcp.CallToolResult, error) {
	if err != nil {
		return mcp.NewToolResultError(err.Error()), nil
	}
	return mcp.NewToolResultText(text), nil
}

// Main serves the folder named by the only argument on the standard streams. It
// is what the quickstart runs when it starts itself again as the server.
func Main(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want one argument, the folder to serve; got %d", len(args))
	}
	return Serve(ctx, args[0], os.Stdin, os.Stdout, os.Stderr)
}
