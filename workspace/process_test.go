//go:build unix

package workspace_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/workspace"
	"github.com/treadle-dev/treadle/workspace/workspacetest"
)

// childRole tells the test binary, started by itself, what to do instead of tests.
const (
	childRole   = "WORKSPACE_TEST_CHILD"
	childFolder = "WORKSPACE_TEST_FOLDER"
	childName   = "WORKSPACE_TEST_NAME"
)

// runChild does what a parent test asked for, and reports whether one did.
func runChild() bool {
	role := os.Getenv(childRole)
	if role == "" {
		return false
	}
	dir, err := workspace.NewDir(os.Getenv(childFolder))
	if err == nil {
		switch role {
		case "append":
			err = appendAsChild(dir, os.Getenv(childName))
		case "lock":
			err = lockAsChild(dir, os.Getenv(childName))
		case "fill":
			err = fillAsChild(dir, os.Getenv(childName))
		case "die":
			err = dieAsChild(dir)
		default:
			err = fmt.Errorf("unknown role %q", role)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return true
}

func child(t *testing.T, role, folder, name string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childRole+"="+role, childFolder+"="+folder, childName+"="+name)
	return cmd
}

const childRecords = 50

func appendAsChild(dir *workspace.Dir, name string) error {
	ctx := context.Background()
	for i := range childRecords {
		record := fmt.Sprintf("%s %d %s\n", name, i, strings.Repeat(name, 40+i))
		for {
			var end int64
			info, err := dir.Stat(ctx, "runs/1/log")
			if err == nil {
				end = info.Size()
			} else if !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			err = dir.AppendAt(ctx, "runs/1/log", end, []byte(record))
			if err == nil {
				break
			}
			if !errors.Is(err, workspace.ErrConflict) {
				return err
			}
		}
	}
	return nil
}

func TestProcessesThatAppendToOneFileLoseNoRecord(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	names := []string{"a", "b", "c", "d"}
	var all sync.WaitGroup
	outputs := make([]string, len(names))
	errs := make([]error, len(names))
	for i, name := range names {
		cmd := child(t, "append", folder, name)
		all.Go(func() {
			output, err := cmd.CombinedOutput()
			outputs[i], errs[i] = string(output), err
		})
	}
	all.Wait()
	for i := range names {
		require.NoError(t, errs[i], outputs[i])
	}
	data, err := openDir(t, folder).ReadFile(t.Context(), "runs/1/log")
	require.NoError(t, err)
	next := map[string]int{}
	for line := range strings.Lines(string(data)) {
		name, _, _ := strings.Cut(line, " ")
		want := fmt.Sprintf("%s %d %s\n", name, next[name], strings.Repeat(name, 40+next[name]))
		require.Equal(t, want, line)
		next[name]++
	}
	for _, name := range names {
		require.Equal(t, childRecords, next[name], name)
	}
}

// lockAsChild takes the lock, says so, and holds it until it is killed or its
// input ends.
func lockAsChild(dir *workspace.Dir, holder string) error {
	if _, err := dir.TryLock(context.Background(), "runs/1/run.lock", holder); err != nil {
		return err
	}
	fmt.Println("locked")
	_, err := io.Copy(io.Discard, os.Stdin)
	return err
}

func TestTheLockOfAKilledProcessIsTakenOver(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	dir := openDir(t, folder)
	cmd := child(t, "lock", folder, "the child")
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	defer stdin.Close()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "locked\n", line)

	_, err = dir.TryLock(t.Context(), "runs/1/run.lock", "the parent")
	var held *workspace.HeldError
	require.ErrorAs(t, err, &held)
	require.Equal(t, "the child", held.Holder)

	require.NoError(t, cmd.Process.Kill())
	require.Error(t, cmd.Wait())
	lock, err := dir.TryLock(t.Context(), "runs/1/run.lock", "the parent")
	require.NoError(t, err)
	_, err = openDir(t, folder).TryLock(t.Context(), "runs/1/run.lock", "another")
	require.ErrorAs(t, err, &held)
	require.Equal(t, "the parent", held.Holder)
	require.NoError(t, lock.Unlock())
}

// fillAsChild runs into a full disk, as far as a limit on the size of files can
// pretend it: a write past byte 100 lands in part.
func fillAsChild(dir *workspace.Dir, name string) error {
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: 100, Max: 100}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	ctx := context.Background()
	data := bytes.Repeat([]byte("x"), 60)
	if err := dir.AppendAt(ctx, name, 0, data); err != nil {
		return err
	}
	if err := dir.AppendAt(ctx, name, 60, data); !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("append on a full disk: %w", err)
	}
	info, err := dir.Stat(ctx, name)
	if err != nil {
		return err
	}
	if info.Size() != 60 {
		return fmt.Errorf("a failed append left %d bytes", info.Size())
	}
	if err := dir.WriteFile(ctx, name, bytes.Repeat(data, 2), workspace.Lazy); !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("write on a full disk: %w", err)
	}
	return dir.AppendAt(ctx, name, 60, data[:40])
}

func TestAWriteThatFailsHalfwayLeavesTheFileAsItWas(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	output, err := child(t, "fill", folder, "log").CombinedOutput()
	require.NoError(t, err, string(output))
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing temporary is left")
	data, err := os.ReadFile(filepath.Join(folder, "log"))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", 100), string(data))
}

// dieAsChild kills itself in the middle of its third change.
func dieAsChild(dir *workspace.Dir) error {
	faulty := workspacetest.NewFaulty(dir, workspacetest.Fault{
		At: 3, When: workspacetest.Torn,
		Hook: func(workspacetest.Operation) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // the signal may take a moment
		},
	})
	ctx, st := context.Background(), faulty.Storage()
	for i := range int64(10) {
		if err := st.AppendAt(ctx, "log", 4*i, []byte("rec.")); err != nil {
			return err
		}
	}
	return nil
}

func TestAProcessCanKillItselfAtAnOperation(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	output, err := child(t, "die", folder, "").CombinedOutput()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit, string(output))
	require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal())
	data, err := openDir(t, folder).ReadFile(t.Context(), "log")
	require.NoError(t, err)
	require.Equal(t, "rec.rec.re", string(data))
}
