package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCgroupsAreFoundInBothVersions(t *testing.T) {
	t.Parallel()
	c := &cgroups{
		own: "4:cpu,memory:/service/a\n3:pids:/\n0::/user/me\n",
		mounts: "30 20 0:1 / /sys/fs/cgroup/memory rw shared:1 - cgroup cgroup rw,cpu,memory\n" +
			"31 20 0:2 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n" +
			"32 20 0:3 /user /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n" +
			"not a mount\n",
	}
	assert.Equal(t, "/sys/fs/cgroup/memory/service/a", c.folder("memory"))
	assert.Equal(t, "/sys/fs/cgroup/pids", c.folder("pids"))
	assert.Equal(t, "/sys/fs/cgroup/unified/me", c.folder(""), "a container sees a part of the hierarchy")
	assert.Empty(t, c.folder("freezer"))
	assert.Empty(t, (&cgroups{}).folder(""))
}

// delegated is a hierarchy of version 2 in which a user may make groups.
func delegated(t *testing.T) (system *cgroups, app string) {
	t.Helper()
	app = filepath.Join(t.TempDir(), "app")
	scope := filepath.Join(app, "own.scope")
	require.NoError(t, os.MkdirAll(scope, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(scope, "cgroup.subtree_control"), nil, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(app, "cgroup.subtree_control"), []byte("cpu memory pids\n"), 0o600))
	return &cgroups{own: "0::/app/own.scope\n", mounts: fmt.Sprintf("32 20 0:3 / %s rw - cgroup2 cgroup2 rw\n", filepath.Dir(app))}, app
}

func TestOneGroupOfVersion2StandsBesideThisProcesssOwn(t *testing.T) {
	t.Parallel()
	system, app := delegated(t)
	memory := system.make("memory", nil)
	require.NotNil(t, memory)
	assert.Equal(t, app, filepath.Dir(memory.folder))
	assert.Equal(t, 2, memory.version)
	assert.Same(t, memory, system.make("pids", memory))
	assert.Nil(t, system.make("hugetlb", nil))
	assert.False(t, memory.limitMemory(1<<20), "a folder that the kernel does not fill is no group")
	require.NoError(t, memory.remove())
	require.NoError(t, memory.remove(), "what is gone is removed")
}

func TestGroupsOfAHostThatWasKilledAreSwept(t *testing.T) {
	t.Parallel()
	system, app := delegated(t)
	// Numbers of processes end before this one.
	left := filepath.Join(app, groupPrefix()+"99999999-1")
	alive := filepath.Join(app, groupPrefix()+fmt.Sprint(os.Getppid())+"-1")
	elsewhere := filepath.Join(app, "treadle-1-99999999-1")
	for _, folder := range []string{left, alive, elsewhere} {
		require.NoError(t, os.Mkdir(folder, 0o755))
	}
	require.NotNil(t, system.make("memory", nil))
	assert.NoDirExists(t, left)
	assert.DirExists(t, alive)
	assert.DirExists(t, elsewhere, "its number belongs to another namespace")
}
