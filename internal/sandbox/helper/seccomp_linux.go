//go:build linux && (amd64 || arm64)

package helper

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// refused are system calls that a command has no use for in here, and that have been
// the way out of other sandboxes.
func refused() []uint32 {
	return append([]uint32{
		// Other processes.
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PROCESS_MADVISE, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
		// The tree of files.
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
		unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_NAME_TO_HANDLE_AT,
		unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_FANOTIFY_INIT,
		// Keys, programs in the kernel, and other deep parts of it.
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD, unix.SYS_SYSLOG,
		unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD, unix.SYS_REBOOT, unix.SYS_VHANGUP,
		// Namespaces.
		unix.SYS_UNSHARE, unix.SYS_SETNS,
		// What the machine's processes share.
		unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME, unix.SYS_SETHOSTNAME, unix.SYS_SETDOMAINNAME,
		unix.SYS_MBIND, unix.SYS_MIGRATE_PAGES, unix.SYS_MOVE_PAGES, unix.SYS_SET_MEMPOLICY,
	}, refusedHere()...)
}

// unknown are system calls that programs try and do without where the kernel is older.
func unknown() []uint32 {
	return []uint32{
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_CLONE3,                              // its flags lie in memory, where a filter cannot look; clone does the same
		unix.SYS_MEMFD_CREATE, unix.SYS_MEMFD_SECRET, // memory that no limit but a cgroup's counts, and programs without a file
	}
}

const (
	returnAllow   = unix.SECCOMP_RET_ALLOW
	returnRefused = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	returnUnknown = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	returnFamily  = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)

	// Where struct seccomp_data has what: the number, the architecture, and the lower
	// halves of the arguments.
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArgument0    = 16
	offsetArgument1    = 24
	offsetArgument2    = 32

	// namespaceFlags are those of clone that make a namespace.
	namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

	// foreignCalls is the bit of the numbers of another set of calls (x32).
	foreignCalls = 0x40000000
)

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

func answer(with uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: with}
}

// when goes on with the next instruction where the test holds, else skips some.
func when(test uint16, value uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | test | unix.BPF_K, K: value, Jf: skip}
}

// program is the filter. Everything that it does not name is allowed.
func program(noSharedMemory bool) []unix.SockFilter {
	p := []unix.SockFilter{
		load(offsetArchitecture),
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: architecture, Jt: 1},
		answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetNumber),
		when(unix.BPF_JGE, foreignCalls, 1), answer(returnUnknown),
	}
	for _, number := range refused() {
		p = append(p, when(unix.BPF_JEQ, number, 1), answer(returnRefused))
	}
	unknown := unknown()
	if noSharedMemory {
		unknown = append(unknown, unix.SYS_SHMGET)
	}
	for _, number := range unknown {
		p = append(p, when(unix.BPF_JEQ, number, 1), answer(returnUnknown))
	}
	p = append(p,
		when(unix.BPF_JEQ, unix.SYS_CLONE, 4),
		load(offsetArgument0),
		when(unix.BPF_JSET, namespaceFlags, 1), answer(returnRefused), answer(returnAllow),

		// Typing into a terminal, as if its user did.
		when(unix.BPF_JEQ, unix.SYS_IOCTL, 6),
		load(offsetArgument1),
		when(unix.BPF_JEQ, unix.TIOCSTI, 1), answer(returnRefused),
		when(unix.BPF_JEQ, unix.TIOCLINUX, 1), answer(returnRefused),
		answer(returnAllow),

		// Sockets of the families that namespaces do not part, such as a virtual
		// machine's own (AF_VSOCK), or that open deep parts of the kernel. Of netlink,
		// libraries need the one that lists addresses.
		when(unix.BPF_JEQ, unix.SYS_SOCKET, 12),
		load(offsetArgument0),
		when(unix.BPF_JEQ, unix.AF_UNIX, 1), answer(returnAllow),
		when(unix.BPF_JEQ, unix.AF_INET, 1), answer(returnAllow),
		when(unix.BPF_JEQ, unix.AF_INET6, 1), answer(returnAllow),
		when(unix.BPF_JEQ, unix.AF_NETLINK, 3),
		load(offsetArgument2),
		when(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1), answer(returnAllow),
		answer(returnFamily),

		answer(returnAllow),
	)
	return p
}

// filterSyscalls puts the filter on the calling thread and on what it starts.
func filterSyscalls(config *Config) error {
	instructions := program(config.NoSharedMemory)
	filter := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&filter))) //nolint:gosec // what the kernel reads or wrote there stands above
	if errno != 0 {
		return lacking(FeatureSeccomp, "seccomp: %w", errno)
	}
	return nil
}
