package tools

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/sandbox"
)

// Name is the name of the toolset, and Alias another that steps may select it by.
const (
	Name  = "workspace_advanced"
	Alias = "workspace_tools"
)

// Defaults of [Config] and [Limits].
const (
	DefaultTimeout       = 2 * time.Minute
	DefaultMaxTimeout    = 30 * time.Minute
	DefaultOutput        = 4 << 20
	DefaultMaxFileBytes  = 8 << 20
	DefaultMaxImageBytes = 5 << 20
)

// Config says how the tools work. The zero value is of use: a shell with the default
// limits, patches and images, no media tools.
type Config struct {
	// Shell is the absolute path of the shell that runs commands, which must take
	// "-c COMMAND". Empty is /bin/bash where the host has it, because that is what
	// models write for, else /bin/sh.
	Shell string
	// WithoutShell leaves execute_shell_command out, for hosts whose storage has no
	// local paths or whose kernel has no sandbox.
	WithoutShell bool
	// Limits bound each command.
	Limits Limits
	// Without names the parts of the sandbox that the host accepts to do without
	// where the kernel does not offer them, as the error of a refused command
	// names them. What is indeed missing is logged once.
	Without []string
	// Env returns environment variables for the commands of a step, such as
	// VAR_NAME and SECRET_NAME. It is asked once for each session. It may replace
	// PATH, HOME, LANG, TMPDIR and TERM, and not what Treadle sets for the step:
	// STEP_OUTPUT_DIR, STEP_EXECUTION_DIR, DB_PATH. Commands see nothing of the
	// host's own environment. Nil adds nothing.
	Env func(ctx context.Context, scope agent.Scope) (map[string]string, error)

	// MaxFileBytes is the largest file that is patched; 0 is [DefaultMaxFileBytes].
	MaxFileBytes int64
	// MaxImageBytes is the largest image that is shown to the model, which gets it
	// whole; 0 is [DefaultMaxImageBytes].
	MaxImageBytes int64

	// Media are tools that the host provides. Each that is nil does not exist.
	Media Media

	// Logger gets what a host should know; nil discards.
	Logger *slog.Logger
}

// Limits bound one command. The zero value of a field is its default; where none is
// stated here, it is the sandbox's own.
type Limits struct {
	// Timeout is for a command that asks for none; 0 is [DefaultTimeout].
	Timeout time.Duration
	// MaxTimeout is the most that a command may ask for; 0 is [DefaultMaxTimeout].
	MaxTimeout time.Duration
	// Output is how many bytes a command may print before it is ended; 0 is
	// [DefaultOutput].
	Output int64
	// Memory is in bytes, of all processes of the command together where the host
	// allows that to be counted, else of each.
	Memory int64
	// Processes is how many may live at one time, threads included.
	Processes int
	// FileSize is the largest file that may be written, in bytes.
	FileSize int64
	// Disk is by how many bytes all writable folders may grow together.
	Disk int64
	// OpenFiles is how many files one process may have open.
	OpenFiles int
}

// withDefaults checks the configuration and fills it in.
func (c Config) withDefaults() (Config, error) {
	fill(&c.Limits.Timeout, DefaultTimeout)
	fill(&c.Limits.MaxTimeout, max(DefaultMaxTimeout, c.Limits.Timeout))
	fill(&c.Limits.Output, DefaultOutput)
	fill(&c.MaxFileBytes, DefaultMaxFileBytes)
	fill(&c.MaxImageBytes, DefaultMaxImageBytes)
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Shell == "" {
		c.Shell = "/bin/sh"
		if _, err := os.Stat("/bin/bash"); err == nil {
			c.Shell = "/bin/bash"
		}
	}
	l := &c.Limits
	switch {
	case c.Shell[0] != '/':
		return c, fmt.Errorf("tools: Config.Shell %q: give an absolute path", c.Shell)
	case l.Timeout < 0 || l.MaxTimeout < 0 || l.Output < 0 || l.Memory < 0 || l.Processes < 0 ||
		l.FileSize < 0 || l.Disk < 0 || l.OpenFiles < 0 || c.MaxFileBytes < 0 || c.MaxImageBytes < 0:
		return c, fmt.Errorf("tools: a limit is negative; leave it 0 for the default")
	case l.Timeout > l.MaxTimeout:
		return c, fmt.Errorf("tools: Config.Limits.Timeout %v is above MaxTimeout %v", l.Timeout, l.MaxTimeout)
	}
	return c, nil
}

func fill[T comparable](field *T, otherwise T) {
	var zero T
	if *field == zero {
		*field = otherwise
	}
}

// sandboxed gives the limits in the words of the sandbox.
func (l *Limits) sandboxed(timeout time.Duration) sandbox.Limits {
	return sandbox.Limits{
		Duration: timeout, Memory: l.Memory, Processes: l.Processes, FileSize: l.FileSize,
		Disk: l.Disk, Output: l.Output, OpenFiles: l.OpenFiles,
	}
}
