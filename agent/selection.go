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
	// Custom are the custom tools, as "category:tool" or "category:*". Nil or empty
	// is none: a category is never there unless it is named.
	Custom []string
}

// UnknownServerError says that a selection names a toolset that there is not.
type UnknownServerError struct {
	Name  string
	Known []string
}

func (e *UnknownServerError) Error() string {
	if sameName(e.Name, NoServers) {
		return NoServers + " selects no server and stands alone; leave it out, or leave the others out"
	}
	return unknownText("server", e.Name, e.Known)
}

// UnknownCategoryError says that a selection names a category of custom tools that
// there is not.
type UnknownCategoryError struct {
	Name  string
	Known []string
}

func (e *UnknownCategoryError) Error() string {
	return unknownText("category of custom tools", e.Name, e.Known)
}

func unknownText(what, name string, known []string) string {
	if len(known) == 0 {
		return fmt.Sprintf("there is no %s %q: none is configured", what, name)
	}
	return fmt.Sprintf("there is no %s %q; configured are: %s", what, name, strings.Join(known, ", "))
}

// Toolsets returns the selected ones of all, in the order of all. Names are
// compared in lower case, with "-" and "_" taken as the same.
func (s Selection) Toolsets(all []Toolset) ([]Toolset, error) {
	if len(s.Servers) == 1 && sameName(s.Servers[0], NoServers) {
		return nil, nil
	}
	for _, name := range s.named() {
		if !slices.ContainsFunc(all, func(ts Toolset) bool { return called(ts, name) }) {
			return nil, &UnknownServerError{Name: name, Known: toolsetNames(all)}
		}
	}
	if len(s.Servers) == 0 {
		return all, nil
	}
	var selected []Toolset
	for _, ts := range all {
		if slices.ContainsFunc(s.Servers, func(name string) bool { return called(ts, name) }) {
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
func (s Selection) Allows(ts Toolset, spec ToolSpec) bool {
	matched, named := match(s.Tools, ts, spec)
	return matched || !named
}

// Categories returns those of all that the selection's custom tools are of, in the
// order of all.
func (s Selection) Categories(all []Toolset) ([]Toolset, error) {
	var selected []Toolset
	for _, pattern := range s.Custom {
		name, _, _ := strings.Cut(pattern, ":")
		if !slices.ContainsFunc(all, func(ts Toolset) bool { return called(ts, name) }) {
			return nil, &UnknownCategoryError{Name: name, Known: toolsetNames(all)}
		}
	}
	for _, ts := range all {
		if _, named := match(s.Custom, ts, ToolSpec{}); named {
			selected = append(selected, ts)
		}
	}
	return selected, nil
}

// AllowsCustom reports whether a tool of a category is selected.
func (s Selection) AllowsCustom(category Toolset, spec ToolSpec) bool {
	return slices.ContainsFunc(s.Custom, func(pattern string) bool {
		if _, tool, _ := strings.Cut(pattern, ":"); tool == "" {
			return false // a category alone names no tool
		}
		matched, _ := match([]string{pattern}, category, spec)
		return matched
	})
}

// match reports whether patterns name a tool of a toolset, and whether they name
// the toolset at all.
func match(patterns []string, ts Toolset, spec ToolSpec) (matched, named bool) {
	for _, pattern := range patterns {
		toolset, tool, _ := strings.Cut(pattern, ":")
		if !called(ts, toolset) {
			continue
		}
		named = true
		if tool == "*" || tool == "" || sameName(tool, spec.OriginName()) || sameName(tool, spec.Name) {
			return true, true
		}
	}
	return false, named
}

// called reports whether a toolset goes by a name.
func called(ts Toolset, name string) bool {
	if sameName(ts.Name(), name) {
		return true
	}
	aliased, ok := ts.(Aliased)
	return ok && slices.ContainsFunc(aliased.Aliases(), func(alias string) bool { return sameName(alias, name) })
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
