//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/sandbox"
)

func TestRunGivesACommandItsFolderInputAndOutput(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var stderr bytes.Buffer
	b.command.Stdin, b.command.Stderr = strings.NewReader("from the host\n"), &stderr
	result := b.shell("pwd; cat; echo oops >&2; echo made > file; exit 7")
	assert.Equal(t, 7, result.ExitCode)
	assert.Empty(t, result.Signal)
	assert.Equal(t, b.work+"\nfrom the host\n", b.output.String())
	assert.Equal(t, "oops\n", stderr.String())
	data, err := os.ReadFile(filepath.Join(b.work, "file"))
	require.NoError(t, err)
	assert.Equal(t, "made\n", string(data))
}

func TestRunShowsPathsBelowVarTmp(t *testing.T) {
	t.Parallel()
	b := setup(t)
	folder, err := os.MkdirTemp("/var/tmp", "treadle-path-") //nolint:usetesting // it must lie there, wherever the others do
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.Chmod(folder, 0o777))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: folder, Write: true})
	result := b.shell("echo made > " + folder + "/file; cat " + folder + "/file")
	assert.Zero(t, result.ExitCode)
	assert.Equal(t, "made\n", b.output.String())
}

func TestRunTellsTheSignalThatEndedACommand(t *testing.T) {
	t.Parallel()
	b := setup(t)
	result := b.shell("kill -TERM $$")
	assert.Equal(t, 143, result.ExitCode)
	assert.Equal(t, "terminated", result.Signal)
}

func TestRunGivesTheExitCodesOfShellsForWhatCannotStart(t *testing.T) {
	t.Parallel()
	b := setup(t)
	assert.Equal(t, 127, b.run("no-such-command").ExitCode)
	assert.Contains(t, b.output.String(), "no-such-command: no such file or directory")
	require.NoError(t, os.WriteFile(filepath.Join(b.work, "plain"), nil, 0o644))
	assert.Equal(t, 126, b.run("./plain").ExitCode)
}

func TestRunLetsTheMostSpecificPathDecide(t *testing.T) {
	t.Parallel()
	b := setup(t)
	inner := filepath.Join(b.work, "a", "b", "c")
	require.NoError(t, os.MkdirAll(inner, 0o755))
	b.command.Paths = append(b.command.Paths,
		sandbox.Path{Name: filepath.Join(b.work, "a")},
		sandbox.Path{Name: inner, Write: true})
	b.shell("touch here; touch a/x; touch a/b/x; touch a/b/c/here")
	assert.FileExists(t, filepath.Join(b.work, "here"))
	assert.NoFileExists(t, filepath.Join(b.work, "a", "x"))
	assert.NoFileExists(t, filepath.Join(b.work, "a", "b", "x"))
	assert.FileExists(t, filepath.Join(inner, "here"))
}

func TestRunRefusesPathsThatCannotBeShown(t *testing.T) {
	t.Parallel()
	b := setup(t)
	link := filepath.Join(b.root, "link")
	require.NoError(t, os.Symlink(b.outside, link))
	for name, words := range map[string]string{
		filepath.Join(b.root, "missing"): "no such file",
		filepath.Join(link, "secret"):    "symbolic link",
		link:                             "neither a regular file nor a folder",
		"relative":                       "not absolute",
		b.root + "/../x":                 "not clean",
		"/":                              "is everything",
		"/proc/self":                     "/proc",
		"/dev/null":                      "/dev",
	} {
		b.command.Argv, b.command.Paths = []string{"true"}, []sandbox.Path{{Name: name}}
		b.command.Dir = ""
		_, err := sandbox.Run(t.Context(), b.command)
		var wrong *sandbox.PathError
		require.ErrorAs(t, err, &wrong, name)
		assert.Equal(t, name, wrong.Name)
		assert.ErrorContains(t, err, words)
		assert.ErrorIs(t, err, sandbox.ErrPath)
	}
	b.command.Paths = []sandbox.Path{{Name: filepath.Join(b.root, "missing")}}
	_, err := sandbox.Run(t.Context(), b.command)
	assert.ErrorIs(t, err, fs.ErrNotExist)
}

func TestRunRefusesAMalformedCommand(t *testing.T) {
	t.Parallel()
	for field, command := range map[string]*sandbox.Command{
		"Argv":          {},
		"Argv[1]":       {Argv: []string{"echo", "a\x00b"}},
		"Argv[0]":       {Argv: []string{"\xff"}},
		"Env[0]":        {Argv: []string{"true"}, Env: []string{"A=\x00"}},
		"Dir":           {Argv: []string{"true"}, Dir: "/home"},
		"Limits.Memory": {Argv: []string{"true"}, Limits: sandbox.Limits{Memory: -1}},
		"Hosts":         {Argv: []string{"true"}, Hosts: []string{"no port"}},
	} {
		_, err := sandbox.Run(t.Context(), command)
		var wrong *sandbox.CommandError
		require.ErrorAs(t, err, &wrong, field)
		assert.Equal(t, field, wrong.Field)
	}
}

func TestRunEndsWithItsContext(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	b.command.Argv = []string{"sh", "-c", "echo started; sleep 100"}
	b.command.Stdout = writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	begin := time.Now()
	_, err := sandbox.Run(ctx, b.command)
	require.ErrorIs(t, err, context.Canceled)
	assert.Less(t, time.Since(begin), 5*time.Second)
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func TestRunReturnsTheErrorOfAWriter(t *testing.T) {
	t.Parallel()
	b := setup(t)
	full := errors.New("no room")
	b.command.Argv = []string{"echo", "hello"}
	b.command.Stdout = writerFunc(func([]byte) (int, error) { return 0, full })
	result, err := sandbox.Run(t.Context(), b.command)
	require.ErrorIs(t, err, full)
	assert.Zero(t, result.ExitCode)
}

func TestRunRefusesToGiveAwayAFileWithAnotherName(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		return // nothing is given away
	}
	b := setup(t)
	require.NoError(t, os.Link(b.secret, filepath.Join(b.work, "innocent")))
	b.command.Argv = []string{"true"}
	_, err := sandbox.Run(t.Context(), b.command)
	var wrong *sandbox.PathError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, filepath.Join(b.work, "innocent"), wrong.Name)
	assert.ErrorContains(t, err, "hard links")
}

// state is what a process could leave behind.
type state struct{ threads, descriptors, children int }

func look(t *testing.T) state {
	t.Helper()
	count := func(folder string) int {
		entries, err := os.ReadDir(folder)
		require.NoError(t, err)
		return len(entries)
	}
	children := 0
	files, err := filepath.Glob("/proc/self/task/*/children")
	require.NoError(t, err)
	for _, file := range files {
		data, _ := os.ReadFile(file)
		children += len(strings.Fields(string(data)))
	}
	return state{count("/proc/self/task"), count("/proc/self/fd"), children}
}

// leftovers are cgroups and folders of this process.
func leftovers(t *testing.T) (names []string) {
	t.Helper()
	for _, pattern := range []string{"/sys/fs/cgroup/*/treadle-*", "/sys/fs/cgroup/treadle-*", "/sys/fs/cgroup/memory/*/*/treadle-*", "/sys/fs/cgroup/memory/*/treadle-*"} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, name := range found {
			if strings.Contains(name, "-"+pidText()+"-") {
				names = append(names, name)
			}
		}
	}
	return names
}

// TestAThousandCommandsLeaveTheHostAsItWas is not parallel: it counts.
func TestAThousandCommandsLeaveTheHostAsItWas(t *testing.T) { //nolint:paralleltest // see above
	if testing.Short() {
		t.Skip("a thousand commands take a minute; this is a short run")
	}
	b := setup(t)
	run := func(n, workers int) {
		work := make(chan struct{})
		var wg sync.WaitGroup
		for range workers {
			wg.Go(func() {
				for range work {
					result, err := sandbox.Run(t.Context(), &sandbox.Command{
						Argv: []string{"sh", "-c", "sleep 0.001 & echo hi"}, Paths: []sandbox.Path{{Name: b.work, Write: true}},
						Env: []string{"PATH=/usr/bin:/bin"}, Stdin: strings.NewReader("x"), Stdout: &bytes.Buffer{},
					})
					if assert.NoError(t, err) {
						assert.Zero(t, result.ExitCode)
					}
				}
			})
		}
		for range n {
			work <- struct{}{}
		}
		close(work)
		wg.Wait()
	}
	run(64, 16) // the runtime keeps threads that it once needed
	before := look(t)
	run(1000, 16)
	after := look(t)
	assert.LessOrEqual(t, after.threads, before.threads+8, "threads that blocked at one time; they do not grow with the number of commands")
	assert.Equal(t, before.descriptors, after.descriptors)
	assert.Equal(t, before.children, after.children)
	assert.Empty(t, leftovers(t))

	anywhere := filepath.Join(b.outside, "host-writes")
	require.NoError(t, os.WriteFile(anywhere, nil, 0o600))
	entries, err := filepath.Glob("/proc/self/task/*/status")
	require.NoError(t, err)
	for _, name := range entries {
		data, _ := os.ReadFile(name)
		assert.NotContains(t, string(data), "NoNewPrivs:\t1", name)
		assert.NotContains(t, string(data), "Seccomp:\t2", name)
	}
}

func BenchmarkTrue(b *testing.B) {
	command := &sandbox.Command{Argv: []string{"/usr/bin/true"}}
	durations := make([]time.Duration, 0, 1024)
	for b.Loop() {
		begin := time.Now()
		result, err := sandbox.Run(b.Context(), command)
		if err != nil || result.ExitCode != 0 {
			b.Fatal(result, err)
		}
		durations = append(durations, time.Since(begin))
	}
	b.ReportMetric(median(durations).Seconds()*1000, "median-ms")
}
