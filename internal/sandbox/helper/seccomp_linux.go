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

// refusedOutside are further ones for a command that shares the host's namespaces,
// where Landlock stands between it and the host's files: what Landlock does not know of
// (modes, owners, times and attributes by name, watches) and what reaches other processes
// of the same user, or what they share.
func refusedOutside() []uint32 {
	return append([]uint32{
		unix.SYS_FCHMODAT, unix.SYS_FCHMODAT2, unix.SYS_FCHOWNAT, unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
		unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT, unix.SYS_INOTIFY_ADD_WATCH, unix.SYS_SHMGET, unix.SYS_SEMGET, unix.SYS_MSGGET, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
		unix.SYS_FCHMOD, unix.SYS_FCHOWN, unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR, // a descriptor that may only read is enough for them
	}, refusedOutsideHere()...)
}

// ofItself are calls that take a process, of which a command that shares the host's may
// only name itself.
func ofItself() []struct{ number, argument uint32 } {
	return []struct{ number, argument uint32 }{
		{unix.SYS_PRLIMIT64, 0},
		{unix.SYS_SCHED_SETSCHEDULER, 0},
		{unix.SYS_SCHED_SETPARAM, 0},
		{unix.SYS_SCHED_SETATTR, 0},
		{unix.SYS_SCHED_SETAFFINITY, 0},
		{unix.SYS_SETPRIORITY, 1},
		{unix.SYS_IOPRIO_SET, 1},
	}
}

// filterSyscalls puts the filter on the calling thread and on what it starts.
func filterSyscalls(config *Config) error {
	instructions := program(config)
	filter := unix.SockFprog{Len: uint16(len(instructions)), Filter: &instructions[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&filter))) //nolint:gosec // what the kernel reads or wrote there stands above
	if errno != 0 {
		return lacking(FeatureSeccomp, "seccomp: %w", errno)
	}
	return nil
}
