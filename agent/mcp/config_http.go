package mcp

import (
	"fmt"
	"maps"
	"slices"

	"github.com/treadle-dev/treadle/workspace"
)

// checkURL finds what is wrong with a server reached by url.
func (p *place) checkURL(server *Server) {
	switch {
	case p.failed("url"):
	case server.URL == "":
		p.problem(codeConfigURL, "url", "it has no url", "write where it is reached, or give a command instead")
	default:
		if problem := urlProblem(server.URL); problem != "" {
			p.problem(codeConfigURL, "url", "url "+problem, "")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(server.Headers)) {
		at := "headers/" + workspace.PointerEscape(name)
		if problem := headerProblem(name, server.Headers[name]); problem != "" && !p.failed(at) {
			p.problem(codeConfigHeader, at, fmt.Sprintf("header %q %s", name, problem), "")
		}
	}
}
