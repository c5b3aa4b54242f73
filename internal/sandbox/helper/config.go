// Package helper is the part of the sandbox that runs inside it: the host's own
// executable, started again under a reserved name and taken over before the host's
// main, or the rest of its packages, see anything.
//
// It has few dependencies on purpose: packages are initialised in the order of their
// import paths as soon as what they import is ready, so all that this one imports is
// paid for by every sandboxed command.
package helper

// Name is the reserved argv[0] under which an executable that links this package
// becomes a helper.
const Name = "treadle-sandbox-helper"

// The descriptors that a helper is started with, beside the command's own 0, 1 and 2.
const (
	// ControlFD is a SOCK_SEQPACKET socket to the host. Its end means that the host is
	// gone, and with it the sandbox.
	ControlFD = 3
	// ConfigFD is a file that holds a [Config] as JSON. It is complete when the host
	// has sent its first byte on the control socket.
	ConfigFD = 4
	// FirstMountFD is the first of the mounts that the host prepared.
	FirstMountFD = 5
)

// The ids of a command inside a user namespace, in which no user and no group has id 0.
const (
	UID = 1000
	GID = 1000
)

// Config is all that a helper is told.
type Config struct {
	Argv []string `json:"argv,omitempty"`
	Dir  string   `json:"dir,omitempty"`
	Env  []string `json:"env,omitempty"`

	// Binds are in any order; no two have the same name.
	Binds []Bind `json:"binds,omitempty"`
	// Socket is bound at SocketPath unless its name is empty.
	Socket     Bind   `json:"socket,omitzero"`
	SocketPath string `json:"socket_path,omitempty"`
	// Mounts is how many descriptors follow from FirstMountFD on.
	Mounts int `json:"mounts,omitempty"`
	// Listen asks for a TCP listener inside, which is sent to the host, and whose
	// address the environment then names as the proxy.
	Listen bool `json:"listen,omitempty"`
	// Direct are the names that are not asked for through the proxy.
	Direct []string `json:"direct,omitempty"`
	// Masks are names inside binds of what answers whoever opens it (sockets, named
	// pipes), and is covered.
	Masks []string `json:"masks,omitempty"`

	TmpSize int64 `json:"tmp_size,omitempty"` // bytes of /tmp
	ShmSize int64 `json:"shm_size,omitempty"` // bytes of /dev/shm

	FileSize  int64 `json:"file_size,omitempty"`
	OpenFiles int   `json:"open_files,omitempty"`
	Processes int   `json:"processes,omitempty"` // of the sandbox's user, the helper's own threads included; 0 is no such limit
	Data      int64 `json:"data,omitempty"`      // bytes of private memory of each process; 0 is no such limit
	// Watch is what the helper watches itself for want of a cgroup.
	WatchMemory    int64 `json:"watch_memory,omitempty"`
	WatchProcesses int   `json:"watch_processes,omitempty"`
	// Disk is how much files without a name may hold.
	Disk int64 `json:"disk,omitempty"`

	// User and Group are the ids of the command inside. Become says that they are not
	// those of the helper, which has no user namespace: the command's thread takes them.
	User   int  `json:"user,omitempty"`
	Group  int  `json:"group,omitempty"`
	Become bool `json:"become,omitempty"`
	// Confined says that there are no namespaces at all: Landlock, the filter and limits
	// are what stands between the command and the host.
	Confined bool `json:"confined,omitempty"`

	NoProc     bool `json:"no_proc,omitempty"`
	NoLandlock bool `json:"no_landlock,omitempty"`
	NoSeccomp  bool `json:"no_seccomp,omitempty"`
	// NoSharedMemory refuses System V shared memory, which no limit but a cgroup's
	// counts.
	NoSharedMemory bool `json:"no_shared_memory,omitempty"`
}

// Bind is a file or folder of the host at the same path inside.
type Bind struct {
	Name   string `json:"name,omitempty"`
	Write  bool   `json:"write,omitempty"`
	Folder bool   `json:"folder,omitempty"`
	// Mount is the descriptor of a detached mount; 0 asks the helper to make it.
	Mount int `json:"mount,omitempty"`
	// Device and Inode are what the host found under the name.
	Device uint64 `json:"device,omitempty"`
	Inode  uint64 `json:"inode,omitempty"`
}

// Report is what a helper sends: one message for a failure or for the end, and one
// before it, with the descriptor, for a listener.
type Report struct {
	Listener bool     `json:"listener,omitempty"`
	Failure  *Failure `json:"failure,omitempty"`
	Exit     *Exit    `json:"exit,omitempty"`
}

// Failure says that the sandbox could not be built.
type Failure struct {
	// Feature is the part of the protection that the kernel does not offer; empty
	// when something else is wrong.
	Feature string `json:"feature,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Errno   int    `json:"errno,omitempty"`
}

// Exit is how the command ended.
type Exit struct {
	Code   int    `json:"code,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Limit  string `json:"limit,omitempty"`
}

// The names of what a kernel may lack.
const (
	FeatureNamespaces    = "namespaces"
	FeatureProc          = "proc"
	FeatureLandlock      = "landlock"
	FeatureSeccomp       = "seccomp"
	FeatureMemoryCgroup  = "memory-cgroup"
	FeatureProcessCgroup = "process-cgroup"
)
