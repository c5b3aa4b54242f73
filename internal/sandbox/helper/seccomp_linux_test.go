//go:build linux && (amd64 || arm64)

package helper

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"golang.org/x/sys/unix"
)

// decide runs a filter on one call, as the kernel would.
func decide(program []unix.SockFilter, number, arch uint32, arguments ...uint32) uint32 {
	words := map[uint32]uint32{offsetNumber: number, offsetArchitecture: arch}
	for i, argument := range arguments {
		words[offsetArgument0+8*uint32(i)] = argument
	}
	var a uint32
	for at := 0; at < len(program); at++ {
		instruction := program[at]
		holds := false
		switch instruction.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			a = words[instruction.K]
			continue
		case unix.BPF_ALU | unix.BPF_AND | unix.BPF_K:
			a &= instruction.K
			continue
		case unix.BPF_RET | unix.BPF_K:
			return instruction.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = a == instruction.K
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = a >= instruction.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = a&instruction.K != 0
		}
		if holds {
			at += int(instruction.Jt)
		} else {
			at += int(instruction.Jf)
		}
	}
	return 0
}

func TestTheFilterAnswersEachCall(t *testing.T) {
	t.Parallel()
	p := program(&Config{})
	for _, c := range []struct {
		name      string
		number    uint32
		arguments []uint32
		want      uint32
	}{
		{"reading", unix.SYS_READ, nil, returnAllow},
		{"tracing", unix.SYS_PTRACE, nil, returnRefused},
		{"a namespace", unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER}, returnRefused},
		{"a thread", unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_FILES}, returnAllow},
		{"clone3", unix.SYS_CLONE3, nil, returnUnknown},
		{"typing", unix.SYS_IOCTL, []uint32{0, unix.TIOCSTI}, returnRefused},
		{"another ioctl", unix.SYS_IOCTL, []uint32{0, unix.TCGETS}, returnAllow},
		{"an ioctl with the number of a call", unix.SYS_IOCTL, []uint32{0, unix.SYS_SOCKET}, returnAllow},
		{"a Unix socket", unix.SYS_SOCKET, []uint32{unix.AF_UNIX, 1, 0}, returnAllow},
		{"a TCP socket", unix.SYS_SOCKET, []uint32{unix.AF_INET, 1, 0}, returnAllow},
		{"a socket of IPv6", unix.SYS_SOCKET, []uint32{unix.AF_INET6, 1, 0}, returnAllow},
		{"a list of addresses", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, 3, unix.NETLINK_ROUTE}, returnAllow},
		{"the audit log", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, 3, unix.NETLINK_AUDIT}, returnFamily},
		{"a virtual machine's socket", unix.SYS_SOCKET, []uint32{unix.AF_VSOCK, 1, 0}, returnFamily},
		{"a raw socket", unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_RAW | unix.SOCK_CLOEXEC, unix.IPPROTO_ICMP}, returnProtocol},
		{"a UDP socket", unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_DGRAM | unix.SOCK_CLOEXEC, unix.IPPROTO_UDP}, returnAllow},
		{"SCTP by its number", unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_SCTP}, returnProtocol},
		{"SCTP by its kind", unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_SEQPACKET, 0}, returnProtocol},
		{"DCCP by its kind", unix.SYS_SOCKET, []uint32{unix.AF_INET6, unix.SOCK_DCCP, 0}, returnProtocol},
		{"multipath TCP", unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, returnProtocol},
		{"UDP-Lite", unix.SYS_SOCKET, []uint32{unix.AF_INET, unix.SOCK_DGRAM, unix.IPPROTO_UDPLITE}, returnProtocol},
		{"a netlink socket whose protocol is a family", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, 3, unix.AF_INET}, returnFamily},
		{"a pair", unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, returnAllow},
		{"a pair of another family", unix.SYS_SOCKETPAIR, []uint32{unix.AF_TIPC, 1, 0}, returnFamily},
		{"a thread with files of its own", unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD | unix.CLONE_SIGHAND}, returnRefused},
		{"a process", unix.SYS_CLONE, []uint32{uint32(unix.SIGCHLD)}, returnAllow},
		{"reserving space", unix.SYS_FALLOCATE, []uint32{0, 0}, returnCannot},
		{"reserving space behind the end", unix.SYS_FALLOCATE, []uint32{0, unix.FALLOC_FL_KEEP_SIZE}, returnCannot},
		{"zeroing space", unix.SYS_FALLOCATE, []uint32{0, unix.FALLOC_FL_ZERO_RANGE}, returnCannot},
		{"punching a hole", unix.SYS_FALLOCATE, []uint32{0, unix.FALLOC_FL_PUNCH_HOLE | unix.FALLOC_FL_KEEP_SIZE}, returnAllow},
		{"reserving space by the older call", unix.SYS_IOCTL, []uint32{0, 0x4030582a}, returnCannot},
		{"another table", foreignCalls + 1, nil, returnUnknown},
		{"shared memory", unix.SYS_SHMGET, nil, returnAllow},
	} {
		assert.Equal(t, c.want, decide(p, c.number, architecture, c.arguments...), c.name)
	}
	assert.Equal(t, uint32(unix.SECCOMP_RET_KILL_PROCESS), decide(p, unix.SYS_READ, architecture+1), "another processor's calls")
	assert.Equal(t, returnUnknown, decide(program(&Config{NoSharedMemory: true}), unix.SYS_SHMGET, architecture))
}

func TestTheFilterIsStricterWhereNamespacesAreMissing(t *testing.T) {
	t.Parallel()
	p := program(&Config{Confined: true})
	for _, c := range []struct {
		name      string
		number    uint32
		arguments []uint32
		want      uint32
	}{
		{"a TCP socket", unix.SYS_SOCKET, []uint32{unix.AF_INET, 1, 0}, returnFamily},
		{"a Unix socket", unix.SYS_SOCKET, []uint32{unix.AF_UNIX, 1, 0}, returnFamily},
		{"a list of addresses", unix.SYS_SOCKET, []uint32{unix.AF_NETLINK, 3, 0}, returnFamily},
		{"a pair", unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC, 0}, returnAllow},
		{"a pair that can be connected elsewhere", unix.SYS_SOCKETPAIR, []uint32{unix.AF_UNIX, unix.SOCK_DGRAM, 0}, returnProtocol},
		{"a mode by name", unix.SYS_FCHMODAT, nil, returnRefused},
		{"watching", unix.SYS_INOTIFY_ADD_WATCH, nil, returnRefused},
		{"its own limits", unix.SYS_PRLIMIT64, []uint32{0, 7}, returnAllow},
		{"limits of another", unix.SYS_PRLIMIT64, []uint32{4711, 7}, returnRefused},
		{"its own priority", unix.SYS_SETPRIORITY, []uint32{0, 0}, returnAllow},
		{"the priority of another", unix.SYS_SETPRIORITY, []uint32{0, 4711}, returnRefused},
		{"times of an open file", unix.SYS_UTIMENSAT, []uint32{3, 0}, returnAllow},
		{"times by name", unix.SYS_UTIMENSAT, []uint32{3, 4096}, returnRefused},
		{"shared memory", unix.SYS_SHMGET, nil, returnRefused},
		{"reading", unix.SYS_READ, nil, returnAllow},
	} {
		assert.Equal(t, c.want, decide(p, c.number, architecture, c.arguments...), c.name)
	}
}
