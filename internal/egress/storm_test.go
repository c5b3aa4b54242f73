package egress

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// misbehave does one of the things that programs do to a proxy, and returns early or late.
func misbehave(conn net.Conn, random *rand.Rand) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second)) // it need not succeed
	requests := []string{
		"CONNECT example.com:80 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000),
		"POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
		"CONNECT evil.example:80 HTTP/1.1\r\n\r\n",
		"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100000\r\n\r\nshort",
		"\x16\x03\x01 no HTTP at all\r\n\r\n",
	}
	request := requests[random.IntN(len(requests))]
	switch random.IntN(4) {
	case 0: // breaks off
		_, _ = io.WriteString(conn, request[:random.IntN(len(request))])
	case 1: // says its part and leaves
		_, _ = io.WriteString(conn, request)
	case 2: // takes a part of the answer
		_, _ = io.WriteString(conn, request)
		_, _ = io.ReadFull(conn, make([]byte, random.IntN(200)))
	default:
		_, _ = io.WriteString(conn, request)
		if half, ok := conn.(*net.UnixConn); ok && random.IntN(2) == 0 {
			_ = half.CloseWrite()
		}
		_, _ = io.Copy(io.Discard, conn)
	}
}

func TestNothingIsLeftAfterAStorm(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "%d %s", n, strings.Repeat("y", 10000))
	}))
	t.Cleanup(web.Close)
	in := setup(t, Config{Hosts: []string{"example.com:80"}, MaxConnections: 20, IdleTimeout: time.Second}, web.Listener.Addr().String(), nil)
	second, err := net.Listen("unix", filepath.Join(filepath.Dir(in.socket), "t"))
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- in.Serve(second) }()

	storm := func(each int) *sync.WaitGroup {
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				random := rand.New(rand.NewPCG(uint64(i), uint64(each)))
				for range each {
					conn, err := net.Dial("unix", []string{in.socket, second.Addr().String()}[i%2])
					if err != nil {
						return // it was closed
					}
					misbehave(conn, random)
				}
			})
		}
		return &all
	}
	storm(10).Wait()
	status, body := in.say("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
	assert.Equal(t, http.StatusOK, status, "it serves as before")
	assert.True(t, strings.HasPrefix(body, "0 yyy"), body)

	rest := storm(1000)
	assert.NoError(t, in.Close())
	rest.Wait()
	assert.NoError(t, <-served)
	assert.Empty(t, in.slots)
	assert.Empty(t, in.clients)
}

// BenchmarkTunnel is a connection through the proxy, with one byte each way.
func BenchmarkTunnel(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); _ = conn.Close() }()
		}
	}()
	p, err := New(Config{Hosts: []string{l.Addr().String()}})
	require.NoError(b, err)
	defer p.Close()
	socket, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	require.NoError(b, err)
	go func() { _ = p.Serve(socket) }()
	for b.Loop() {
		conn, err := net.Dial("unix", socket.Addr().String())
		require.NoError(b, err)
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\n\r\n", l.Addr())
		r := bufio.NewReader(conn)
		for line := ""; line != "\r\n"; {
			line, err = r.ReadString('\n')
			require.NoError(b, err)
		}
		_, err = conn.Write([]byte("x"))
		require.NoError(b, err)
		_, err = r.ReadByte()
		require.NoError(b, err)
		_ = conn.Close()
	}
}
