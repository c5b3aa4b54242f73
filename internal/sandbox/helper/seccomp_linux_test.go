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
	p := program(false)
	for _, c := range []struct {
		name      string
		number    uint32
		arguments []uint32
		want      uint32
	}{
		{"reading", unix.SYS_READ, nil, returnAllow},
		{"tracing", unix.SYS_PTRACE, nil, returnRefused},
		{"a namespace", unix.SYS_CLONE, []uint32{unix.CLONE_NEWUSER}, returnRefused},
		{"a thread", unix.SYS_CLONE, []uint32{unix.CLONE_VM | unix.CLONE_THREAD}, returnAllow},
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
		{"another table", foreignCalls + 1, nil, returnUnknown},
		{"shared memory", unix.SYS_SHMGET, nil, returnAllow},
	} {
		assert.Equal(t, c.want, decide(p, c.number, architecture, c.arguments...), c.name)
	}
	assert.Equal(t, uint32(unix.SECCOMP_RET_KILL_PROCESS), decide(p, unix.SYS_READ, architecture+1), "another processor's calls")
	assert.Equal(t, returnUnknown, decide(program(true), unix.SYS_SHMGET, architecture))
}
