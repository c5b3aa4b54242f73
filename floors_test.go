package treadle_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// level says which rule of the house a package stands under.
type level int

const (
	levelCellar level = iota
	levelFloor
	levelLeaf
	levelKit
	levelRoof
	levelDoor // the root package: documentation only
)

// place is where a package stands.
type place struct {
	level level
	// floor is the number of a floor. Of a leaf and a kit it is the floor of the port
	// that they belong to: they may look as far up as that port and no further.
	floor int
	// port is the package whose port a leaf or a kit belongs to.
	port string
	// room is the part of the house that the package is inside of. Packages of one room
	// (such as an example and its own internal packages) may import each other.
	room string
}

// house is the order of the packages: the table of docs/design.md. The longest prefix of
// a package's path decides, so that workspace/tools is not workspace.
var house = map[string]place{
	"": {level: levelDoor},

	"internal": {level: levelCellar},

	"workspace": {level: levelFloor, floor: 1},
	"manifest":  {level: levelFloor, floor: 1},

	"agent": {level: levelFloor, floor: 2},

	"workspace/tools": {level: levelFloor, floor: 3},
	"stepconfig":      {level: levelFloor, floor: 3},
	"validation":      {level: levelFloor, floor: 3},
	"costs":           {level: levelFloor, floor: 3},
	"feedback":        {level: levelFloor, floor: 3},
	"browser":         {level: levelFloor, floor: 3},

	"learning": {level: levelFloor, floor: 4},

	"workflow": {level: levelFloor, floor: 5},

	"evaluation": {level: levelFloor, floor: 6},
	"builder":    {level: levelFloor, floor: 6},
	"pulse":      {level: levelFloor, floor: 6},
	"schemas":    {level: levelFloor, floor: 6},
	"agentspec":  {level: levelFloor, floor: 6},

	"cmd":      {level: levelRoof},
	"examples": {level: levelRoof},
	"console":  {level: levelRoof},

	"agent/openai":     {level: levelLeaf, floor: 2, port: "agent"},
	"agent/mcp":        {level: levelLeaf, floor: 2, port: "agent"},
	"feedback/slack":   {level: levelLeaf, floor: 3, port: "feedback"},
	"workspace/sqlite": {level: levelLeaf, floor: 1, port: "workspace"},
	"temporal":         {level: levelLeaf, floor: 5, port: "workflow"},

	"agent/agenttest":         {level: levelKit, floor: 2, port: "agent"},
	"workspace/workspacetest": {level: levelKit, floor: 1, port: "workspace"},
	"feedback/feedbacktest":   {level: levelKit, floor: 3, port: "feedback"},
}

// placeOf finds the place of a package by the longest prefix.
func placeOf(pkg string) (place, error) {
	for prefix := pkg; prefix != "." && prefix != ""; prefix = path.Dir(prefix) {
		if p, ok := house[prefix]; ok {
			p.room = roomOf(pkg, prefix, p.level)
			return p, nil
		}
	}
	if pkg == "" {
		return house[""], nil
	}
	return place{}, fmt.Errorf("%s has no place in the house; give it one in floors_test.go and docs/design.md", pkg)
}

// roomOf is the entry of the table, except that every program and every example under
// the roof, and every package of the cellar, is a room of its own.
func roomOf(pkg, prefix string, l level) string {
	if l != levelRoof && l != levelCellar {
		return prefix
	}
	rest, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(pkg, prefix), "/"), "/")
	return path.Join(prefix, rest)
}

// forTests reports whether a package exists for tests only: a port's test kit, or a
// package of the cellar whose name says so (crashtest, openaitest). Tests, kits and
// such cellar packages import them; nothing that is shipped does.
func forTests(pkg string, p place) bool {
	return p.level == levelKit || p.level == levelCellar && strings.HasSuffix(pkg, "test")
}

// arrows are the imports inside the module: importing package to imported packages.
type arrows map[string][]string

// check returns why an import is refused, or nil.
func (a arrows) check(from, to string) error {
	src, err := placeOf(from)
	if err != nil {
		return err
	}
	dst, err := placeOf(to)
	if err != nil {
		return err
	}
	refuse := func(rule string) error { return fmt.Errorf("%s may not import %s: %s", from, to, rule) }
	switch {
	case dst.level == levelDoor:
		return refuse("the root package is documentation")
	case src.level == levelDoor:
		return refuse("the root package imports nothing")
	case src.room != "" && src.room == dst.room:
		return nil
	case forTests(to, dst):
		return checkKit(from, src, dst, refuse)
	case dst.level == levelRoof:
		return refuse("nothing stands on the roof")
	case dst.level == levelLeaf:
		if src.level != levelRoof {
			return refuse("only hosts and the roof import a leaf")
		}
		return nil
	case dst.level == levelCellar:
		return a.checkCellar(to, src, refuse)
	}
	return checkFloor(src, dst, to, refuse)
}

// checkKit judges an import of a package for tests.
func checkKit(from string, src, dst place, refuse func(string) error) error {
	switch {
	case !forTests(from, src):
		return refuse("only tests and packages for tests import a package for tests")
	case dst.level == levelCellar:
		return nil
	case src.level == levelCellar && dst.floor > 1:
		return refuse("the cellar reaches up to floor 1 and its kit, no further")
	case src.level == levelKit && dst.floor >= src.floor:
		return refuse("a kit imports the kits of lower floors")
	}
	return nil
}

// checkCellar judges an import of a cellar package. Floor 1 may use only what stands on
// nothing: a cellar package that leads back to a floor would close a circle of layers.
func (a arrows) checkCellar(to string, src place, refuse func(string) error) error {
	isFirst := src.level == levelFloor && src.floor == 1
	if !isFirst {
		return nil
	}
	if floor := a.reachesFloor(to, map[string]bool{}); floor != "" {
		return refuse("floor 1 imports only cellar packages that import no floor, and this one leads to " + floor)
	}
	return nil
}

// reachesFloor names a package above the cellar that pkg imports, directly or not.
func (a arrows) reachesFloor(pkg string, seen map[string]bool) string {
	if seen[pkg] {
		return ""
	}
	seen[pkg] = true
	for _, to := range a[pkg] {
		if p, err := placeOf(to); err != nil || p.level != levelCellar {
			return to
		}
		if floor := a.reachesFloor(to, seen); floor != "" {
			return floor
		}
	}
	return ""
}

// checkFloor judges an import of a floor.
func checkFloor(src, dst place, to string, refuse func(string) error) error {
	switch {
	case src.level == levelRoof:
		return nil
	case src.level == levelCellar && dst.floor > 1:
		return refuse("the cellar reaches up to floor 1, no further")
	case src.level == levelCellar, underPath(to, src.port) && src.port != "":
		return nil
	case dst.floor > src.floor:
		return refuse(fmt.Sprintf("floor %d is above", dst.floor))
	case dst.floor == src.floor:
		return refuse(fmt.Sprintf("both stand on floor %d", dst.floor))
	}
	return nil
}

// TestImportsGoDown reads the imports of every package of the module.
func TestImportsGoDown(t *testing.T) {
	t.Parallel()
	packages, _ := sources(t)
	require.Greater(t, len(packages), 10, "the packages of the module were not found")
	all := arrows{}
	for name, p := range packages {
		all[name] = sortedKeys(p.own())
	}
	for _, from := range sortedKeys(packages) {
		if _, err := placeOf(from); err != nil {
			t.Error(err)
		}
		for _, to := range all[from] {
			if err := all.check(from, to); err != nil {
				t.Errorf("%s: %v", packages[from].own()[to], err)
			}
		}
	}
}

// TestEveryWrongArrowIsRefused shows that the test above can fail, rule by rule.
func TestEveryWrongArrowIsRefused(t *testing.T) {
	t.Parallel()
	all := arrows{
		"internal/journal":   {"workspace"},
		"internal/outer":     {"internal/journal"},
		"internal/redact":    nil,
		"internal/loop":      {"internal/loop2"},
		"internal/loop2":     {"internal/loop"},
		"internal/crashtest": {"workspace", "workspace/workspacetest"},
	}
	for _, c := range []struct{ from, to, why string }{
		{"workspace", "agent", "floor 2 is above"},
		{"agent", "workflow", "floor 5 is above"},
		{"costs", "learning", "floor 4 is above"},
		{"workflow", "evaluation", "floor 6 is above"},
		{"workspace", "manifest", "both stand on floor 1"},
		{"stepconfig", "validation", "both stand on floor 3"},
		{"workspace/tools", "costs", "both stand on floor 3"},
		{"workspace", "workspace/tools", "floor 3 is above"},
		{"agent", "workspace/tools", "floor 3 is above"},
		{"evaluation", "builder", "both stand on floor 6"},
		{"workflow/internal/deep", "evaluation", "floor 6 is above"},
		{"internal/journal", "agent", "the cellar reaches up to floor 1"},
		{"internal/sandbox/helper", "workflow", "the cellar reaches up to floor 1"},
		{"internal/crashtest", "agent/agenttest", "the cellar reaches up to floor 1"},
		{"workspace", "internal/journal", "leads to workspace"},
		{"manifest", "internal/outer", "leads to workspace"},
		{"workflow", "agent/openai", "only hosts and the roof"},
		{"agent", "agent/mcp", "only hosts and the roof"},
		{"internal/bridge", "agent/mcp", "only hosts and the roof"},
		{"agent/openai", "agent/mcp", "only hosts and the roof"},
		{"agent/agenttest", "agent/openai", "only hosts and the roof"},
		{"agent/openai", "costs", "floor 3 is above"},
		{"feedback/slack", "browser", "both stand on floor 3"},
		{"workspace/sqlite", "manifest", "both stand on floor 1"},
		{"temporal", "evaluation", "floor 6 is above"},
		{"workflow", "agent/agenttest", "package for tests"},
		{"cmd/treadle", "workspace/workspacetest", "package for tests"},
		{"internal/journal", "internal/crashtest", "package for tests"},
		{"workspace/workspacetest", "agent/agenttest", "kits of lower floors"},
		{"agent/agenttest", "workflow", "floor 5 is above"},
		{"workflow", "cmd/treadle", "nothing stands on the roof"},
		{"examples/quickstart", "examples/parts", "nothing stands on the roof"},
		{"cmd/treadle", "console", "nothing stands on the roof"},
		{"workflow", "", "documentation"},
		{"", "workflow", "imports nothing"},
		{"somewhere", "agent", "has no place"},
		{"cmd/treadle", "helpers", "has no place"},
	} {
		assert.ErrorContains(t, all.check(c.from, c.to), c.why, "%q imports %q", c.from, c.to)
	}
	for _, c := range []struct{ from, to string }{
		{"agent", "workspace"},
		{"costs", "agent"},
		{"costs", "manifest"},
		{"workspace/tools", "workspace"},
		{"workspace/tools", "agent"},
		{"workspace/tools", "internal/outer"},
		{"workflow", "internal/journal"},
		{"workflow", "learning"},
		{"workflow", "workflow/internal/deep"},
		{"workspace", "internal/redact"},
		{"workspace", "internal/loop"},
		{"internal/journal", "workspace"},
		{"internal/journal", "internal/redact"},
		{"internal/crashtest", "workspace/workspacetest"},
		{"agent/agenttest", "agent"},
		{"agent/agenttest", "workspace/workspacetest"},
		{"agent/agenttest", "internal/crashtest"},
		{"agent/openai", "agent"},
		{"agent/mcp", "workspace"},
		{"feedback/slack", "feedback"},
		{"feedback/slack", "agent"},
		{"workspace/sqlite", "workspace"},
		{"temporal", "workflow"},
		{"temporal", "costs"},
		{"cmd/treadle", "agent/openai"},
		{"cmd/treadle", "evaluation"},
		{"cmd/treadle", "cmd/treadle/internal/flags"},
		{"examples/quickstart", "examples/quickstart/internal/clerk"},
		{"examples/quickstart/internal/clerk", "agent"},
		{"console", "workflow"},
	} {
		assert.NoError(t, all.check(c.from, c.to), "%q imports %q", c.from, c.to)
	}
}
