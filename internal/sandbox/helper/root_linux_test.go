package helper

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestFoldersBetweenAWritablePathAndAnotherInItArePinned(t *testing.T) {
	t.Parallel()
	assert.Equal(t, []string{"/w/a", "/w/a/b"}, between([]Bind{
		{Name: "/w", Write: true}, {Name: "/w/a/b/c"}, {Name: "/w/d"}, {Name: "/r"}, {Name: "/r/x/y"}, {Name: "/wide/a/b"},
	}))
	assert.Empty(t, between([]Bind{{Name: "/w", Write: true}}))
}

func TestACommandIsLookedUpInItsOwnPath(t *testing.T) {
	t.Parallel()
	found, err := find(&Config{Argv: []string{"sh"}, Env: []string{"PATH=/nonexistent:/usr/bin"}})
	assert.NoError(t, err)
	assert.Equal(t, "/usr/bin/sh", found)
	_, err = find(&Config{Argv: []string{"sh"}, Env: []string{"PATH=/nonexistent"}})
	assert.Error(t, err)
	found, err = find(&Config{Argv: []string{"./sh"}})
	assert.NoError(t, err)
	assert.Equal(t, "./sh", found)
}
