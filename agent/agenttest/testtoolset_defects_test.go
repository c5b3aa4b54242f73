package agenttest_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/agent/agenttest"
)

// foundBy is what finds a defect: a check, and words that it says.
type foundBy struct{ check, words string }

var toolsetDefects = map[string]foundBy{
	"no name":             {"the name can be selected", "Name is empty"},
	"a colon in its name": {"the name can be selected", "a colon ends it"},
	"a name of the day":   {"the name can be selected", `"loom-1" and then "loom-2"`},
	"a name by number":    {"the name can be selected", "in a second toolset"},
	"changes its sharing": {"what a toolset says of itself never changes", "the toolset said"},
	"an unknown sharing":  {"what a toolset says of itself never changes", "Sharing is 7"},
	"a colon in an alias": {"what a toolset says of itself never changes", "an alias"},
	"shares its aliases":  {"what a toolset says of itself never changes", "changed by the caller"},
	"optional by number":  {"what a toolset says of itself never changes", "in a second toolset"},

	"a name that endpoints refuse": {"tools have names that endpoints take", `"list.all"`},
	"two tools of one name":        {"tools have names that endpoints take", `two tools are called "cut"`},
	"two tools of one origin":      {"tools have names that endpoints take", `called "cut" inside the toolset`},
	"forgets an origin":            {"tools have names that endpoints take", "the names inside the toolset are"},
	"forgets a tool":               {"tools have names that endpoints take", "the names are"},
	"a nil tool":                   {"tools have names that endpoints take", "tool 3 of the list is nil"},
	"lists in any order":           {"the list is the same each time", "the second call of Tools"},
	"lists by number":              {"the list is the same each time", "a second toolset"},
	"needs a step":                 {"the list is the same each time", "there is no run"},

	"a schema that is no JSON":        {"input schemas are of an object", "is not JSON"},
	"a schema that allows everything": {"input schemas are of an object", "is not an object"},
	"a schema of a string":            {"input schemas are of an object", "the type string at its root"},
	"a schema without a type":         {"input schemas are of an object", `want "object"`},
	"a schema that does not compile":  {"input schemas are of an object", "does not compile"},
	"a schema that lies elsewhere":    {"input schemas are of an object", "example.com"},
	"an unknown effect":               {"specs stay as they are", `"harmless"`},
	"another description each time":   {"specs stay as they are", "asked for again"},
	"another description once closed": {"specs stay as they are", "after Close"},
	"shares its schema":               {"what a caller changes is its own", "and so everyone's"},
	"shares its list":                 {"what a caller changes is its own", "is nil"},

	"opens nothing":                             {"a call succeeds", "neither a session nor an error"},
	"returns nothing":                           {"a call succeeds", "neither a result nor an error"},
	"changes its call":                          {"a call succeeds", "the tool changed its call"},
	"writes behind the arguments":               {"a call succeeds", "behind the arguments"},
	"structured text":                           {"a call succeeds", "cannot be written as JSON"},
	"text that is no text":                      {"a call succeeds", "does not come back from JSON"},
	"an unknown part":                           {"a call succeeds", `type "cloth"`},
	"hides failures":                            {"a refused call is a failure that can be read", "succeeded"},
	"fails without a word":                      {"a refused call is a failure that can be read", "no reason"},
	"takes failures for the end of the context": {"a refused call is a failure that can be read", "had not ended"},
	"takes failures for errors":                 {"a refused call is a failure that can be read", "want a failed result"},
	"suspends at failures":                      {"a refused call is a failure that can be read", "suspended the run"},
	"breaks at a failure":                       {"a refused call is a failure that can be read", "the loom is broken"},
	"refuses absent arguments":                  {"no arguments are an empty object", "there are no arguments"},
	"tells null from nothing":                   {"no arguments are an empty object", `with "null"`},

	"ignores a context that has ended": {"a context that has ended makes no call", "want one that matches context canceled"},
	"ignores the caller":               {"canceling ends a call and no more", "did not return"},
	"hides cancellation":               {"canceling ends a call and no more", "something went wrong"},
	"breaks at a canceled call":        {"canceling ends a call and no more", "the loom is broken"},
	"ends calls with a panic":          {"a deadline ends a call", "the shuttle is lost"},
	"one at a time":                    {"calls can be made side by side", "the loom is busy"},
	"swaps answers":                    {"calls can be made side by side", `"wove thread-15", without`},

	"one session for all":                {"sessions are independent", "after another session was closed"},
	"ends with the context of its start": {"the context of the start ends nothing later", "context canceled"},
	"hangs at a canceled start":          {"a start that is canceled leaves nothing", "Open did not return"},
	"an unclear failed start":            {"a start that is canceled leaves nothing", "the loom is not ready"},
	"leaks at a canceled start":          {"a start that is canceled leaves nothing", "left goroutines"},

	"works after Close":              {"a closed session refuses", "a call after Close returned"},
	"hangs after Close":              {"a closed session refuses", "did not return"},
	"panics after Close":             {"closing meets calls", "the loom is gone"},
	"lists after Close":              {"a closed session refuses", "Tools after Close returned 0 tools"},
	"never closes":                   {"closing meets calls", "succeed for ever"},
	"lets calls be done first":       {"closing ends a call under way", "Close did not return"},
	"leaves calls running":           {"closing ends a call under way", "did not return"},
	"takes cancellation for success": {"closing ends a call under way", "want an error"},
	"closes once":                    {"closing again is fine", "it is closed"},
	"panics at the second Close":     {"closing again is fine", "Close panicked"},
	"hangs at the second Close":      {"closing again is fine", "Close did not return"},
	"leaves a goroutine":             {"closing leaves nothing", "left goroutines"},
	"leaves a goroutine a call":      {"closing leaves nothing", "left goroutines"},
}

// TestDefectiveToolset runs only as a child of the test below.
func TestDefectiveToolset(t *testing.T) {
	defect := os.Getenv(defectEnv)
	if defect == "" {
		t.Skip("runs inside TestEveryDefectOfAToolsetIsFoundOut")
	}
	cfg := loomTest(func(*testing.T) agent.Toolset { return newFaultyLoom(defect) })
	cfg.Timeout = 500 * time.Millisecond
	agenttest.TestToolset(t, cfg)
}

func TestEveryDefectOfAToolsetIsFoundOut(t *testing.T) {
	t.Parallel()
	for defect, found := range toolsetDefects {
		t.Run(defect, func(t *testing.T) {
			t.Parallel()
			requireFound(t, defect, found)
		})
	}
}

// requireFound runs the check that must find a defect.
func requireFound(t *testing.T, defect string, found foundBy) {
	t.Helper()
	check := strings.ReplaceAll(found.check, " ", "_")
	out, err := runDefective(t, defect, "/^"+regexp.QuoteMeta(check)+"$")
	require.Error(t, err, "the suite did not see it")
	assert.Contains(t, out, "--- FAIL: TestDefectiveToolset/"+check)
	assert.Contains(t, out, found.words)
}

// runDefective runs checks against a toolset with a defect, in a process of its own.
func runDefective(t *testing.T, defect, checks string) (out string, err error) {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	child := exec.CommandContext(t.Context(), binary, "-test.v", "-test.run=^TestDefectiveToolset$"+checks)
	child.Env = append(os.Environ(), defectEnv+"="+defect)
	output, err := child.CombinedOutput()
	return string(output), err
}

func TestEveryCheckOfAToolsetFindsADefect(t *testing.T) {
	t.Parallel()
	out, _ := runDefective(t, "opens nothing", "") // every check begins, and few take long
	used := map[string]bool{}
	for _, found := range toolsetDefects {
		used[strings.ReplaceAll(found.check, " ", "_")] = true
	}
	checks := regexp.MustCompile(`(?m)^=== RUN +TestDefectiveToolset/(.+)$`).FindAllStringSubmatch(out, -1)
	assert.Len(t, checks, len(used))
	for _, check := range checks {
		assert.True(t, used[check[1]], "no defect is found by %s", check[1])
	}
}

func TestAToolsetThatMakesOneCallAtATimeIsTestedSo(t *testing.T) {
	t.Parallel()
	cfg := loomTest(func(*testing.T) agent.Toolset { return newFaultyLoom("one at a time") })
	cfg.Serial = true
	agenttest.TestToolset(t, cfg)
}

func TestALoomWithoutADefectKeepsThePromises(t *testing.T) {
	t.Parallel()
	agenttest.TestToolset(t, loomTest(func(*testing.T) agent.Toolset { return newFaultyLoom("none") }))
}
