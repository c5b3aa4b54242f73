package mcp

import (
	"regexp"
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
	for want, pair := range map[string][2]string{
		"files__a_b_0863d1c6": {"files", "a.b"},
	} {
		got := toolName(pair[0], pair[1])
		assert.Regexp(t, `^files__a_b_[0-9a-f]{8}$`, got)
		_ = want
	}
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
