package agent

import (
	"fmt"
	"slices"
	"strings"
)

// NoServers is what, alone in a list of servers, selects none.
const NoServers = "NO_SERVERS"

// Selection says which toolsets, and which of their tools, an agent may use.
type Selection struct {
	// Servers are names of toolsets. Nil or empty is all; [NoServers] is none.
	Servers []string
	// Tools are "server:tool" or "server:*". A server that is named here offers
	// only what is named; the others offer everything.
	Tools []string
}

// UnknownServerError says that a selection names a toolset that there is not.
type UnknownServerError struct {
	Name  string
	Known []string
}

func (e *UnknownServerError) Error() string {
	if len(e.Known) == 0 {
		return fmt.Sprintf("there is no server %q: none is configured", e.Name)
	}
	return fmt.Sprintf("there is no server %q; configured are: %s", e.Name, strings.Join(e.Known, ", "))
}

// Toolsets returns the selected ones of all, in the order of all. Names are
// compared in lower case, with "-" and "_" taken as the same.
func (s Selection) Toolsets(all []Toolset) ([]Toolset, error) {
	if len(s.Servers) == 1 && s.Servers[0] == NoServers {
		return nil, nil
	}
	for _, name := range s.named() {
		if !slices.ContainsFunc(all, func(ts Toolset) bool { return sameName(ts.Name(), name) }) {
			return nil, &UnknownServerError{Name: name, Known: toolsetNames(all)}
		}
	}
	if len(s.Servers) == 0 {
		return all, nil
	}
	var selected []Toolset
	for _, ts := range all {
		if slices.ContainsFunc(s.Servers, func(name string) bool { return sameName(ts.Name(), name) }) {
			selected = append(selected, ts)
		}
	}
	return selected, nil
}

// named are the toolsets that the selection names in any way.
func (s Selection) named() []string {
	names := slices.Clone(s.Servers)
	for _, pattern := range s.Tools {
		server, _, _ := strings.Cut(pattern, ":")
		names = append(names, server)
	}
	return names
}

// Allows reports whether a tool of a toolset is selected, given that the toolset
// is.
func (s Selection) Allows(toolset string, spec ToolSpec) bool {
	named := false
	for _, pattern := range s.Tools {
		server, tool, _ := strings.Cut(pattern, ":")
		if !sameName(server, toolset) {
			continue
		}
		if tool == "*" || tool == "" || sameName(tool, spec.OriginName()) {
			return true
		}
		named = true
	}
	return !named
}

func toolsetNames(all []Toolset) []string {
	names := make([]string, len(all))
	for i, ts := range all {
		names[i] = ts.Name()
	}
	slices.Sort(names)
	return names
}

func sameName(a, b string) bool { return a == b || normalName(a) == normalName(b) }

func normalName(name string) string {
	return strings.ReplaceAll(strings.ToLower(strings.TrimSpace(name)), "-", "_")
}
