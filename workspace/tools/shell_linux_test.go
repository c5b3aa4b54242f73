package tools

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/sandbox"
)

// sandboxed is setup with commands in the sandbox.
func sandboxed(t testing.TB, config Config) *step {
	t.Helper()
	_, err := sandbox.Run(t.Context(), &sandbox.Command{Argv: []string{"/bin/sh", "-c", "exit 0"}})
	if err != nil && os.Getenv("CI") != "true" {
		t.Skipf("there is no sandbox here: %v", err)
	}
	require.NoError(t, err)
	return setup(t, config, nil)
}

func (s *step) shell(command string) *agent.ToolResult {
	s.t.Helper()
	return s.call(ShellTool, map[string]any{"command": command})
}

func TestAShellReadsAndWritesWhatTheGuardAllows(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, Config{})
	text := s.succeeds(ShellTool, map[string]any{"command": "pwd; cat own.txt ../../../../../../inputs/a.txt; echo new > made.txt; echo row > ../../../../../../db/row; cat; echo oops >&2; echo end", "stdin": "typed\n"})
	assert.Equal(t, "Exit code: 0\nOutput:\n"+s.path(workDir)+"\none\ntwo\nthree\nan inputtyped\noops\nend\n", text)
	assert.Equal(t, "new\n", s.read(workDir+"/made.txt"))
	assert.Equal(t, "row\n", s.read("db/row"))
	s.succeeds(PatchTool, map[string]any{"file_path": "made.txt", "patch": "@@\n-new\n+newer\n"})
	assert.Contains(t, s.succeeds(ShellTool, map[string]any{"command": "echo more >> made.txt; cat made.txt"}), "newer\nmore\n", "what the patch tool wrote is the command's too")
	assert.Equal(t, "Exit code: 3\n(no output)", s.fails(ShellTool, map[string]any{"command": "exit 3"}))
}

// TestAShellReachesNothingElse has one command for each thing that must fail, and looks
// afterwards that nothing has changed.
func TestAShellReachesNothingElse(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, Config{})
	for _, command := range []string{
		"cat " + s.path("planning/plan.json"),
		"cat ../../../../../../planning/plan.json",
		"cat " + s.path("runs/iteration-1/journal.jsonl"),
		"ls " + s.path("runs/iteration-1/work/other"),
		"cat " + s.path("runs/iteration-1/work/other/visit/1/x"),
		"echo x > " + s.path("inputs/a.txt"),
		"rm " + s.path("inputs/a.txt"),
		"echo x > " + s.path("db/fixed/ref.json"),
		"rm -r " + s.path("db/fixed"),
		"mv " + s.path("db/fixed") + " " + s.path("db/away"),
		"ln " + s.path("db/fixed/ref.json") + " " + s.path("db/hard"),
		"ln " + s.path("inputs/a.txt") + " hard",
		"ln -s ../../../../../../planning/plan.json l && cat l",
		"cat " + os.Args[0] + " > /dev/null",
	} {
		result := s.shell(command)
		assert.True(t, result.IsError, "%s: %s", command, result.Text())
		for _, secret := range []string{"the plan", "the journal", "another step"} {
			assert.NotContains(t, result.Text(), secret)
		}
	}
	// The workspace of this test lies in /tmp, where commands have a folder of their own:
	// there such a write may succeed, and is gone.
	s.shell("echo x >> " + s.path("runs/iteration-1/journal.jsonl") + "; echo x > " + s.path("runs/iteration-1/new") + "; echo x > " + s.path("planning/new"))
	assert.NoFileExists(t, s.path("runs/iteration-1/new"))
	assert.NoFileExists(t, s.path("planning/new"))
	assert.Equal(t, "the journal", s.read("runs/iteration-1/journal.jsonl"))
	assert.Equal(t, "an input", s.read("inputs/a.txt"))
	assert.Equal(t, "fixed", s.read("db/fixed/ref.json"))
	assert.NoFileExists(t, s.path("db/hard"))
	assert.Equal(t, "Exit code: 0\nOutput:\ndb\ninputs\nruns\n", s.succeeds(ShellTool, map[string]any{"command": "ls " + s.dir}), "unlisted names are not there")
}

func TestAFolderAboveAReadOnlyNameCannotBeMovedAway(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, Config{})
	s.write("db/deep/er/fixed/ref.json", "fixed")
	s.scope.Guard.Read = append(s.scope.Guard.Read, "db/deep/er/fixed")
	s.open(Config{}, nil)
	for _, folder := range []string{"db/deep", "db/deep/er", "db/deep/er/fixed"} {
		s.shell("mv -T " + s.path(folder) + " " + s.path("db/away") + " && mkdir -p " + s.path("db/deep/er/fixed"))
		assert.Equal(t, "fixed", s.read("db/deep/er/fixed/ref.json"), folder)
	}
}

func TestAShellHasNothingOfTheHostsEnvironment(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "key-of-the-host")
	s := sandboxed(t, Config{Env: func(context.Context, agent.Scope) (map[string]string, error) {
		return map[string]string{"SECRET_TOKEN": "token-of-the-step"}, nil
	}})
	text := s.succeeds(ShellTool, map[string]any{"command": "env; cat /proc/*/environ | tr '\\0' '\\n'; ls -d $HOME $TMPDIR; touch $HOME/x; echo $DB_PATH; echo $STEP_OUTPUT_DIR"})
	assert.NotContains(t, text, "key-of-the-host")
	assert.Contains(t, text, "SECRET_TOKEN=token-of-the-step")
	assert.Contains(t, text, s.path("db/db.sqlite")+"\n"+s.path(workDir)+"\n")
}

func TestAFloodOfOutputIsCut(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, Config{Limits: Limits{Output: 64 << 10}})
	text := s.fails(ShellTool, map[string]any{"command": "yes"})
	assert.Contains(t, text, "ended by a limit: output (64 KiB)")
	assert.Contains(t, text, "[Output cut here after 64 KiB.")
	assert.Less(t, len(text), 65<<10)
}

func TestACommandThatTakesTooLongIsEnded(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, Config{})
	text := s.fails(ShellTool, map[string]any{"command": "echo begun; sleep 600 & sleep 600", "timeout_seconds": 1})
	assert.Contains(t, text, "ended by a limit: time (1 second)")
	assert.Contains(t, text, "begun")
}

func TestACanceledCommandIsGone(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := s.try(ctx, ShellTool, map[string]any{"command": "touch begun; exec sleep 600"})
		done <- err
	}()
	require.Eventually(t, func() bool { _, err := os.Stat(s.path(workDir + "/begun")); return err == nil }, 30*time.Second, 10*time.Millisecond)
	cancel()
	require.ErrorIs(t, <-done, context.Canceled)
}

func TestTwentyCommandsRunSideBySide(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, Config{})
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Go(func() {
			result := s.shell(fmt.Sprintf("echo %d > n%d; cat n%d", i, i, i))
			assert.Equal(t, fmt.Sprintf("Exit code: 0\nOutput:\n%d\n", i), result.Text())
		})
	}
	calls.Wait()
}

// TestWhatAShellPlantsLeadsTheOtherToolsNowhere is the attack of a prompt injection: a
// command plants links, the file tools follow them with the host's rights.
func TestWhatAShellPlantsLeadsTheOtherToolsNowhere(t *testing.T) {
	t.Parallel()
	s := sandboxed(t, Config{})
	s.write("planning/image.png", pngImage(t))
	s.succeeds(ShellTool, map[string]any{"command": strings.Join([]string{
		"ln -s ../../../../../../planning/plan.json x",
		"ln -s ../../../../../../planning/image.png image.png",
		"ln -s ../../../../../../planning folder",
		"ln -s " + s.path("db/fixed") + " fixed",
		"ln -s ../planning " + s.path("db/planning"),
		"ln -s fixed " + s.path("db/door"),
		"mkfifo pipe.png",
	}, " && ")})
	const patch = "@@\n-the plan\n+mine\n"
	for _, file := range []string{"x", "folder/plan.json", "db/planning/plan.json", "pipe.png"} {
		s.fails(PatchTool, map[string]any{"file_path": file, "patch": patch})
	}
	for _, file := range []string{"fixed/ref.json", "db/door/ref.json"} {
		s.fails(PatchTool, map[string]any{"file_path": file, "patch": "@@\n-fixed\n+mine\n"})
	}
	for _, file := range []string{"image.png", "folder/image.png", "db/planning/image.png", "pipe.png"} {
		s.fails(ImageTool, map[string]any{"file_path": file})
	}
	assert.Equal(t, "the plan", s.read("planning/plan.json"))
	assert.Equal(t, "fixed", s.read("db/fixed/ref.json"))

	// A name of the guard that was not there becomes a link: it is shown to nobody.
	s.scope.Guard.Read = append(s.scope.Guard.Read, "db/planning")
	s.open(Config{}, nil)
	assert.NotContains(t, s.shell("cat "+s.path("db/planning/plan.json")).Text(), "the plan")
	assert.Contains(t, s.fails(ImageTool, map[string]any{"file_path": "db/planning/image.png"}), "symbolic link")
}

func BenchmarkShellTrue(b *testing.B) {
	s := sandboxed(b, Config{})
	for b.Loop() {
		if result := s.shell("true"); result.IsError {
			b.Fatal(result.Text())
		}
	}
}
