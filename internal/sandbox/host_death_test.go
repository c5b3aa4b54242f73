//go:build linux

package sandbox_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/sandbox"
)

func pidText() string { return strconv.Itoa(os.Getpid()) }

func median(durations []time.Duration) time.Duration {
	slices.Sort(durations)
	return durations[len(durations)/2]
}

// playHost is a host that runs one endless command.
func playHost(on string) error {
	command := &sandbox.Command{
		Argv: []string{"sh", "-c", "echo started; setsid sh -c 'while :; do echo tick >> ticks; sleep 0.02; done'"},
		Dir:  on, Env: []string{"PATH=/usr/bin:/bin"}, Stdout: os.Stdout,
		Paths: []sandbox.Path{{Name: on, Write: true}},
	}
	if os.Getenv(kernelLacks) != "" {
		command.Without = []sandbox.Feature{sandbox.Namespaces}
	}
	_, err := sandbox.Run(context.Background(), command)
	return err
}

func TestRunEndsWhenTheHostIsKilled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	host := exec.CommandContext(t.Context(), b.exe)
	host.Env = append(os.Environ(), attackName+"=host", attackOn+"="+b.work)
	output, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	line, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "started\n", line)
	ticks := filepath.Join(b.work, "ticks")
	size := func() int64 {
		info, err := os.Stat(ticks)
		if err != nil {
			return 0
		}
		return info.Size()
	}
	require.Eventually(t, func() bool { return size() > 0 }, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, host.Process.Kill())
	_ = host.Wait()
	require.Eventually(t, func() bool {
		before := size()
		time.Sleep(100 * time.Millisecond)
		return size() == before
	}, 5*time.Second, 50*time.Millisecond, "the command ends with its host")
	statuses, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	for _, name := range statuses {
		data, _ := os.ReadFile(name)
		assert.NotContains(t, string(data), b.work, name)
	}
}
