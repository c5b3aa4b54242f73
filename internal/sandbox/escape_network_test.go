//go:build linux

package sandbox_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func makeQueue(t *testing.T, name string) {
	t.Helper()
	text, err := unix.BytePtrFromString(name)
	require.NoError(t, err)
	fd, _, errno := unix.Syscall6(unix.SYS_MQ_OPEN, uintptr(unsafe.Pointer(text)), unix.O_CREAT|unix.O_RDWR, 0o666, 0, 0, 0)
	require.Zero(t, errno)
	t.Cleanup(func() {
		_ = unix.Close(int(fd))
		_, _, _ = unix.Syscall(unix.SYS_MQ_UNLINK, uintptr(unsafe.Pointer(text)), 0, 0)
	})
}

// accepting takes connections and lets go of them.
func accepting(t *testing.T, l net.Listener, err error) string {
	t.Helper()
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

// answering answers each datagram.
func answering(t *testing.T, answer func(question []byte) []byte) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		buffer := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(answer(buffer[:n]), from)
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return conn.LocalAddr().String()
}

func TestEscapeByTCP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	b.refuses("tcp", accepting(t, l, err))
}

func TestEscapeByUDP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("udp", answering(t, func(question []byte) []byte { return question }))
}

func TestEscapeByDNS(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("dns", answering(t, func(question []byte) []byte {
		end := 12 + bytes.IndexByte(question[12:], 0) + 5 // the name, its type and class
		reply := slices.Clone(question[:end])
		copy(reply[2:12], []byte{0x81, 0x80, 0, 1, 0, 1, 0, 0, 0, 0}) // a response with one answer
		// An address for the name that the question has.
		return append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 127, 0, 0, 1)
	}))
}

func TestEscapeByAUnixSocketOfOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	name := filepath.Join(b.outside, "s")
	l, err := net.Listen("unix", name)
	accepting(t, l, err)
	require.NoError(t, os.Chmod(name, 0o777))
	b.refuses("unix", name)
}

func TestEscapeByAnAbstractUnixSocket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	name := "@treadle-test-" + strconv.Itoa(os.Getpid())
	l, err := net.Listen("unix", name)
	accepting(t, l, err)
	b.refuses("unix", name)
}

func TestEscapeByTheSocketOfTheVirtualMachine(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesInside("vsock", "")
}

func TestEscapeByRawPackets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesAlsoRoot("packet", "")
	b.refusesAlsoRoot("raw", "")
}

func TestEscapeHearingTheKernelsEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refuses("uevent", "")
}

// page is a server of the host with the secret.
func page(t *testing.T, address string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	require.NoError(t, err)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, secretText) }))
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	_, port, err = net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	return port
}

func TestEscapeToTheSamePortOfAnotherHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	port := page(t, "0.0.0.0:0")
	b.command.PrivateHosts = []string{"127.0.0.1:" + port}
	b.refuses("proxy", "http://127.0.0.2:"+port+"/")
}

func TestEscapeToAnotherPortOfTheSameHost(t *testing.T) {
	t.Parallel()
	b := setup(t)
	allowed, other := page(t, "127.0.0.1:0"), page(t, "127.0.0.1:0")
	b.command.PrivateHosts = []string{"127.0.0.1:" + allowed}
	b.refuses("proxy", "http://127.0.0.1:"+other+"/")
}

func TestEscapeToAHostPastTheProxy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	port := page(t, "127.0.0.1:0")
	b.command.PrivateHosts = []string{"127.0.0.1:" + port}
	b.refuses("tcp", "127.0.0.1:"+port)
}

func TestAHostThatIsAllowedIsReachedThroughTheProxy(t *testing.T) {
	t.Parallel()
	b := setup(t)
	port := page(t, "127.0.0.2:0")
	b.command.PrivateHosts = []string{"127.0.0.2:" + port}
	result := b.attackInside("proxy", "http://127.0.0.2:"+port+"/")
	assert.Zero(t, result.ExitCode, b.output.String())
}

func TestTheHostsSocketIsReachedInside(t *testing.T) {
	t.Parallel()
	b := setup(t)
	name := filepath.Join(b.outside, "s")
	l, err := net.Listen("unix", name)
	accepting(t, l, err)
	b.command.Socket = name
	result := b.attackInside("unix", "/run/treadle/host.sock")
	assert.Zero(t, result.ExitCode, b.output.String())
	assert.NotContains(t, b.output.String(), "stopped")
}
