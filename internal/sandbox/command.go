// Package sandbox runs one command that sees nothing of the host but what it is
// given.
package sandbox

import (
	"context"
	"errors"
	"io"
	"time"
)

// Command is a command to run, and all that it may touch.
type Command struct {
	// Argv is the command and its arguments. A name without a slash is looked up in
	// the PATH of Env, inside.
	Argv []string
	// Dir is the folder to start in, as an absolute path that Paths covers.
	Dir string
	// Env is the whole environment; nothing of the host's is added.
	Env []string
	// Stdin is what the command reads; nil is an empty input.
	Stdin io.Reader
	// Stdout and Stderr get the output. They may be the same writer, which then
	// gets both in order. Nil discards.
	Stdout, Stderr io.Writer

	// Paths are the host's files and folders that the command sees, at the same
	// absolute paths, beside the system's own programs and libraries, which it may
	// read. The most specific path decides.
	Paths []Path
	// Socket is the path of a Unix socket of the host that the command may connect
	// to; inside it is at SocketPath. Empty is none.
	Socket string
	// Hosts are the "name:port" that the command may reach, through a proxy that
	// HTTP_PROXY and HTTPS_PROXY name inside. Empty is no network at all.
	Hosts []string

	Limits Limits
	// Without names what the host accepts to do without where the kernel does not
	// offer it. Anything else that is missing is an [*UnavailableError].
	Without []Feature
}

// SocketPath is where [Command].Socket is inside.
const SocketPath = "/run/treadle/host.sock"

// Path is a file or folder of the host that a command sees.
type Path struct {
	Name  string // absolute
	Write bool   // else it is read only
}

// Limits bound a command. The zero value of each field is its default.
type Limits struct {
	Duration  time.Duration // wall clock
	Memory    int64         // bytes, of the whole tree where a cgroup can be made, else of each process
	Processes int           // at one time, threads included
	FileSize  int64         // bytes of any one file
	Disk      int64         // bytes by which all writable paths may grow together
	Output    int64         // bytes of Stdout and Stderr together
	OpenFiles int           // of one process
}

// Feature is a part of the protection that a kernel may lack.
type Feature string

// Result is how a command ended.
type Result struct {
	ExitCode int    // 128 + the signal's number for a command that a signal ended
	Signal   string // such as "killed"; empty when it exited
	// Limit names the limit that ended the command, such as "memory"; empty is none.
	Limit string
	// Missing are the features of Without that the kernel indeed does not offer.
	Missing  []Feature
	Duration time.Duration
}

// ErrUnavailable is what an [*UnavailableError] matches.
var ErrUnavailable = errors.New("the sandbox is not available")

// Run runs a command to its end and returns once nothing of it is left. A command
// that fails, or that a limit ends, is a result, not an error.
func Run(ctx context.Context, command *Command) (*Result, error) {
	return nil, ErrUnavailable
}
