package helper

import (
	"bytes"
	"os"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What one socket may hold at most: twice the largest size of a buffer that may be asked
// for (net.core.wmem_max), and what TCP grows to by itself in both directions.
const (
	mostOfUnix = 2 * 212992
	mostOfTCP  = (6 + 4) << 20
)

// socketMemory is what waits in the sockets of this network, which is the command's own,
// as far as that matters: where even the most that they can hold is no more than what is
// left of the limit, nothing is asked.
func socketMemory(left int64, exactly bool) int64 {
	unixSockets, inet := socketCounts()
	most := unixSockets*mostOfUnix + inet*mostOfTCP
	if most <= left || !exactly {
		return max(0, most)
	}
	listed, holds, err := unixSocketMemory()
	if err != nil {
		return most
	}
	// What is not listed is closed, and alive for what others have yet to read from it.
	return holds + max(0, unixSockets-listed)*mostOfUnix + queued()
}

// mostOfSockets is the most that the sockets of some processes can hold, where they share
// the host's network and only have pairs of Unix sockets.
func mostOfSockets(processes []string) int64 {
	seen := map[uint64]bool{}
	for _, process := range processes {
		for _, descriptor := range entries(process + "/fd/") {
			var stat unix.Stat_t
			if unix.Stat(process+"/fd/"+descriptor, &stat) == nil && stat.Mode&unix.S_IFMT == unix.S_IFSOCK {
				seen[stat.Ino] = true
			}
		}
	}
	return int64(len(seen)) * mostOfUnix
}

// socketCounts are the numbers of sockets in this network: those of TCP and UDP, and
// all others.
func socketCounts() (others, inet int64) {
	number := func(line []byte, name string) (n int64) {
		fields := bytes.Fields(line)
		for i := range len(fields) - 1 {
			if string(fields[i]) == name {
				n, _ = strconv.ParseInt(string(fields[i+1]), 10, 64)
			}
		}
		return n
	}
	for _, file := range []string{"/proc/net/sockstat", "/proc/net/sockstat6"} {
		data, _ := os.ReadFile(file)
		for line := range bytes.Lines(data) {
			if bytes.HasPrefix(line, []byte("sockets:")) {
				others += number(line, "used")
			} else {
				inet += number(line, "inuse")
			}
		}
	}
	return max(0, others-inet), inet
}

// queued sums the bytes that wait in TCP and UDP sockets, doubled for what the kernel
// needs around them.
func queued() (sum int64) {
	for _, name := range []string{"tcp", "tcp6", "udp", "udp6"} {
		data, _ := os.ReadFile("/proc/net/" + name)
		for line := range bytes.Lines(data) {
			fields := bytes.Fields(line)
			if len(fields) < 5 {
				continue
			}
			sent, received, _ := bytes.Cut(fields[4], []byte(":"))
			for _, hex := range [][]byte{sent, received} {
				n, _ := strconv.ParseInt(string(hex), 16, 64)
				sum += 2 * n
			}
		}
	}
	return sum
}

// unixDiagRequest asks for every Unix socket of this network (struct unix_diag_req
// behind a header).
type unixDiagRequest struct {
	header   unix.NlMsghdr
	family   uint8
	protocol uint8
	_        uint16
	states   uint32
	inode    uint32
	show     uint32
	cookie   [2]uint32
}

const (
	sockDiagByFamily  = 20
	unixDiagShowMem   = 0x20
	unixDiagMem       = 5  // the attribute with the memory of a socket
	unixDiagMessage   = 16 // size of struct unix_diag_msg
	memorySent        = 1  // places in that attribute (SK_MEMINFO_WMEM_ALLOC, ..._RMEM_ALLOC)
	memoryReceived    = 0
	attributeHeader   = 4
	netlinkHeaderSize = 16
)

// unixSocketMemory is how many Unix sockets there are that are open, and what they hold.
func unixSocketMemory() (listed, holds int64, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return 0, 0, err
	}
	defer unix.Close(fd)
	request := unixDiagRequest{family: unix.AF_UNIX, states: ^uint32(0), show: unixDiagShowMem}
	request.header = unix.NlMsghdr{Len: uint32(unsafe.Sizeof(request)), Type: sockDiagByFamily, Flags: unix.NLM_F_REQUEST | unix.NLM_F_DUMP}
	asked := unsafe.Slice((*byte)(unsafe.Pointer(&request)), unsafe.Sizeof(request)) //nolint:gosec // the kernel reads the struct as it is
	if err := unix.Sendto(fd, asked, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return 0, 0, err
	}
	buffer := make([]byte, 64<<10)
	for {
		n, _, err := unix.Recvfrom(fd, buffer, 0)
		if err != nil {
			return 0, 0, err
		}
		for data := buffer[:n]; len(data) >= netlinkHeaderSize; {
			header := (*unix.NlMsghdr)(unsafe.Pointer(&data[0])) //nolint:gosec // its size was looked at
			size := int(header.Len)
			if size < netlinkHeaderSize || size > len(data) {
				return 0, 0, unix.EBADMSG
			}
			switch header.Type {
			case unix.NLMSG_DONE:
				return listed, holds, nil
			case unix.NLMSG_ERROR:
				return 0, 0, unix.EPROTO
			}
			listed++
			holds += memoryOf(data[netlinkHeaderSize:size])
			data = data[min(len(data), (size+3)&^3):]
		}
	}
}

// memoryOf reads the memory of one socket from what the kernel tells of it.
func memoryOf(message []byte) int64 {
	if len(message) < unixDiagMessage {
		return 0
	}
	number := func(data []byte, i int) int64 {
		return int64(*(*uint32)(unsafe.Pointer(&data[4*i]))) //nolint:gosec // its size was looked at
	}
	for data := message[unixDiagMessage:]; len(data) >= attributeHeader; {
		size, kind := int(*(*uint16)(unsafe.Pointer(&data[0]))), *(*uint16)(unsafe.Pointer(&data[2])) //nolint:gosec // its size was looked at
		if size < attributeHeader || size > len(data) {
			return 0
		}
		if kind == unixDiagMem && size >= attributeHeader+4*(memorySent+1) {
			return number(data[attributeHeader:], memorySent) + number(data[attributeHeader:], memoryReceived)
		}
		data = data[min(len(data), (size+3)&^3):]
	}
	return 0
}
