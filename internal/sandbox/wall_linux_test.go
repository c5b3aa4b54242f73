package sandbox

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestNothingRunsWithoutBothNamespacesAndWhatStandsInForThem(t *testing.T) {
	t.Parallel()
	for _, feature := range []Feature{Landlock, Seccomp} {
		_, _, err := confinedCommand(&Command{Argv: []string{"true"}}, []Feature{Namespaces, feature})
		var lacking *UnavailableError
		require.ErrorAs(t, err, &lacking)
		assert.Equal(t, Namespaces, lacking.Feature)
		assert.ErrorContains(t, err, string(feature)+" is missing as well")
	}
}

func TestTheWallIsTheBestThatIsLeft(t *testing.T) {
	t.Parallel()
	assert.Equal(t, ownNamespaces, wallWithout([]Feature{Landlock, Proc}))
	want := confined
	if rootHere() && mayMount() {
		want = rootsNamespaces
	}
	assert.Equal(t, want, wallWithout([]Feature{Namespaces}))
}

func TestAPortOfTheHostIsAskedForThroughTheProxy(t *testing.T) {
	t.Parallel()
	for want, hosts := range map[string][]string{
		"localhost 127.0.0.1": {"example.com:443", "*.localhost.example:1"},
		"127.0.0.1":           {"LocalHost.:8080"},
		"localhost":           {"127.0.0.1:80"},
		"":                    {"localhost:1", "127.0.0.1:1"},
	} {
		s := &session{command: &Command{PrivateHosts: hosts}}
		got := ""
		for i, name := range s.direct() {
			if i > 0 {
				got += " "
			}
			got += name
		}
		assert.Equal(t, want, got)
	}
}
