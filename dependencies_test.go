package treadle_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// dependency is a module that the library is built on.
type dependency struct {
	module string // prefix of its packages
	why    string
	// only are the packages that import it, each with what is below it. Nil is every
	// package that is shipped.
	only []string
	// tests says that only tests and packages for tests import it.
	tests bool
}

// dependencies are all that a package may import from outside the standard library. A
// heavy one is confined to a leaf, so that a host which does not use the leaf does not
// link it. A new line here is a decision: it needs its reason.
var dependencies = []dependency{
	{module: "github.com/openai/openai-go", why: "Chat Completions", only: []string{"agent/openai"}},
	{module: "github.com/mark3labs/mcp-go", why: "the Model Context Protocol; examples serve it too", only: []string{"agent/mcp", "examples"}},
	{module: "github.com/slack-go/slack", why: "questions and answers in Slack", only: []string{"feedback/slack"}},
	{module: "modernc.org/sqlite", why: "the database of a workflow, which checks ask", only: []string{"workspace/sqlite"}},
	{module: "github.com/invopop/jsonschema", why: "JSON Schemas out of Go types", only: []string{"agent", "schemas"}},
	{module: "github.com/santhosh-tekuri/jsonschema", why: "checking values against JSON Schemas", only: []string{"agent", "validation"}},
	{module: "golang.org/x/text", why: "the schema checker takes its messages' language from here", only: []string{"agent", "validation"}},
	{module: "github.com/theory/jsonpath", why: "RFC 9535 paths: in validation schemas, and to look into offloaded results", only: []string{"agent", "validation"}},
	{module: "github.com/robfig/cron", why: "the five fields of a schedule: whether they ever come due", only: []string{"workflow", "pulse"}},
	{module: "github.com/tidwall/gjson", why: "reading a daily cost file level by level without decoding what is kept as it is; the Chat Completions client brings it", only: []string{"costs"}},
	{module: "github.com/oklog/ulid", why: "run ids that sort by time"},
	{module: "go.opentelemetry.io/otel", why: "traces and metrics, the API only", only: []string{"agent", "workflow", "cmd", "examples"}},
	{module: "golang.org/x/sync", why: "errgroup, singleflight"},
	{module: "golang.org/x/sys", why: "system calls"},

	{module: "github.com/stretchr/testify", tests: true},
	{module: "pgregory.net/rapid", tests: true},
	{module: "go.uber.org/goleak", tests: true},
	{module: "github.com/rogpeppe/go-internal", tests: true},
}

// checkDependency returns why an import of another module's package is refused, or nil.
func checkDependency(from, to string) error {
	for _, d := range dependencies {
		if !underPath(to, d.module) {
			continue
		}
		p, err := placeOf(from)
		switch {
		case err != nil:
			return err
		case d.tests && !forTests(from, p):
			return fmt.Errorf("%s may not import %s: it is for tests", from, to)
		case d.tests || d.only == nil:
			return nil
		}
		for _, allowed := range d.only {
			if placed(from, allowed) {
				return nil
			}
		}
		return fmt.Errorf("%s may not import %s: it is confined to %s", from, to, strings.Join(d.only, ", "))
	}
	return fmt.Errorf("%s may not import %s: no entry in dependencies_test.go says why it is needed", from, to)
}

// placed reports whether pkg is the allowed package or inside it. The longest prefix
// counts here too: what "agent" may use is not for agent/mcp.
func placed(pkg, allowed string) bool {
	if !underPath(pkg, allowed) {
		return false
	}
	for prefix := range house {
		if prefix != allowed && underPath(prefix, allowed) && underPath(pkg, prefix) {
			return false
		}
	}
	return true
}

// TestDependenciesStayInTheirPlace reads what every package imports from other modules.
func TestDependenciesStayInTheirPlace(t *testing.T) {
	t.Parallel()
	packages, _ := sources(t)
	for _, from := range sortedKeys(packages) {
		foreign := packages[from].foreign()
		for _, to := range sortedKeys(foreign) {
			if err := checkDependency(from, to); err != nil {
				t.Errorf("%s: %v", foreign[to], err)
			}
		}
	}
}

// TestStrayDependenciesAreRefused shows that the test above can fail.
func TestStrayDependenciesAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ from, to, why string }{
		{"workflow", "github.com/openai/openai-go/v3", "confined to agent/openai"},
		{"agent", "github.com/openai/openai-go/v3/option", "confined to agent/openai"},
		{"agent/openai", "github.com/mark3labs/mcp-go/mcp", "confined to agent/mcp"},
		{"agent/mcp", "github.com/santhosh-tekuri/jsonschema/v6", "confined to agent, validation"},
		{"workspace", "github.com/gofrs/flock", "says why it is needed"},
		{"costs", "modernc.org/sqlite", "confined to workspace/sqlite"},
		{"workflow", "github.com/stretchr/testify/assert", "for tests"},
		{"internal/journal", "pgregory.net/rapid", "for tests"},
		{"workflow", "go.temporal.io/sdk/workflow", "says why it is needed"},
		{"agent", "github.com/openai/openai-go-extras", "says why it is needed"},
	} {
		assert.ErrorContains(t, checkDependency(c.from, c.to), c.why, "%s imports %s", c.from, c.to)
	}
	for _, c := range []struct{ from, to string }{
		{"agent/openai", "github.com/openai/openai-go/v3"},
		{"examples/quickstart/internal/filesmcp", "github.com/mark3labs/mcp-go/server"},
		{"workspace/workspacetest", "github.com/stretchr/testify/require"},
		{"internal/crashtest", "github.com/stretchr/testify/require"},
		{"validation", "github.com/theory/jsonpath/spec"},
		{"workspace", "golang.org/x/sys/unix"},
	} {
		assert.NoError(t, checkDependency(c.from, c.to), "%s imports %s", c.from, c.to)
	}
}
