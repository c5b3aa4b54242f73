//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/treadle-dev/treadle/internal/sandbox"
)

// playOldKernel is a host on a kernel that does not know some system calls. It reports
// what the sandbox says.
func playOldKernel(on string) error {
	if err := oldKernel(on); err != nil {
		return err
	}
	return tellWithout()
}

// oldKernel makes this process and its children one on a kernel that does not know a
// system call, by its number, or, with "clone", refuses user namespaces.
func oldKernel(on string) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var number uint32
	filter := []unix.SockFilter{{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS}}
	if on == "clone" {
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLONE, Jf: 3},
			unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 16},
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, K: unix.CLONE_NEWUSER, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)})
	} else {
		if _, err := fmt.Sscan(on, &number); err != nil {
			return err
		}
		filter = append(filter,
			unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: number, Jf: 1},
			unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	filter = append(filter, unix.SockFilter{Code: unix.BPF_RET, K: unix.SECCOMP_RET_ALLOW})
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if _, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC, uintptr(unsafe.Pointer(&program))); errno != 0 {
		return errno
	}
	return nil
}

// playMaskedProc is a host in a container that hides a part of its /proc.
func playMaskedProc(string) error {
	runtime.LockOSThread()
	err := errors.Join(
		unix.Unshare(unix.CLONE_NEWNS),
		unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""),
		unix.Mount("none", "/proc/sys", "tmpfs", unix.MS_RDONLY, ""))
	if err != nil {
		return err
	}
	return tellWithout()
}

// tellWithout prints what a command without consent gets, and then what one with.
func tellWithout() error {
	command := &sandbox.Command{Argv: []string{"echo", "ran"}, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: os.Stdout}
	_, err := sandbox.Run(context.Background(), command)
	var lacking *sandbox.UnavailableError
	if !errors.As(err, &lacking) {
		return fmt.Errorf("no such error: %w", err)
	}
	fmt.Println("refused:", err)
	command.Without = []sandbox.Feature{lacking.Feature}
	result, err := sandbox.Run(context.Background(), command)
	if err != nil {
		fmt.Println("still refused:", err)
		return nil
	}
	fmt.Println("missing:", result.Missing)
	return nil
}

func TestRunAsksForConsentWhereTheKernelOffersLess(t *testing.T) {
	t.Parallel()
	for feature, lacking := range map[sandbox.Feature]string{
		sandbox.Namespaces: "clone",
		sandbox.Landlock:   fmt.Sprint(unix.SYS_LANDLOCK_CREATE_RULESET),
		sandbox.Seccomp:    fmt.Sprint(unix.SYS_SECCOMP),
	} {
		b := setup(t)
		output := b.outputOutside("old-kernel", lacking)
		assert.Contains(t, output, "refused: sandbox: no "+string(feature)+" here")
		assert.Contains(t, output, fmt.Sprintf("%q in Command.Without", feature))
		assert.Contains(t, output, "ran\nmissing: ["+string(feature))
	}
}

func TestRunAsksForConsentWithoutAFreshProc(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // hiding a part of /proc needs root
	}
	b := setup(t)
	output := b.outputOutside("masked-proc", "")
	assert.Contains(t, output, "refused: sandbox: no proc here")
	assert.Contains(t, output, "ran\nmissing: [proc")
}

func TestRunProbesWhatIsMissing(t *testing.T) {
	t.Parallel()
	needSandbox(t)
	missing, err := sandbox.Probe(t.Context())
	require.NoError(t, err)
	b := setup(t)
	result := b.run("true")
	assert.ElementsMatch(t, result.Missing, missing)
	for _, feature := range missing {
		assert.True(t, strings.HasSuffix(string(feature), "-cgroup"), feature)
	}
}
