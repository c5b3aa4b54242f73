// Package sandbox runs one command that sees nothing of the host but what it is
// given.
//
// It works on Linux, as root and as a normal user. The command runs in namespaces of
// its own (user, process, mount, network, ipc, host name), in a root that holds the
// system's programs and libraries, a fresh /proc, an empty /tmp and the paths it is
// given; as a user who is not root, without capabilities, under Landlock and a filter
// of system calls, and under limits. docs/sandbox.md says which escape is stopped by
// what.
//
// A host must not do anything for that: importing this package links
// internal/sandbox/helper, which takes over when the executable is started again as
// the helper of a command. The host's own process is never confined.
package sandbox

import (
	"io"
	"time"
)

// Command is a command to run, and all that it may touch.
type Command struct {
	// Argv is the command and its arguments. A name without a slash is looked up in
	// the PATH of Env, inside; a command that is not found, or cannot be executed, ends
	// with the exit code that shells use for it, 127 or 126, and says so on Stderr.
	Argv []string
	// Dir is the folder to start in, as an absolute path that Paths covers. Empty is
	// /tmp, which is empty and private to the command.
	Dir string
	// Env is the whole environment; nothing of the host's is added. HTTP_PROXY and its
	// siblings are set where Hosts is not empty.
	Env []string
	// Stdin is what the command reads; nil is an empty input. Run waits for a Read that
	// is in progress when the command ends, so Stdin should not block for ever.
	Stdin io.Reader
	// Stdout and Stderr get the output. They may be the same writer, which then gets
	// both in order, from one goroutine. Nil discards. A writer that fails gets nothing
	// more, and Run returns its error; one that blocks, blocks Run.
	Stdout, Stderr io.Writer

	// Paths are the host's files and folders that the command sees, at the same
	// absolute paths, beside the system's own programs and libraries, which it may
	// read. The most specific path decides; of two for one name, the one that is read
	// only. Each must exist, be a regular file or a folder, and have no symbolic link
	// in its name (use filepath.EvalSymlinks on what the host trusts, first); else Run
	// returns a [*PathError]. Unix sockets in them that a program of the host listens on
	// when the command starts are hidden from it.
	//
	// Where the host runs as root, everything in a writable path is handed to the
	// unprivileged user that the command runs as: the owner of the first writable path
	// when that is not root, else [UnprivilegedID].
	Paths []Path
	// Socket is the path of a Unix socket of the host that the command may connect
	// to; inside it is at SocketPath. Empty is none. Where the host runs as root, the
	// socket is handed to the unprivileged user that the command runs as.
	Socket string
	// Hosts are the "name:port" that the command may reach, through a proxy that
	// HTTP_PROXY and HTTPS_PROXY name inside. Empty is no network at all. A name that
	// begins with "*." stands for every name below the rest. Names that resolve to
	// addresses that are not public are refused.
	Hosts []string
	// PrivateHosts are further ones, whose names may also resolve to addresses that are
	// not public, such as "localhost:5432".
	PrivateHosts []string

	Limits Limits
	// Without names what the host accepts to do without where the kernel does not
	// offer it. Anything else that is missing is an [*UnavailableError].
	Without []Feature
}

// SocketPath is where [Command].Socket is inside.
const SocketPath = "/run/treadle/host.sock"

// UnprivilegedID is the user and group id that commands of a host that runs as root
// have outside, unless a writable path has an owner that is not root. It lies in a
// range that neither distributions nor systemd hand out.
const UnprivilegedID = 60788

// Path is a file or folder of the host that a command sees.
type Path struct {
	Name  string // absolute
	Write bool   // else it is read only
}

// Limits bound a command. The zero value of each field is its default; a negative one
// is an error.
type Limits struct {
	Duration  time.Duration // wall clock; default 5 minutes
	Memory    int64         // bytes, of the whole tree where a cgroup can be made, else of each process; default 2 GiB
	Processes int           // at one time, threads included; default 256
	FileSize  int64         // bytes of any one file; default 1 GiB
	Disk      int64         // bytes by which all writable paths may grow together, also at the end; what was written stays; default 2 GiB
	Output    int64         // bytes of Stdout and Stderr together; default 16 MiB
	OpenFiles int           // of one process; default 1024
}

// The names of limits in [Result].Limit. What goes over the limit of one file, or of
// open files, gets an error and is not ended.
const (
	LimitDuration  = "duration"
	LimitMemory    = "memory"
	LimitProcesses = "processes"
	LimitDisk      = "disk"
	LimitOutput    = "output"
)

// Result is how a command ended.
type Result struct {
	ExitCode int    // 128 + the signal's number for a command that a signal ended
	Signal   string // such as "killed"; empty when it exited
	// Limit names the limit that ended the command, or that it had exceeded when it ended,
	// such as "memory"; ExitCode is then never 0. Empty is none.
	Limit string
	// Missing are the features that the kernel does not offer: those of Without, and
	// the cgroups, which have a substitute and need no consent. The host should log
	// them.
	Missing  []Feature
	Duration time.Duration
}
