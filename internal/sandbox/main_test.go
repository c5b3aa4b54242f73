//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/treadle-dev/treadle/internal/sandbox"
)

// The environment that makes an attacker of the test binary, or a host.
const (
	attackName = "TREADLE_ATTACK"
	attackOn   = "TREADLE_ATTACK_ON"
)

// kernelLacks is what the tests are to play that the kernel does not offer (see oldKernel);
// every command then does without namespaces.
const kernelLacks = "TREADLE_TEST_KERNEL_LACKS"

// raceExit keeps attackers of a test with the race detector from waiting at their end.
const raceExit = "GORACE=atexit_sleep_ms=0"

// stopped is the exit code of an attack that something stopped.
const stopped = 10

func TestMain(m *testing.M) {
	if name := os.Getenv(attackName); name != "" {
		attack(name, os.Getenv(attackOn))
	}
	if lacking := os.Getenv(kernelLacks); lacking != "" {
		if err := oldKernel(lacking); err != nil {
			fmt.Println("playing an old kernel:", err)
			os.Exit(2)
		}
	}
	goleak.VerifyTestMain(m)
}

// attack runs one attack and ends: with 0 when it got what it wanted.
func attack(name, on string) {
	run, ok := attacks[name]
	if !ok {
		fmt.Println("no such attack:", name)
		os.Exit(2)
	}
	if err := run(on); err != nil {
		fmt.Println("stopped:", err)
		os.Exit(stopped)
	}
	fmt.Println("escaped")
	os.Exit(0)
}

// bench is a host's folder with one part that the command may write and one that it
// may not know of.
type bench struct {
	t       *testing.T
	exe     string
	root    string
	work    string // writable
	outside string // not shown
	secret  string // a file in outside
	command *sandbox.Command
	output  bytes.Buffer
}

const secretText = "what the host alone knows"

func setup(t *testing.T) *bench {
	t.Helper()
	exe, err := os.Executable()
	require.NoError(t, err)
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	b := &bench{t: t, exe: exe, root: root, work: filepath.Join(root, "work"), outside: filepath.Join(root, "outside")}
	b.secret = filepath.Join(b.outside, "secret")
	require.NoError(t, os.Mkdir(b.work, 0o755))
	require.NoError(t, os.Mkdir(b.outside, 0o777))
	require.NoError(t, os.Chmod(b.outside, 0o777), "only the sandbox keeps anybody out")
	require.NoError(t, os.WriteFile(b.secret, []byte(secretText), 0o666))
	require.NoError(t, os.Chmod(b.secret, 0o666))
	b.command = &sandbox.Command{
		Dir: b.work, Env: []string{"PATH=/usr/bin:/bin", raceExit}, Stdout: &b.output, Stderr: &b.output,
		Paths:  []sandbox.Path{{Name: b.work, Write: true}, {Name: exe}},
		Limits: sandbox.Limits{Duration: time.Minute},
	}
	if os.Getenv(kernelLacks) != "" {
		b.command.Without = []sandbox.Feature{sandbox.Namespaces}
	} else {
		needSandbox(t)
	}
	return b
}

// needSandbox skips a test where users may not make namespaces, which some distributions
// have decided. That never happens in CI.
func needSandbox(t *testing.T) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		return
	}
	missing, err := sandbox.Probe(t.Context())
	missing = slices.DeleteFunc(missing, func(f sandbox.Feature) bool {
		return f == sandbox.MemoryCgroup || f == sandbox.ProcessCgroup // which have substitutes
	})
	if len(missing) > 0 || errors.Is(err, sandbox.ErrUnavailable) {
		t.Skipf("there is no whole sandbox here: missing %v, %v", missing, err)
	}
}

// run runs a command in the sandbox.
func (b *bench) run(argv ...string) *sandbox.Result {
	b.t.Helper()
	b.command.Argv = argv
	result, err := sandbox.Run(b.t.Context(), b.command)
	require.NoError(b.t, err, b.output.String())
	return result
}

func (b *bench) shell(script string) *sandbox.Result { b.t.Helper(); return b.run("sh", "-c", script) }

// attackInside runs an attack in the sandbox.
func (b *bench) attackInside(name, on string) *sandbox.Result {
	b.t.Helper()
	b.command.Env = append(b.command.Env, attackName+"="+name, attackOn+"="+on)
	return b.run(b.exe)
}

// attackOutside runs an attack without a sandbox.
func (b *bench) attackOutside(name, on string) error {
	b.t.Helper()
	output, err := b.start(name, on)
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// outputOutside is attackOutside for what it prints.
func (b *bench) outputOutside(name, on string) string {
	b.t.Helper()
	output, err := b.start(name, on)
	require.NoError(b.t, err, output)
	return output
}

func (b *bench) start(name, on string) (string, error) {
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, b.exe)
	cmd.Dir = b.work
	cmd.Env = append(os.Environ(), raceExit, attackName+"="+name, attackOn+"="+on)
	output, err := cmd.CombinedOutput()
	return string(output), err
}

// refuses wants an attack to succeed outside and to be stopped inside.
func (b *bench) refuses(name, on string) {
	b.t.Helper()
	require.NoError(b.t, b.attackOutside(name, on), "the attack must work where nothing stops it")
	b.refusesInside(name, on)
}

// refusesAlsoRoot is refuses for an attack that outside needs root.
func (b *bench) refusesAlsoRoot(name, on string) {
	b.t.Helper()
	if os.Geteuid() == 0 {
		require.NoError(b.t, b.attackOutside(name, on), "the attack must work where nothing stops it")
	}
	b.refusesInside(name, on)
}

func (b *bench) refusesInside(name, on string) {
	b.t.Helper()
	result := b.attackInside(name, on)
	assert.Equal(b.t, stopped, result.ExitCode, "%+v: %s", result, b.output.String())
	assert.Contains(b.t, b.output.String(), "stopped:")
	if testing.Verbose() {
		b.t.Log(strings.TrimSpace(b.output.String()))
	}
}

// confinedHere reports whether commands have neither namespaces nor root's.
func confinedHere() bool { return os.Getenv(kernelLacks) != "" && os.Geteuid() != 0 }
