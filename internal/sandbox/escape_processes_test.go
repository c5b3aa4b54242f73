//go:build linux

package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/treadle-dev/treadle/internal/sandbox"
)

// victim is a process of the host with a secret in its environment.
func victim(t *testing.T) (pid string) {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), "sleep", "100")
	cmd.Env = []string{"TOKEN=" + secretText}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return strconv.Itoa(cmd.Process.Pid)
}

func TestEscapeReadingEnvironmentsOfProcesses(t *testing.T) {
	t.Parallel()
	b := setup(t)
	victim(t)
	b.refuses("environ", secretText[:5]+"|"+secretText[5:])
}

func TestEscapeReadingTheHostsEnvironment(t *testing.T) {
	t.Setenv("TREADLE_TEST_TOKEN", secretText)
	b := setup(t)
	b.refuses("environ", secretText[:5]+"|"+secretText[5:])
	b.output.Reset()
	b.command.Env = []string{"PATH=/usr/bin:/bin", "A=b"}
	b.run("env")
	want := "^PATH=/usr/bin:/bin\nA=b\n$"
	if confinedHere() {
		want = "^PATH=/usr/bin:/bin\nA=b\nTMPDIR=/.*/treadle-sandbox-[0-9]+\n$"
	}
	assert.Regexp(t, want, b.output.String())
}

func TestEscapeTracingAProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pid := victim(t)
	require.NoError(t, b.attackOutside("ptrace", pid))
	b.refusesInside("ptrace", pid+" 1 2 3 4 5 6 7")
}

func TestEscapeReadingTheMemoryOfAProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	pid := victim(t)
	require.NoError(t, b.attackOutside("vm-read", pid))
	b.refusesInside("vm-read", pid+" 1")
}

func TestEscapeKillingAProcessOfTheHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.attackOutside("signal", victim(t)))
	pid := victim(t)
	b.refusesInside("signal", fmt.Sprintf("%s %d %d", pid, os.Getpid(), os.Getppid()))
	number, err := strconv.Atoi(pid)
	require.NoError(t, err)
	assert.NoError(t, syscall.Kill(number, 0))
}

func TestEscapeKillingEverybody(t *testing.T) {
	t.Parallel()
	b := setup(t)
	number, err := strconv.Atoi(victim(t))
	require.NoError(t, err)
	b.shell("kill -9 $PPID; kill -9 0; kill -9 -1")
	assert.NoError(t, syscall.Kill(number, 0))
}

func TestEscapeAttackingTheFirstProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesInside("init", "")
}

func TestEscapeBecomingRoot(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("setuid", "/usr/bin/id")
}

func TestEscapeTakingTheHostsGroups(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("setgroups", "")
	b.output.Reset()
	b.command.Env = []string{"PATH=/usr/bin:/bin"}
	b.run("id", "-G")
	if os.Geteuid() == 0 {
		want := "1000\n"
		if os.Getenv(kernelLacks) != "" {
			want = strconv.Itoa(sandbox.UnprivilegedID) + "\n" // ids are the host's
		}
		assert.Equal(t, want, b.output.String())
	}
}

func TestEscapeKeepingACapability(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("capabilities", "")
}

func TestEscapeMounting(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("mount", "")
}

func TestEscapeMakingAUserNamespace(t *testing.T) {
	t.Parallel()
	b := setup(t)
	if os.Getenv(kernelLacks) == "" {
		require.NoError(t, b.attackOutside("clone", ""))
	}
	b.refusesInside("clone", "")
	b.refusesInside("namespace", "")
}

func TestEscapeReadingTheHostsKeyring(t *testing.T) {
	t.Parallel()
	b := setup(t)
	name := "treadle-test-" + strconv.Itoa(os.Getpid())
	id, err := unix.AddKey("user", name, []byte(secretText), unix.KEY_SPEC_USER_SESSION_KEYRING)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = unix.KeyctlInt(unix.KEYCTL_UNLINK, id, unix.KEY_SPEC_USER_SESSION_KEYRING, 0, 0) })
	b.refuses("keyring", name)
}

func TestEscapeAttachingSharedMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	key := 0x7ead1e + os.Getpid()
	id, err := unix.SysvShmGet(key, 4096, unix.IPC_CREAT|0o666)
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = unix.SysvShmCtl(id, unix.IPC_RMID, nil) })
	memory, err := unix.SysvShmAttach(id, 0, 0)
	require.NoError(t, err)
	copy(memory, secretText)
	require.NoError(t, unix.SysvShmDetach(memory))
	b.refuses("shm", strconv.Itoa(key))
}

func TestEscapeOpeningAMessageQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	queue := "treadle-test-" + strconv.Itoa(os.Getpid())
	makeQueue(t, queue)
	b.refuses("mqueue", queue)
}

func TestEscapeSettingTheClock(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("clock", "")
}

func TestEscapeRenamingTheMachine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("hostname", "")
	b.output.Reset()
	b.command.Env = []string{"PATH=/usr/bin:/bin"}
	b.run("uname", "-n")
	assert.Equal(t, "sandbox\n", b.output.String())
}

func TestEscapeDumpingCore(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("core", "")
}

func TestEscapeRaisingALimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("raise-files", "")
}

func TestEscapeTypingIntoATerminal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("tiocsti", "")
}

func TestEscapeThroughAsynchronousSystemCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("io-uring", "")
}

func TestEscapeRunningAProgramFromMemory(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("memfd", "/usr/bin/true")
}

func TestEscapeLoadingAProgramIntoTheKernel(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("bpf", "")
}

func TestEscapeCountingEventsOfTheMachine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("perf", "")
}

func TestEscapeHandlingPageFaults(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("userfaultfd", "")
}

func TestEscapeTakingTheProcessor(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("realtime", "")
}

func TestEscapeSavingItselfFromTheMemoryLimit(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesInside("oom-score", "")
}

func TestEscapeThroughTheNumbersOfOtherCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesInside("foreign-calls", "")
}

func TestEscapeChangingPriorityOfAProcess(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("renice", victim(t))
}
