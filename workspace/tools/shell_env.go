package tools

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

// dbFile is the database of a workflow, which DB_PATH names.
const dbFile = workspace.DBDir + "/db.sqlite"

// environment is all that a command finds in its environment.
func (s *session) environment() []string {
	env := map[string]string{
		"PATH":   "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME":   "/tmp", // the sandbox's own, gone with the command
		"TMPDIR": "/tmp",
		"LANG":   "C.UTF-8",
		"TERM":   "dumb", // no colours, no pagers
	}
	maps.Copy(env, s.env)
	s.setLocal(env, "STEP_OUTPUT_DIR", s.scope.WorkDir)
	if s.scope.RunFolder != "" {
		s.setLocal(env, "STEP_EXECUTION_DIR", workspace.RunLayout(s.scope.RunFolder).Execution(""))
	}
	if s.files.Guard().Access(dbFile) != workspace.NoAccess {
		s.setLocal(env, "DB_PATH", dbFile)
	}
	all := make([]string, 0, len(env))
	for name, value := range env {
		all = append(all, name+"="+value)
	}
	slices.Sort(all)
	return all
}

func (s *session) setLocal(env map[string]string, variable, name string) {
	delete(env, variable) // never from what is shared
	if name == "" {
		return
	}
	if local, ok := s.scope.Workspace.LocalPath(name); ok {
		env[variable] = local
	}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// checkEnv tells the name, never the value, which may be a secret.
func checkEnv(env map[string]string) error {
	for name, value := range env {
		switch {
		case !envName.MatchString(name):
			return fmt.Errorf("tools: Config.Env gave %q, which is no name of an environment variable", name)
		case strings.ContainsRune(value, 0):
			return fmt.Errorf("tools: Config.Env gave a value with a zero byte for %s", name)
		}
	}
	return nil
}
