package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/costs"
)

func TestTextOfOthersCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "a \uFFFD[2Jb c", clean("a \x1b[2Jb\r\n\tc"))
	assert.Equal(t, "a\n\uFFFDb", cleanLines("a\n\u202Eb"))
}

func TestNumbersThatAreLowerBoundsSaySo(t *testing.T) {
	t.Parallel()
	usage := agent.Usage{Input: new(int64(10)), CacheRead: new(int64(5)), Output: new(int64(2))}
	known := costs.Amount{Calls: 1, Usage: usage, Cost: costs.Cost{Total: new(costs.Dollars(0.5))}}
	bound := known
	bound.Calls, bound.CallsWithoutUsage, bound.CallsWithoutPrice = 2, 1, 1
	assert.Equal(t, "17 (15 in, 2 out) in 1 model call", tokensText(&known))
	assert.Equal(t, "at least 17 (15 in, 2 out) in 2 model calls", tokensText(&bound))
	assert.Equal(t, "0, no model call", tokensText(&costs.Amount{}))
	assert.Equal(t, "$0.5", costCell(&known))
	assert.Equal(t, "at least $0.5", costCell(&bound))
	assert.Equal(t, "unknown", costCell(&costs.Amount{Calls: 1, CallsWithoutPrice: 1}))
	assert.Equal(t, "$0", costCell(&costs.Amount{}))
	assert.Empty(t, costText(&costs.Amount{Calls: 1}))
}

func TestACommandToTypeIsQuotedForAShell(t *testing.T) {
	t.Parallel()
	for dir, want := range map[string]string{
		".":        "treadle resume --run iteration-1",
		"a/b_c.d":  "treadle resume --run iteration-1 -C a/b_c.d",
		"my files": "treadle resume --run iteration-1 -C 'my files'",
		"it's $x":  `treadle resume --run iteration-1 -C 'it'\''s $x'`,
	} {
		assert.Equal(t, want, (&command{dir: dir}).resumeCommand("iteration-1"))
	}
}

func TestOnlyFoldersThatLeadToTheWorkflowAreNoSecret(t *testing.T) {
	t.Parallel()
	assert.True(t, leadsTo("/home/a", "/home/a/flows/x"))
	assert.True(t, leadsTo("/home/a/flows/x/", "/home/a/flows/x"))
	assert.False(t, leadsTo("/home/ab", "/home/a/flows/x"))
	assert.False(t, leadsTo("/home/a/flows/x/secret", "/home/a/flows/x"))
	assert.False(t, leadsTo("home", "/home/a"))
	assert.False(t, leadsTo("", "/home/a"))
	assert.False(t, leadsTo("/home", ""))
}

func TestDurationsAreRoundedForPeople(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "12ms", tookText(12345*time.Microsecond))
	assert.Equal(t, "12.3s", tookText(12345*time.Millisecond))
	assert.Equal(t, "2m3s", tookText(123456*time.Millisecond))
}
