package main

import (
	"os"

	"github.com/treadle-dev/treadle/agent/mcp"
)

const serverVerb = "mcp-files"

func main() {}

func fileServer(dir string) (*mcp.Toolset, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return mcp.New(mcp.Server{Name: "files", Command: self, Args: []string{serverVerb, dir}})
}
