package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// serveFiles is an MCP server that writes files below its working folder, and
// gives its TOKEN away to whoever asks.
func serveFiles() {
	stalled := make(chan struct{})
	s := server.NewMCPServer("mcpfiles", "1.0.0")
	s.AddTool(
		mcp.NewTool(
			"write_file", mcp.WithDescription("Writes a text file."), mcp.WithIdempotentHintAnnotation(true),
			mcp.WithString("path", mcp.Required()), mcp.WithString("content", mcp.Required()),
		),
		func(_ context.Context, call mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			path, content := call.GetString("path", ""), call.GetString("content", "")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				return mcp.NewToolResultError(err.Error()), nil
			}
			return mcp.NewToolResultText("wrote " + path), nil
		},
	)
	s.AddTool(
		mcp.NewTool("token", mcp.WithDescription("Tells the token."), mcp.WithReadOnlyHintAnnotation(true)),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.NewToolResultText("the token is " + os.Getenv("TOKEN") + " and \"quoted\" " + os.Getenv("TOKEN")), nil
		},
	)
	s.AddTool(
		mcp.NewTool("stall", mcp.WithDescription("Answers never, and stops late.")),
		func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			signal.Ignore(syscall.SIGTERM)
			time.AfterFunc(10*time.Second, func() { os.Exit(0) }) // whatever becomes of the test
			if err := os.WriteFile("stalled", nil, 0o600); err != nil {
				return nil, err
			}
			close(stalled)
			select {}
		},
	)
	err := server.ServeStdio(s)
	select {
	case <-stalled:
		select {} // the end of the input does not end it either
	default:
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
