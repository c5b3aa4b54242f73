package mcp

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestANameIsKeptWhereItCanBe(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "files__read_file", toolName("files", "read_file"))
	assert.Equal(t, "a__b__c", toolName("a", "b__c"))
}

func TestAnUnacceptableNameIsCleanedAndKeepsItsPlaceForEver(t *testing.T) {
	t.Parallel()
	// Stored runs and configurations hold these names: they must never change.
	for want, pair := range map[string][2]string{
		"files__a_b_386a2e7d":     {"files", "a.b"},
		"files__a_b_93553ba0":     {"files", "a/b"},
		"my_files__read_18549480": {"my files", "read"},
		"a___b_a00766a3":          {"a_", "b"},
		"files__longlonglonglonglonglonglonglonglonglonglonglong_510d7989": {"files", strings.Repeat("long", 20)},
		"serverserverserverserver__tool_84987d8a":                          {strings.Repeat("server", 10), "tool"},
		"____93f47983": {"", "😀"},
	} {
		assert.Equal(t, want, toolName(pair[0], pair[1]))
	}
}

func TestAToolCannotTakeTheNameThatAnotherServersToolGets(t *testing.T) {
	t.Parallel()
	victim := toolName("my.files", "read") // whose server's name is cleaned to the other's
	forged := strings.TrimPrefix(victim, "my_files__")
	assert.NotEqual(t, victim, toolName("my_files", forged))
	assert.Equal(t, "files__report_20261130a", toolName("files", "report_20261130a"))
	assert.Equal(t, "files__report_2026_11_30", toolName("files", "report_2026_11_30"))
}

func TestNamesAreAlwaysAcceptableAndNeverShared(t *testing.T) {
	t.Parallel()
	acceptable := regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	// Few letters, so that near misses are common.
	word := rapid.OneOf(rapid.StringMatching(`[ab_./ é-]{1,6}`), rapid.StringMatching(`[ab_.]{50,90}`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		type pair struct{ server, tool string }
		a := pair{word.Draw(t, "server"), word.Draw(t, "tool")}
		b := pair{word.Draw(t, "other server"), word.Draw(t, "other tool")}
		nameA, nameB := toolName(a.server, a.tool), toolName(b.server, b.tool)
		if !acceptable.MatchString(nameA) {
			t.Fatalf("%q for %q", nameA, a)
		}
		if a != b && nameA == nameB {
			t.Fatalf("%q for both %q and %q", nameA, a, b)
		}
	})
}
