//go:build linux

package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/sandbox"
)

func TestEscapeByAForkBomb(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.attackOutside("bomb", "60"))
	b.command.Limits.Processes = 40
	result := b.attackInside("bomb", "60")
	assert.Equal(t, sandbox.LimitProcesses, result.Limit, "%+v %s", result, b.output.String())
}

func TestEscapeByAForkBombOfShells(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Processes = 30
	result := b.shell("f() { f | f & }; f; sleep 5")
	if !slices.Contains(result.Missing, sandbox.ProcessCgroup) {
		assert.Equal(t, sandbox.LimitProcesses, result.Limit, "%+v", result)
	}
	// Without a cgroup the bomb may be over, for want of processes, before it was seen.
	assert.True(t, result.Limit != "" || strings.Contains(b.output.String(), "fork"), "%+v %s", result, b.output.String())
	assert.Less(t, result.Duration, 20*time.Second)
}

func TestEscapeByMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.attackOutside("memory", "200"))
	b.command.Limits.Memory = 100 << 20
	result := b.attackInside("memory", "200")
	assert.NotZero(t, result.ExitCode)
	if !slices.Contains(result.Missing, sandbox.MemoryCgroup) {
		assert.Equal(t, sandbox.LimitMemory, result.Limit, "%+v", result)
	}
}

func TestEscapeByMemoryOfManyProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Memory = 200 << 20
	result := b.attackInside("memory-tree", "60")
	// Without a cgroup a process may meet its own limit first.
	stopped := slices.Contains(result.Missing, sandbox.MemoryCgroup) && result.ExitCode != 0
	assert.True(t, stopped || result.Limit == sandbox.LimitMemory, "%+v %s", result, b.output.String())
}

func TestEscapeByMemoryInTmp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Memory = 100 << 20
	result := b.shell("dd if=/dev/zero of=/tmp/fill bs=1M count=90; dd if=/dev/zero of=/dev/shm/fill bs=1M count=90")
	assert.NotEqual(t, 0, result.ExitCode, "%+v %s", result, b.output.String())
}

func TestEscapeByFillingTheDisk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Disk = 16 << 20
	result := b.attackInside("disk", "400")
	assert.Equal(t, sandbox.LimitDisk, result.Limit, "%+v %s", result, b.output.String())
}

func TestEscapeByFillingTheDiskWithoutAName(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Disk = 16 << 20
	result := b.attackInside("disk-nameless", "400")
	assert.Equal(t, sandbox.LimitDisk, result.Limit, "%+v %s", result, b.output.String())
}

func TestEscapeByManyEmptyFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Disk = 2 << 20
	result := b.attackInside("disk-tiny", "5000")
	assert.Equal(t, sandbox.LimitDisk, result.Limit, "%+v %s", result, b.output.String())
}

func TestEscapeByFoldersInFoldersWithoutEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	result := b.shell("i=0; while [ $i -lt 400 ]; do mkdir d && cd d || exit 9; i=$((i+1)); done; sleep 5")
	assert.Equal(t, sandbox.LimitDisk, result.Limit, "%+v %s", result, b.output.String())
}

func TestEscapeByOneHugeFile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.FileSize = 1 << 20
	require.NoError(t, b.attackOutside("big-file", "2"))
	result := b.attackInside("big-file", "2")
	assert.NotZero(t, result.ExitCode)
	info, err := os.Stat(filepath.Join(b.work, "big"))
	require.NoError(t, err)
	assert.LessOrEqual(t, info.Size(), int64(1<<20))
}

func TestEscapeByAFloodOfOutput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Output = 1 << 20
	result := b.run("yes")
	assert.Equal(t, sandbox.LimitOutput, result.Limit)
	assert.Equal(t, "killed", result.Signal)
	assert.Equal(t, 1<<20, b.output.Len())
}

func TestEscapeByAnEndlessRun(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Duration = 300 * time.Millisecond
	result := b.shell("trap '' TERM INT HUP; while :; do sleep 1; done")
	assert.Equal(t, sandbox.LimitDuration, result.Limit)
	assert.Less(t, result.Duration, 5*time.Second)
}

func TestEscapeByOrphans(t *testing.T) {
	t.Parallel()
	b := setup(t)
	result := b.shell("setsid sh -c 'trap \"\" TERM HUP; while :; do echo tick >> ticks; sleep 0.02; done' & while [ ! -s ticks ]; do sleep 0.01; done; echo started")
	assert.Zero(t, result.ExitCode)
	assert.Equal(t, "started\n", b.output.String())
	assert.Less(t, result.Duration, 10*time.Second, "an orphan that holds the output does not hold the host")
	before, err := os.ReadFile(filepath.Join(b.work, "ticks"))
	require.NoError(t, err)
	time.Sleep(200 * time.Millisecond)
	after, err := os.ReadFile(filepath.Join(b.work, "ticks"))
	require.NoError(t, err)
	assert.Equal(t, strings.Count(string(before), "\n"), strings.Count(string(after), "\n"), "nobody writes any more")
}
