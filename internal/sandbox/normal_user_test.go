//go:build linux

package sandbox_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// normalUser is anybody but root.
const normalUser = 65534

// asNormalUser runs this test binary again as a user who is not root.
func asNormalUser(t *testing.T, arguments ...string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("this is a normal user already")
	}
	home, err := os.MkdirTemp("", "treadle-normal-user-") //nolint:usetesting // the folder of t.TempDir lies in one that this user may not enter
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(home) })
	require.NoError(t, os.Chown(home, normalUser, normalUser))
	exe, err := os.Executable()
	require.NoError(t, err)
	copied := filepath.Join(home, "sandbox.test")
	copyFile(t, exe, copied)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, copied, arguments...)
	cmd.Dir = home
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "TMPDIR=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: normalUser, Gid: normalUser}}
	output, err := cmd.CombinedOutput()
	require.NoError(t, err, string(output))
	return string(output)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	require.NoError(t, err)
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY, 0o755)
	require.NoError(t, err)
	_, err = io.Copy(out, in)
	require.NoError(t, err)
	require.NoError(t, out.Close())
}

func TestEveryEscapeIsStoppedForANormalUserToo(t *testing.T) {
	t.Parallel()
	output := asNormalUser(t, "-test.run=^(TestEscape|TestRun|TestAHost|TestTheHost)", "-test.v", "-test.timeout=4m")
	assert.GreaterOrEqual(t, strings.Count(output, "--- PASS: TestEscape"), 30)
	assert.NotContains(t, output, "--- SKIP")
}
