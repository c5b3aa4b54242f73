package tools

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/sandbox"
	"github.com/treadle-dev/treadle/workspace"
)

func TestACommandSeesTheNamesOfTheGuardAndNothingElse(t *testing.T) {
	t.Parallel()
	r := &runner{}
	s := setup(t, Config{Shell: "/bin/sh"}, r)
	s.scope.Guard = &workspace.Guard{
		Write: []string{workDir, "db", "downloads", "db/new.json", "inputs/both", "../out", ""},
		Read:  []string{"inputs", "db/a/fixed", "knowledgebase", "inputs/both", "db/link"},
	}
	s.write("db/a/fixed/x", "")
	require.NoError(t, os.Symlink("../planning", s.path("db/link")))
	s.open(Config{Shell: "/bin/sh"}, r)
	s.succeeds(ShellTool, map[string]any{"command": "true"})
	assert.Equal(t, []sandbox.Path{
		{Name: s.path("db"), Write: true},
		{Name: s.path("db/a/fixed")},
		{Name: s.path("downloads"), Write: true},
		{Name: s.path("inputs")},
		{Name: s.path(workDir), Write: true},
	}, r.last(t).Paths)
	assert.DirExists(t, s.path("downloads"), "a missing folder that may be written is made")
	assert.NoFileExists(t, s.path("db/new.json"), "a missing file is not")
	assert.Equal(t, []string{"/bin/sh", "-c", "true"}, r.last(t).Argv)
	assert.Equal(t, s.path(workDir), r.last(t).Dir)
	assert.Empty(t, r.last(t).Hosts)
}

func TestACommandStartsWhereItIsToldInsideTheGuard(t *testing.T) {
	t.Parallel()
	r := &runner{}
	s := setup(t, Config{}, r)
	s.write(workDir+"/sub/x", "")
	for given, want := range map[string]string{
		"": workDir, ".": workDir, "sub": workDir + "/sub", "db": "db", "./sub/..": workDir,
		s.path("inputs"): "inputs", "inputs": "inputs", s.path(workDir): workDir,
	} {
		s.succeeds(ShellTool, map[string]any{"command": "pwd", "working_directory": given})
		assert.Equal(t, s.path(want), r.last(t).Dir, given)
	}
	for given, why := range map[string]string{
		"/etc": "outside of the workspace", s.path("planning"): "it may read: " + workDir + ", db, inputs", "../2": "may not read",
		"inputs/a.txt": "this is a file", "none": "not exist", "a\x00": "control character", "../../../../../../..": "leads out",
	} {
		assert.Contains(t, s.fails(ShellTool, map[string]any{"command": "pwd", "working_directory": given}), why, given)
	}
}

func TestACommandGetsAnEnvironmentOfItsOwn(t *testing.T) {
	t.Setenv("HOST_SECRET", "of-the-host")
	r := &runner{}
	s := setup(t, Config{Env: func(_ context.Context, scope agent.Scope) (map[string]string, error) {
		return map[string]string{"VAR_NAME": "value", "LANG": "de_DE.UTF-8", "STEP_OUTPUT_DIR": "/elsewhere", "VAR_STEP": scope.Step}, nil
	}}, r)
	s.succeeds(ShellTool, map[string]any{"command": "env"})
	assert.Equal(t, []string{
		"DB_PATH=" + s.path("db/db.sqlite"),
		"HOME=/tmp",
		"LANG=de_DE.UTF-8",
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"STEP_EXECUTION_DIR=" + s.path("runs/iteration-1/execution"),
		"STEP_OUTPUT_DIR=" + s.path(workDir),
		"TERM=dumb",
		"TMPDIR=/tmp",
		"VAR_NAME=value",
		"VAR_STEP=fetch",
	}, r.last(t).Env)
}

func TestACommandIsBounded(t *testing.T) {
	t.Parallel()
	r := &runner{}
	s := setup(t, Config{Limits: Limits{Timeout: time.Minute, MaxTimeout: time.Hour, Memory: 1, Processes: 2, FileSize: 3, Disk: 4, Output: 5, OpenFiles: 6}, Without: []string{"proc"}}, r)
	for asked, want := range map[float64]time.Duration{0: time.Minute, -1: time.Minute, 0.5: time.Second / 2, 90: 90 * time.Second, 1e300: time.Hour} {
		s.succeeds(ShellTool, map[string]any{"command": "true", "timeout_seconds": asked})
		assert.Equal(t, sandbox.Limits{Duration: want, Memory: 1, Processes: 2, FileSize: 3, Disk: 4, Output: 5, OpenFiles: 6}, r.last(t).Limits)
	}
	assert.Equal(t, []sandbox.Feature{"proc"}, r.last(t).Without)
}

func TestTheInputReachesACommand(t *testing.T) {
	t.Parallel()
	r := &runner{do: func(_ context.Context, command *sandbox.Command) (*sandbox.Result, error) {
		if command.Stdin != nil {
			_, _ = io.Copy(command.Stdout, command.Stdin)
		}
		return &sandbox.Result{}, nil
	}}
	s := setup(t, Config{}, r)
	assert.Equal(t, "Exit code: 0\nOutput:\nin\nput", s.succeeds(ShellTool, map[string]any{"command": "cat", "stdin": "in\nput"}))
	assert.Equal(t, "Exit code: 0\n(no output)", s.succeeds(ShellTool, map[string]any{"command": "cat"}))
}

func TestTheResultTellsHowACommandEnded(t *testing.T) {
	t.Parallel()
	var result sandbox.Result
	var printed string
	r := &runner{do: func(_ context.Context, command *sandbox.Command) (*sandbox.Result, error) {
		fmt.Fprint(command.Stdout, printed)
		return &result, nil
	}}
	s := setup(t, Config{Limits: Limits{Output: 8}}, r)
	for _, c := range []struct {
		name    string
		result  sandbox.Result
		printed string
		want    string
		isError bool
	}{
		{"success", sandbox.Result{}, "text\n", "Exit code: 0\nOutput:\ntext\n", false},
		{"failure", sandbox.Result{ExitCode: 2}, "no\n", "Exit code: 2\nOutput:\nno\n", true},
		{"a signal", sandbox.Result{ExitCode: 137, Signal: "killed"}, "", "Exit code: 137\nThe command was ended by a signal: killed.\n(no output)", true},
		{"the time", sandbox.Result{ExitCode: 137, Signal: "killed", Limit: sandbox.LimitDuration}, "", "Exit code: 137\nThe command was ended by a limit: time (120 seconds); a larger timeout_seconds may help.\n(no output)", true},
		{"memory", sandbox.Result{ExitCode: 137, Limit: "memory"}, "", "Exit code: 137\nThe command was ended by a limit: memory.\n(no output)", true},
		{"output", sandbox.Result{ExitCode: 137, Limit: sandbox.LimitOutput}, "12345678", "Exit code: 137\nThe command was ended by a limit: output (8 bytes).\nOutput:\n12345678\n[Output cut here after 8 bytes. Send it to a file and look at parts of it.]", true},
		{"what no endpoint takes", sandbox.Result{}, "a\x00\xffb", "Exit code: 0\nOutput:\na\uFFFD\uFFFDb", false},
	} {
		result, printed = c.result, c.printed
		got := s.call(ShellTool, map[string]any{"command": "x"})
		assert.Equal(t, c.want, got.Text(), c.name)
		assert.Equal(t, c.isError, got.IsError, c.name)
	}
}

func TestACommandThatCannotBeRunIsRefused(t *testing.T) {
	t.Parallel()
	r := &runner{}
	s := setup(t, Config{}, r)
	before := len(r.seen)
	for _, command := range []string{"", " \n", "echo a\x00b", strings.Repeat("x", 128<<10)} {
		assert.Contains(t, s.fails(ShellTool, map[string]any{"command": command}), "nothing was run")
	}
	assert.Len(t, r.seen, before)
}

func TestWhatTheSandboxLacksIsLoggedOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	r := &runner{do: func(context.Context, *sandbox.Command) (*sandbox.Result, error) {
		return &sandbox.Result{Missing: []sandbox.Feature{"proc", "landlock"}}, nil
	}}
	s := setup(t, Config{Logger: slog.New(slog.NewTextHandler(&log, nil))}, r)
	for range 3 {
		s.succeeds(ShellTool, map[string]any{"command": "true"})
	}
	assert.Equal(t, 1, strings.Count(log.String(), "missing=proc"))
	assert.Equal(t, 1, strings.Count(log.String(), "missing=landlock"))
}

func TestACanceledCommandLeavesWithTheContextsError(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	r := &runner{do: func(ctx context.Context, _ *sandbox.Command) (*sandbox.Result, error) {
		cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	s := setup(t, Config{}, r)
	_, err := s.try(ctx, ShellTool, map[string]any{"command": "sleep 9"})
	assert.ErrorIs(t, err, context.Canceled)
}
