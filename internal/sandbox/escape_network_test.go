//go:build linux

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/treadle-dev/treadle/internal/sandbox"
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

func TestEscapeByAHostsSocketInAPath(t *testing.T) {
	t.Parallel()
	for _, write := range []bool{false, true} {
		b := setup(t)
		folder := filepath.Join(b.root, "granted", "deep")
		require.NoError(t, os.MkdirAll(folder, 0o755))
		name := filepath.Join(folder, "s")
		l, err := net.Listen("unix", name)
		accepting(t, l, err)
		require.NoError(t, os.Chmod(name, 0o777))
		b.command.Paths = append(b.command.Paths, sandbox.Path{Name: filepath.Dir(folder), Write: write})
		b.refuses("unix", name)
		if os.Geteuid() == 0 {
			info, err := os.Stat(name)
			require.NoError(t, err)
			stat, _ := info.Sys().(*syscall.Stat_t)
			assert.Zero(t, stat.Uid, "what answers for the host is not handed over")
		}
	}
}

func TestEscapeByAHostsNamedPipeInAPath(t *testing.T) {
	t.Parallel()
	b := setup(t)
	name := filepath.Join(b.outside, "pipe")
	require.NoError(t, unix.Mkfifo(name, 0o666))
	require.NoError(t, os.Chmod(name, 0o666))
	b.command.Paths = append(b.command.Paths, sandbox.Path{Name: b.outside})
	b.refuses("fifo", name)
}

func TestACommandsOwnSocketsWork(t *testing.T) {
	t.Parallel()
	b := setup(t)
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	require.NoError(t, unix.Bind(fd, &unix.SockaddrUnix{Name: filepath.Join(b.work, "own.sock")}))
	require.NoError(t, unix.Close(fd), "a socket that an earlier command left")
	result := b.attackInside("own-socket", "")
	assert.Zero(t, result.ExitCode, b.output.String())
}

func TestEscapeByProtocolsOfLoadableModules(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.refusesInside("protocols", "")
}

func TestAnAllowedPortOfTheHostIsNotTakenForTheCommandsOwn(t *testing.T) {
	t.Parallel()
	b := setup(t)
	port := page(t, "127.0.0.1:0")
	b.command.PrivateHosts = []string{"localhost:" + port}
	b.shell("echo $NO_PROXY $no_proxy; command -v curl >/dev/null && curl -s -o page http://localhost:" + port + "/; cat page")
	assert.NotContains(t, b.output.String(), "localhost")
	assert.Contains(t, b.output.String(), "127.0.0.1 127.0.0.1")
	if _, err := exec.LookPath("/usr/bin/curl"); err == nil {
		assert.Contains(t, b.output.String(), secretText)
	}
	b.output.Reset()
	b.command.PrivateHosts = []string{"example.com:80"}
	b.shell("echo $NO_PROXY")
	assert.Equal(t, "localhost,127.0.0.1\n", b.output.String())
}

func TestHostsNeverKeepACommandFromEnding(t *testing.T) {
	t.Parallel()
	b := setup(t)
	port := page(t, "127.0.0.1:0")
	for i := range 12 {
		command := *b.command
		command.Argv, command.PrivateHosts = []string{"true"}, []string{"127.0.0.1:" + port}
		command.Stdout, command.Stderr = nil, nil
		if i%3 == 1 { // ends while its connection waits for an answer
			command.Argv = []string{"sh", "-c", "exec 3<>/dev/tcp/${HTTP_PROXY#http://} 2>/dev/null; sleep 0.01"}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		if i%3 == 2 { // is ended at any time
			ctx, cancel = context.WithTimeout(ctx, time.Duration(i)*time.Millisecond)
		}
		begin := time.Now()
		_, err := sandbox.Run(ctx, &command)
		cancel()
		if i%3 != 2 {
			require.NoError(t, err)
		}
		assert.Less(t, time.Since(begin), 30*time.Second)
	}
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
