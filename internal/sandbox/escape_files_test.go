//go:build linux

package sandbox_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/treadle-dev/treadle/internal/sandbox"
)

func TestEscapeReadingAFileOutsideByItsPath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("read", b.secret)
}

func TestEscapeWritingAFileOutsideByItsPath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	victim := filepath.Join(b.outside, "victim")
	require.NoError(t, os.WriteFile(victim, nil, 0o666))
	b.refuses("write", victim)
}

func TestEscapeReadingThroughDotDot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("read", b.work+"/../outside/secret")
}

func TestEscapeReadingThroughASymbolicLink(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("symlink", b.secret)
}

func TestEscapeReadingThroughALinkOfTheHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, os.Symlink("../outside/secret", filepath.Join(b.work, "there")))
	b.refuses("read", filepath.Join(b.work, "there"))
}

func TestEscapeLinkingAFileOutside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("hardlink", b.secret)
}

func TestEscapeLinkingAReadOnlyFileIntoAWritableFolder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: b.outside})
	b.refuses("hardlink", b.secret)
}

func TestEscapeRenamingAFileOutsideIntoTheFolder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.attackOutside("rename-here", b.secret))
	require.NoError(t, os.Rename(filepath.Join(b.work, "stolen"), b.secret))
	b.refusesInside("rename-here", b.secret)
	assert.FileExists(t, b.secret)
}

func TestEscapeRenamingAFolderAboveAProtectedOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	protected := filepath.Join(b.work, "run", "journal")
	require.NoError(t, os.MkdirAll(protected, 0o755))
	require.NoError(t, b.attackOutside("rename-away", protected))
	require.NoError(t, os.RemoveAll(filepath.Join(b.work, "run")))
	require.NoError(t, os.RemoveAll(filepath.Join(b.work, "run-moved")))
	require.NoError(t, os.MkdirAll(protected, 0o755))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: protected})
	b.refusesInside("rename-away", protected)
	assert.NoFileExists(t, filepath.Join(protected, "planted"))
}

func TestEscapeRenamingAProtectedFolder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	protected := filepath.Join(b.work, "protected", "file")
	require.NoError(t, os.MkdirAll(protected, 0o755))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: filepath.Dir(protected)})
	b.refusesInside("rename-away", protected)
	assert.DirExists(t, protected)
}

func TestEscapeWritingAReadOnlyPath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	victim := filepath.Join(b.outside, "victim")
	require.NoError(t, os.WriteFile(victim, nil, 0o666))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: b.outside})
	b.refuses("write", victim)
}

func TestEscapeReopeningAReadOnlyFileForWriting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	victim := filepath.Join(b.outside, "victim")
	require.NoError(t, os.WriteFile(victim, nil, 0o666))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: b.outside})
	b.refuses("reopen", victim)
}

func TestEscapeWritingAReadOnlyFolderInAWritableOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inner := filepath.Join(b.work, "inner")
	require.NoError(t, os.Mkdir(inner, 0o777))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: inner})
	require.NoError(t, b.attackOutside("make", inner))
	require.NoError(t, os.Remove(filepath.Join(inner, "made")))
	b.refusesInside("make", inner)
	assert.NoFileExists(t, filepath.Join(inner, "made"))
}

func TestEscapeWritingTheJournal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	run := filepath.Join(b.root, "runs", "iteration-1")
	work := filepath.Join(run, "work", "step-1")
	require.NoError(t, os.MkdirAll(work, 0o755))
	journal := filepath.Join(run, "journal.jsonl")
	require.NoError(t, os.WriteFile(journal, []byte("{}\n"), 0o666))
	b.command.Dir = work
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: work, Write: true})
	require.NoError(t, b.attackOutside("append", journal))
	before, err := os.ReadFile(journal)
	require.NoError(t, err)
	b.refusesInside("append", journal)
	after, err := os.ReadFile(journal)
	require.NoError(t, err)
	assert.Equal(t, before, after)
}

func TestEscapeWritingAJournalThatMayBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	journal := filepath.Join(b.work, "journal.jsonl")
	require.NoError(t, os.WriteFile(journal, []byte("{}\n"), 0o666))
	require.NoError(t, b.attackOutside("append", journal))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: journal})
	b.refusesInside("append", journal)
}

func TestEscapeReplacingAJournalThatMayBeRead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	journal := filepath.Join(b.work, "journal.jsonl")
	require.NoError(t, os.WriteFile(journal, []byte("{}\n"), 0o666))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: journal})
	b.refusesInside("delete", journal)
	assert.FileExists(t, journal)
}

func TestEscapeReadingAnotherStepsFolder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := filepath.Join(b.root, "other-step")
	require.NoError(t, os.Mkdir(other, 0o755))
	b.refuses("list", other)
}

func TestEscapeWritingAnotherStepsFolder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("make", b.outside)
}

func TestEscapeListingTheFolderAbove(t *testing.T) {
	t.Parallel()
	b := setup(t)
	result := b.shell("ls -A .. && ls -A /home /root")
	assert.NotContains(t, b.output.String(), "outside", "%+v", result)
}

func TestEscapeWritingTheSystem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, folder := range []string{"/usr/bin", "/etc", "/", "/dev", "/usr/lib"} {
		b.refusesInside("make", folder)
	}
}

func TestEscapeReadingTheHostsHardware(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"cmdline", "interrupts", "partitions", "diskstats", "iomem", "locks", "modules", "devices", "swaps"} {
		if b.attackOutside("content", "/proc/"+name) == nil {
			b.refusesInside("content", "/proc/"+name)
		}
	}
	b.output.Reset()
	b.command.Env = []string{"PATH=/usr/bin:/bin"}
	b.shell("ls /proc/irq /proc/bus /proc/acpi; cat /proc/self/cgroup | grep -v ':/$'; head -c 0 /proc/meminfo && head -c 0 /proc/cpuinfo && head -c 0 /proc/stat && echo the rest stays")
	assert.Contains(t, b.output.String(), "the rest stays")
	assert.NotRegexp(t, `(?m)^[0-9]`, b.output.String(), "neither interrupts nor names of cgroups")
}

func TestEscapeWritingBesideThePathsInTmp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	folder, err := os.MkdirTemp("/tmp", "treadle-beside-") //nolint:usetesting // it must lie in /tmp, wherever the others do
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	inner := filepath.Join(folder, "a", "b")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	file := filepath.Join(folder, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.NoError(t, os.Chmod(folder, 0o755))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: inner, Write: true}, sandbox.Path{Name: file, Write: true})
	for _, name := range []string{folder, filepath.Dir(inner)} {
		b.refuses("make", name)
		require.NoError(t, os.Remove(filepath.Join(name, "made")))
	}
	b.output.Reset()
	result := b.shell("touch " + inner + "/here && echo x > " + file + " && touch ${TMPDIR:-/tmp}/tmp-$$ && mkdir -p ${TMPDIR:-/tmp}/own/folder")
	assert.Zero(t, result.ExitCode, b.output.String())
	assert.FileExists(t, filepath.Join(inner, "here"))
}

func TestEscapeReadingTheHostsUsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.attackOutside("open", "/etc/group"))
	b.refusesInside("open", "/etc/shadow")
	b.refusesInside("open", "/etc/ssh")
	b.output.Reset()
	b.shell("cat /etc/passwd")
	assert.NotContains(t, b.output.String(), "root:x:0")
}

func TestEscapeByAnInheritedDescriptor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fd, err := unix.Open(b.outside, unix.O_RDONLY|unix.O_DIRECTORY, 0) // a careless host: not closed on exec
	require.NoError(t, err)
	defer unix.Close(fd)
	b.refuses("inherited", "secret")
}

func TestEscapeThroughTheRootsOfProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("proc-root", b.secret)
}

func TestEscapeThroughDescriptorsOfProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	result := b.shell("for fd in /proc/self/fd/* /proc/[0-9]*/fd/*; do cat \"$fd/../outside/secret\" \"$fd/../../outside/secret\" 2>/dev/null; done; echo done")
	assert.Zero(t, result.ExitCode)
	assert.Equal(t, "done\n", b.output.String())
}

func TestEscapeByMakingADeviceNode(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("mknod", "")
}

func TestEscapeThroughADeviceNodeThatIsThere(t *testing.T) {
	t.Parallel()
	b := setup(t)
	node := filepath.Join(b.work, "memory")
	if os.Geteuid() == 0 {
		require.NoError(t, unix.Mknod(node, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5)))) // zero, which anybody may open
		require.NoError(t, os.Chmod(node, 0o666))
		require.NoError(t, b.attackOutside("open", node))
	}
	b.refusesInside("open", node)
}

func TestEscapeOpeningTheMachinesMemoryAndDisks(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, device := range []string{"/dev/mem", "/dev/kmsg", "/dev/vda", "/dev/sda", "/dev/tty", "/dev/ptmx", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/proc/kcore/x"} {
		b.refusesInside("open", device)
	}
}

func TestEscapeOutOfAChroot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("chroot", b.secret)
}

func TestEscapeOpeningAFileByItsHandle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("handle", b.secret)
}

func TestEscapeWatchingAFolderOutside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("inotify", b.outside)
}

func TestEscapeWritingSystemSettings(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"/proc/sys/vm/swappiness", "/proc/sys/kernel/hostname", "/proc/sys/net/ipv4/ip_forward"} {
		b.refusesAlsoRoot("open-write", name)
	}
	b.refusesInside("open-write", "/proc/sysrq-trigger")
}

func TestEscapeWritingBelowSys(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("list", "/sys")
}

func TestEscapeLeavingTheCgroup(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.DirExists(t, "/sys/fs/cgroup")
	b.refuses("list", "/sys/fs/cgroup")
}

func TestEscapeGivingAFileToRoot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("chown", "")
}

func TestEscapeGivingAFileCapabilities(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("capability", "")
}

func TestEscapeByASetUserIDProgram(t *testing.T) {
	t.Parallel()
	b := setup(t)
	program := filepath.Join(b.work, "id")
	copyFile(t, "/usr/bin/id", program)
	require.NoError(t, os.Chmod(program, os.ModeSetuid|0o755))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: program})
	b.refusesAlsoRoot("setuid", program)
	if os.Geteuid() == 0 {
		info, err := os.Stat(program)
		require.NoError(t, err)
		stat, _ := info.Sys().(*syscall.Stat_t)
		assert.Zero(t, stat.Uid, "the program was root's own all the time")
		assert.NotZero(t, info.Mode()&os.ModeSetuid)
	}
}

func TestEscapeChangingModesAndTimesOutside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("mode", b.secret)
	b.refuses("times", b.secret)
}
