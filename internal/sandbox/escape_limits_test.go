//go:build linux

package sandbox_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
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

func TestEscapeByReservingTheDisk(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("reserve", "64")
	result := b.shell("rm -f reserved; dd if=/dev/zero of=holes bs=1M count=4 status=none && fallocate --punch-hole --length 1MiB holes")
	assert.Zero(t, result.ExitCode, "giving space back is no way to take it: %s", b.output.String())
}

func TestEscapeByFillingTheDiskBeforeAnybodyLooks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Disk = 4 << 20
	result := b.shell("head -c 5M /dev/zero > fill")
	assert.Equal(t, sandbox.LimitDisk, result.Limit, "%+v %s", result, b.output.String())
	assert.NotZero(t, result.ExitCode, "what the command says of itself does not count")
	assert.FileExists(t, filepath.Join(b.work, "fill"), "what was written stays")
}

func TestEscapeByFillingTheDiskBehindManyFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for folder := range 6 {
		name := filepath.Join(b.work, "many", strconv.Itoa(folder))
		require.NoError(t, os.MkdirAll(name, 0o755))
		for file := range 1000 {
			require.NoError(t, os.WriteFile(filepath.Join(name, strconv.Itoa(file)), nil, 0o600))
		}
	}
	b.command.Limits.Disk = 8 << 20 // of which the walk over so many files is a good part
	result := b.shell("for i in 1 2 3 4 5 6 7 8 9; do dd if=/dev/zero of=fill-$i bs=1M count=32 status=none; sleep 0.02; done")
	assert.Equal(t, sandbox.LimitDisk, result.Limit, "%+v %s", result, b.output.String())
	assert.NoFileExists(t, filepath.Join(b.work, "fill-9"), "it was ended long before its end")
}

func TestEscapeByFillingTheDiskWithMappedFiles(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Disk = 16 << 20
	result := b.attackInside("disk-mapped", "400")
	assert.Equal(t, sandbox.LimitDisk, result.Limit, "%+v %s", result, b.output.String())
}

func TestEscapeByFillingTheDiskWithFilesInSockets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Disk = 16 << 20
	result := b.attackInside("disk-sent", "400")
	assert.Equal(t, sandbox.LimitDisk, result.Limit, "%+v %s", result, b.output.String())
}

func TestEscapeByFillingTheDiskBehindAThreadThatEnded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Disk = 16 << 20
	result := b.attackInside("disk-headless", "400")
	assert.Equal(t, sandbox.LimitDisk, result.Limit, "%+v %s", result, b.output.String())
}

func TestEscapeByMemoryInSockets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Memory = 128 << 20
	result := b.attackInside("sockets", "240")
	assert.True(t, memoryEnded(result), "%+v %s", result, b.output.String())
}

func TestEscapeByMemoryOfPageTables(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Limits.Memory = 160 << 20
	result := b.attackInside("page-tables", "260")
	assert.True(t, memoryEnded(result), "%+v %s", result, b.output.String())
}

// memoryEnded reports whether the limit on memory ended a command. Without a cgroup the race
// detector, which wants more, meets its process's own limit first.
func memoryEnded(result *sandbox.Result) bool {
	return result.Limit == sandbox.LimitMemory || raced && slices.Contains(result.Missing, sandbox.MemoryCgroup) && result.ExitCode != 0
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
