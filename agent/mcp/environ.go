package mcp

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// inheritedVariables are the host's variables that a server gets. The list starts
// from the one that the protocol's own SDKs use.
func inheritedVariables() []string {
	names := []string{
		"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ",
		"LANG", "LC_ALL", "LC_CTYPE",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME",
	}
	if runtime.GOOS == "windows" {
		names = append(
			names, "APPDATA", "COMSPEC", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATHEXT",
			"PROCESSOR_ARCHITECTURE", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP",
			"USERNAME", "USERPROFILE",
		)
	}
	return names
}

// environment returns a server's variables as NAME=value, sorted.
func environment(own map[string]string, lookup func(string) (string, bool)) []string {
	vars := map[string]string{}
	for _, name := range inheritedVariables() {
		value, ok := lookup(name)
		// A shell function exported under such a name is code, not a setting.
		if ok && !strings.HasPrefix(value, "()") {
			vars[name] = value
		}
	}
	maps.Copy(vars, own)
	env := make([]string, 0, len(vars))
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, name+"="+vars[name])
	}
	return env
}

// findCommand finds a bare command name in the PATH that the server gets, which
// its env may have changed. Any other command is left as it is.
func findCommand(command string, own map[string]string) (string, error) {
	if filepath.Base(command) != command {
		return command, nil
	}
	path, changed := own["PATH"]
	if !changed || runtime.GOOS == "windows" {
		found, err := exec.LookPath(command)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return "", fmt.Errorf("command %q was not found in PATH; install it, or give its full path: %w", command, exec.ErrNotFound)
		}
		return found, err
	}
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // as in os/exec: never run a program from a folder that PATH only implies
		}
		candidate := filepath.Join(dir, command)
		if st, err := os.Stat(candidate); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return candidate, nil
		}
	}
	return "", fmt.Errorf("command %q was not found in the PATH of the server's env: %w", command, exec.ErrNotFound)
}
