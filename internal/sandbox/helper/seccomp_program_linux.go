//go:build linux && (amd64 || arm64)

package helper

import (
	"slices"

	"golang.org/x/sys/unix"
)

const (
	returnAllow    = unix.SECCOMP_RET_ALLOW
	returnRefused  = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	returnUnknown  = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
	returnFamily   = unix.SECCOMP_RET_ERRNO | uint32(unix.EAFNOSUPPORT)
	returnProtocol = unix.SECCOMP_RET_ERRNO | uint32(unix.EPROTONOSUPPORT)
	returnCannot   = unix.SECCOMP_RET_ERRNO | uint32(unix.EOPNOTSUPP)

	// Where struct seccomp_data has what: the number, the architecture, and the
	// arguments, of 64 bits each, the lower half first.
	offsetNumber       = 0
	offsetArchitecture = 4
	offsetArgument0    = 16
	offsetArgument1    = 24
	offsetArgument2    = 32

	// namespaceFlags are those of clone that make a namespace.
	namespaceFlags = unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNS | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

	// foreignCalls is the bit of the numbers of another set of calls (x32).
	foreignCalls = 0x40000000

	// socketKind are the bits of a socket's type that say its kind.
	socketKind = 0xf
)

// reservations are the ioctls that do what fallocate does.
func reservations() []uint32 {
	return []uint32{
		0x40305828, 0x4030582a, 0x40305839, // FS_IOC_RESVSP, FS_IOC_RESVSP64, FS_IOC_ZERO_RANGE
		0x4030580a, 0x40305824, // XFS_IOC_ALLOCSP, XFS_IOC_ALLOCSP64
	}
}

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

// unless skips some instructions where the value is the given one.
func unless(value uint32, skip uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: value, Jt: skip}
}

// equal answers where the value is the given one.
func equal(value, with uint32) []unix.SockFilter {
	return []unix.SockFilter{when(unix.BPF_JEQ, value, 1), answer(with)}
}

// program is the filter. Everything that it does not name is allowed.
func program(config *Config) []unix.SockFilter {
	p := []unix.SockFilter{
		load(offsetArchitecture),
		unless(architecture, 1),
		answer(unix.SECCOMP_RET_KILL_PROCESS),
		load(offsetNumber),
		when(unix.BPF_JGE, foreignCalls, 1), answer(returnUnknown),
	}
	each := func(numbers []uint32, with uint32) {
		for _, number := range numbers {
			p = append(p, equal(number, with)...)
		}
	}
	// on is what is asked of one call; it ends with an answer in every case.
	on := func(number uint32, parts ...[]unix.SockFilter) {
		body := slices.Concat(parts...)
		p = append(append(p, when(unix.BPF_JEQ, number, uint8(len(body)))), body...)
	}
	if config.Confined {
		each(refusedOutside(), returnRefused)
		for _, call := range ofItself() {
			on(call.number, []unix.SockFilter{load(offsetArgument0 + 8*call.argument)}, equal(0, returnAllow), []unix.SockFilter{answer(returnRefused)})
		}
		// The times of an open file may be set; a name, which is no null pointer, may not
		// be given.
		on(unix.SYS_UTIMENSAT, []unix.SockFilter{
			load(offsetArgument1), unless(0, 1), answer(returnRefused),
			load(offsetArgument1 + 4), unless(0, 1), answer(returnRefused), answer(returnAllow),
		})
	}
	each(refused(), returnRefused)
	each(unknown(), returnUnknown)
	if config.NoSharedMemory {
		each([]uint32{unix.SYS_SHMGET}, returnUnknown)
	}
	on(unix.SYS_CLONE, []unix.SockFilter{
		load(offsetArgument0),
		when(unix.BPF_JSET, namespaceFlags, 1), answer(returnRefused),
		// Threads share their open files: what one of them had for itself, nobody would
		// find who looks at what the process has open.
		when(unix.BPF_JSET, unix.CLONE_THREAD, 2), when(unix.BPF_JSET, unix.CLONE_FILES, 1), answer(returnAllow),
		when(unix.BPF_JSET, unix.CLONE_THREAD, 1), answer(returnRefused), answer(returnAllow),
	})
	// Space that is taken without being written is taken faster than anybody looks.
	// Punching holes gives some back.
	on(unix.SYS_FALLOCATE, []unix.SockFilter{
		load(offsetArgument1),
		when(unix.BPF_JSET, unix.FALLOC_FL_PUNCH_HOLE, 1), answer(returnAllow), answer(returnCannot),
	})
	ioctl := [][]unix.SockFilter{{load(offsetArgument1)}, equal(unix.TIOCSTI, returnRefused), equal(unix.TIOCLINUX, returnRefused)} // typing into a terminal
	for _, request := range reservations() {
		ioctl = append(ioctl, equal(request, returnCannot))
	}
	if config.Confined { // flags of a file need no descriptor that may write
		ioctl = append(ioctl, equal(unix.FS_IOC_SETFLAGS, returnRefused), equal(0x401c5820, returnRefused)) // the other is FS_IOC_FSSETXATTR
	}
	on(unix.SYS_IOCTL, append(ioctl, []unix.SockFilter{answer(returnAllow)})...)
	if config.Confined {
		// The host's network is not the command's, and a Unix socket could be connected
		// to any name.
		on(unix.SYS_SOCKET, []unix.SockFilter{answer(returnFamily)})
		on(unix.SYS_SOCKETPAIR, confinedPair())
	} else {
		on(unix.SYS_SOCKET, socket())
		on(unix.SYS_SOCKETPAIR, []unix.SockFilter{load(offsetArgument0)}, equal(unix.AF_UNIX, returnAllow), []unix.SockFilter{answer(returnFamily)})
	}
	return append(p, answer(returnAllow))
}

// socket refuses the families that namespaces do not part, such as a virtual machine's
// own (AF_VSOCK), or that open deep parts of the kernel, and the protocols that load
// modules. Of netlink, libraries need the one that lists addresses.
func socket() []unix.SockFilter {
	return slices.Concat(
		[]unix.SockFilter{load(offsetArgument0)},
		equal(unix.AF_UNIX, returnAllow),
		[]unix.SockFilter{
			when(unix.BPF_JEQ, unix.AF_NETLINK, 4),
			load(offsetArgument2), when(unix.BPF_JEQ, unix.NETLINK_ROUTE, 1), answer(returnAllow), answer(returnFamily),
			unless(unix.AF_INET, 2), unless(unix.AF_INET6, 1), answer(returnFamily),
			load(offsetArgument1),
			{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: socketKind},
			unless(unix.SOCK_STREAM, 2), unless(unix.SOCK_DGRAM, 1), answer(returnProtocol),
			load(offsetArgument2),
		},
		equal(0, returnAllow), equal(unix.IPPROTO_TCP, returnAllow), equal(unix.IPPROTO_UDP, returnAllow),
		[]unix.SockFilter{answer(returnProtocol)},
	)
}

// confinedPair allows the pairs that cannot be connected to anything else afterwards,
// which those of datagrams can.
func confinedPair() []unix.SockFilter {
	return slices.Concat(
		[]unix.SockFilter{
			load(offsetArgument0), unless(unix.AF_UNIX, 1), answer(returnFamily),
			load(offsetArgument1),
			{Code: unix.BPF_ALU | unix.BPF_AND | unix.BPF_K, K: socketKind},
		},
		equal(unix.SOCK_STREAM, returnAllow), equal(unix.SOCK_SEQPACKET, returnAllow),
		[]unix.SockFilter{answer(returnProtocol)},
	)
}
