//go:build linux

package sandbox_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/treadle-dev/treadle/internal/sandbox"
)

// normalUser is anybody but root.
const normalUser = 65534

// asNormalUser runs this test binary again as a user who is not root.
func asNormalUser(t *testing.T, lacking string, arguments ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return again(t, ".", "", nil, lacking, arguments...)
	}
	home, err := os.MkdirTemp("", "treadle-normal-user-") //nolint:usetesting // the folder of t.TempDir lies in one that this user may not enter
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	require.NoError(t, os.Chown(home, normalUser, normalUser))
	exe, err := os.Executable()
	require.NoError(t, err)
	copied := filepath.Join(home, "sandbox.test")
	copyFile(t, exe, copied)
	return again(t, home, copied, &syscall.Credential{Uid: normalUser, Gid: normalUser}, lacking, arguments...)
}

// again runs these tests again, as somebody else, on a kernel that lacks something, or
// both.
func again(t *testing.T, folder, exe string, as *syscall.Credential, lacking string, arguments ...string) string {
	t.Helper()
	if exe == "" {
		var err error
		exe, err = os.Executable()
		require.NoError(t, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, append(arguments, "-test.v", "-test.timeout=4m")...)
	cmd.Dir = folder
	cmd.Env = []string{"PATH=/usr/bin:/bin", kernelLacks + "=" + lacking}
	if as != nil {
		cmd.Env = append(cmd.Env, "HOME="+folder, "TMPDIR="+folder)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	return string(output)
}

// copyFile copies in a process of its own. A descriptor that is open for writing here may
// be inherited by what another test starts at that moment, and until that one is gone
// nobody can execute the file.
func copyFile(t *testing.T, from, to string) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "cp", "--", from, to).CombinedOutput()
	require.NoError(t, err, string(output))
	require.NoError(t, os.Chmod(to, 0o755))
}

func TestEveryEscapeIsStoppedForANormalUserToo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("this is a normal user already")
	}
	output := asNormalUser(t, "", "-test.run=^(TestEscape|TestRun|TestA|TestTheHost)", "-test.skip=^TestAThousand")
	assert.GreaterOrEqual(t, strings.Count(output, "--- PASS: TestEscape"), 30)
	assert.NotContains(t, output, "--- SKIP")
}

func TestEveryEscapeIsStoppedWithoutAUserNamespaceToo(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root makes the other namespaces without one")
	}
	output := again(t, ".", "", nil, "clone", "-test.run="+escapes(), "-test.skip="+limitsOnly())
	assert.GreaterOrEqual(t, strings.Count(output, "--- PASS: TestEscape"), 10)
	assert.NotContains(t, output, "--- SKIP")
}

// escapes are all of them, or with the race detector some: it has nothing to look for in
// the attackers, which are processes of their own.
func escapes() string {
	if raced {
		return "^TestEscape(Reading|Killing|ByTCP|ByAnEndlessRun|ByOrphans|ByAFlood|ByMemory|ByFillingTheDiskWithout)|^TestRunEnds"
	}
	return "^TestEscape|^TestRunEnds"
}

// limitsOnly are escapes that no namespace has a part in, and that take their time.
func limitsOnly() string { return "^TestEscapeBy(Filling|Memory|AForkBomb|Many|Folders|Orphans)" }

// refusedConfined are escapes that are stopped without namespaces by refusing the command.
func refusedConfined() []string {
	return []string{
		"TestEscapeByASetUserIDProgram", "TestEscapeRenamingAFolderAboveAProtectedOne", "TestEscapeRenamingAProtectedFolder",
		"TestEscapeReplacingAJournalThatMayBeRead", "TestEscapeToAHostPastTheProxy", "TestEscapeToAnotherPortOfTheSameHost",
		"TestEscapeToTheSamePortOfAnotherHost", "TestEscapeWritingAJournalThatMayBeRead", "TestEscapeWritingAReadOnlyFolderInAWritableOne",
	}
}

// openConfined are escapes that are not stopped without namespaces.
func openConfined() []string {
	return []string{"TestEscapeKeepingACapability", "TestEscapeReadingTheHostsHardware", "TestEscapeRenamingTheMachine"}
}

func TestEveryEscapeIsStoppedWithoutNamespacesExceptThoseOfThePage(t *testing.T) {
	t.Parallel()
	skip := "^(" + strings.Join(append(refusedConfined(), openConfined()...), "|") + ")$"
	output := asNormalUser(t, "clone", "-test.run="+escapes(), "-test.skip="+skip)
	assert.GreaterOrEqual(t, strings.Count(output, "--- PASS: TestEscape"), 10)
	assert.NotContains(t, output, "--- SKIP")

	page, err := os.ReadFile("../../docs/sandbox.md")
	require.NoError(t, err)
	_, section, _ := strings.Cut(string(page), "## Without namespaces")
	section, _, _ = strings.Cut(section, "\n## ")
	told := regexp.MustCompile("`(TestEscape\\w+)`").FindAllString(section, -1)
	for _, name := range append(refusedConfined(), openConfined()...) {
		assert.Contains(t, told, "`"+name+"`")
	}
	assert.Len(t, told, len(refusedConfined())+len(openConfined()))
}

func TestRunRefusesWithoutNamespacesWhatItCannotKeepApart(t *testing.T) {
	t.Parallel()
	output := asNormalUser(t, "clone", "-test.run=^TestConfinedRefuses$")
	assert.Contains(t, output, "--- PASS: TestConfinedRefuses")
}

// TestConfinedRefuses has something to say on a kernel that lacks namespaces only.
func TestConfinedRefuses(t *testing.T) {
	t.Parallel()
	if !confinedHere() {
		return
	}
	b := setup(t)
	b.command.Argv = []string{"true"}
	hosts, socket, nested := *b.command, *b.command, *b.command
	hosts.Hosts = []string{"example.com:443"}
	socket.Socket = filepath.Join(b.outside, "s")
	inner := filepath.Join(b.work, "inner")
	require.NoError(t, os.Mkdir(inner, 0o755))
	nested.Paths = append(nested.Paths, sandbox.Path{Name: inner})
	for words, command := range map[string]*sandbox.Command{"Command.Hosts needs": &hosts, "Command.Socket needs": &socket} {
		_, err := sandbox.Run(t.Context(), command)
		var lacking *sandbox.UnavailableError
		require.ErrorAs(t, err, &lacking)
		assert.Equal(t, sandbox.Namespaces, lacking.Feature)
		assert.ErrorContains(t, err, words)
	}
	_, err := sandbox.Run(t.Context(), &nested)
	var wrong *sandbox.PathError
	require.ErrorAs(t, err, &wrong)
	assert.Equal(t, inner, wrong.Name)

	b.command.Dir = ""
	result := b.shell("mkdir -p deep/er && chmod 0 . ; mkdir -m 0 deep/shut; pwd; echo $TMPDIR")
	folder, _, _ := strings.Cut(b.output.String()[strings.LastIndex(strings.TrimSpace(b.output.String()), "\n")+1:], "\n")
	assert.Contains(t, folder, "treadle-sandbox-", "%+v %s", result, b.output.String())
	assert.NoDirExists(t, folder)
	missing, err := sandbox.Probe(t.Context())
	require.NoError(t, err)
	assert.Contains(t, missing, sandbox.Namespaces)
}
