package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestATunnelPassesBytesBothWaysAndEndsByHalves(t *testing.T) {
	t.Parallel()
	t.Run("when the client has said all first", func(t *testing.T) {
		t.Parallel()
		upstream := listen(t, func(conn net.Conn) {
			got, _ := io.ReadAll(conn) // until the client's half ends
			fmt.Fprintf(conn, "%d bytes", len(got))
		})
		in := setup(t, Config{Hosts: []string{"example.com:7"}}, upstream, nil)
		conn, r := in.tunnel("example.com:7")
		sent := bytes.Repeat([]byte("x"), 1<<20)
		_, err := conn.Write(sent)
		require.NoError(t, err)
		require.NoError(t, conn.(*net.UnixConn).CloseWrite())
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.Equal(t, "1048576 bytes", string(got))
		assert.EqualValues(t, 1<<20+len("1048576 bytes"), in.Stats().Bytes)
	})
	t.Run("when the host has said all first", func(t *testing.T) {
		t.Parallel()
		late := make(chan string, 1)
		upstream := listen(t, func(conn net.Conn) {
			_, _ = io.WriteString(conn, "first")
			_ = conn.(*net.TCPConn).CloseWrite()
			got, _ := io.ReadAll(conn)
			late <- string(got)
		})
		in := setup(t, Config{Hosts: []string{"example.com:7"}}, upstream, nil)
		conn, r := in.tunnel("example.com:7")
		got, err := io.ReadAll(r)
		require.NoError(t, err)
		assert.Equal(t, "first", string(got))
		_, err = io.WriteString(conn, "second")
		require.NoError(t, err)
		require.NoError(t, conn.Close())
		assert.Equal(t, "second", <-late)
	})
}

func TestWhatIsSentBehindAConnectRequestIsPassedOn(t *testing.T) {
	t.Parallel()
	in := setup(t, Config{Hosts: []string{"example.com:7"}}, echo(t), nil)
	conn := in.dial()
	_, err := io.WriteString(conn, "CONNECT example.com:7 HTTP/1.1\r\n\r\nGET http://evil.example/ HTTP/1.1\r\n\r\n")
	require.NoError(t, err)
	require.NoError(t, conn.(*net.UnixConn).CloseWrite())
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, "HTTP/1.1 200 Connection established\r\n\r\nGET http://evil.example/ HTTP/1.1\r\n\r\n", string(got))
	assert.Equal(t, 1, in.Stats().Requests, "it is the host's, not a second request")
}

func TestAConnectionCarriesOneRequest(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	upstream := listen(t, func(conn net.Conn) {
		asked.Add(1)
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nmore")
	})
	in := setup(t, Config{Hosts: []string{"example.com:80"}}, upstream, nil)
	one := "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n"
	conn := in.dial()
	_, err := io.WriteString(conn, one+one)
	require.NoError(t, err)
	got, err := io.ReadAll(conn)
	require.NoError(t, err)
	assert.Equal(t, 1, strings.Count(string(got), "HTTP/1.1 200"), string(got))
	assert.Contains(t, string(got), "Connection: close")
	assert.True(t, strings.HasSuffix(string(got), "\r\n\r\nok"), string(got))
	assert.EqualValues(t, 1, asked.Load())
}

func TestALyingHostHurtsOnlyItsOwnRequest(t *testing.T) {
	t.Parallel()
	for name, lie := range map[string]struct {
		says   string
		status int // 0: the answer breaks off
	}{
		"nothing":                     {"", http.StatusBadGateway},
		"not HTTP":                    {"SSH-2.0-x\r\n", http.StatusBadGateway},
		"half a head":                 {"HTTP/1.1 200 OK\r\nContent-Le", http.StatusBadGateway},
		"a head without an end":       {"HTTP/1.1 200 OK\r\n" + strings.Repeat("X: "+strings.Repeat("y", 1000)+"\r\n", 1000), http.StatusBadGateway},
		"another protocol":            {"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nx", http.StatusBadGateway},
		"another protocol, no name":   {"HTTP/1.1 101 Switching Protocols\r\n\r\nx", http.StatusBadGateway},
		"two lengths":                 {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy", http.StatusBadGateway},
		"less than it promised":       {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort", 0},
		"chunks that are none":        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 0},
		"headers of one hop":          {"HTTP/1.1 200 OK\r\nConnection: X-Hop\r\nX-Hop: 1\r\nKeep-Alive: 9\r\nProxy-Authenticate: Basic\r\n\r\nfine", http.StatusOK},
		"more interim answers, first": {strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 3) + "HTTP/1.1 200 OK\r\n\r\nfine", http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			upstream := listen(t, func(conn net.Conn) {
				_, _ = http.ReadRequest(bufio.NewReader(conn))
				_, _ = io.WriteString(conn, lie.says)
			})
			in := setup(t, Config{Hosts: []string{"example.com:80"}}, upstream, nil)
			response, err := in.client().Get("http://example.com/")
			if err == nil {
				_, err = io.ReadAll(response.Body)
				_ = response.Body.Close()
			}
			if lie.status == 0 {
				assert.Error(t, err, "it must not look whole")
				return
			}
			require.NoError(t, err)
			assert.Equal(t, lie.status, response.StatusCode)
			for _, hop := range []string{"X-Hop", "Keep-Alive", "Proxy-Authenticate", "Upgrade"} {
				assert.Empty(t, response.Header.Get(hop), hop)
			}
		})
	}
}

func TestAStreamOfEventsIsPassedOnAsItComes(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	upstream := listen(t, func(conn net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(conn))
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\none\n")
		<-next
		_, _ = io.WriteString(conn, "two\n")
	})
	in := setup(t, Config{Hosts: []string{"example.com:80"}}, upstream, nil)
	response, err := in.client().Get("http://example.com/")
	require.NoError(t, err)
	defer response.Body.Close()
	r := bufio.NewReader(response.Body)
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "one\n", line)
	close(next)
	line, err = r.ReadString('\n')
	require.NoError(t, err)
	assert.Equal(t, "two\n", line)
}

func TestBytesBeyondTheLimitAreNotPassedOn(t *testing.T) {
	t.Parallel()
	in := setup(t, Config{Hosts: []string{"example.com:7"}, MaxBytes: 100_000}, echo(t), nil)
	conn, r := in.tunnel("example.com:7")
	go func() { _, _ = conn.Write(make([]byte, 1<<20)) }()
	got, _ := io.Copy(io.Discard, r)
	assert.Less(t, got, int64(100_000))
	assert.EqualValues(t, 100_000, in.Stats().Bytes)

	status, body := in.say("CONNECT example.com:7 HTTP/1.1\r\n\r\n")
	assert.Equal(t, http.StatusBadGateway, status)
	assert.Contains(t, body, "used up")
}

func TestMoreConnectionsThanAllowedWait(t *testing.T) {
	t.Parallel()
	in := setup(t, Config{Hosts: []string{"example.com:7"}, MaxConnections: 2}, echo(t), nil)
	first, _ := in.tunnel("example.com:7")
	_, _ = in.tunnel("example.com:7")
	third := in.dial()
	_, err := io.WriteString(third, "CONNECT example.com:7 HTTP/1.1\r\n\r\n")
	require.NoError(t, err)
	assert.Len(t, in.slots, 2)
	require.NoError(t, first.Close())
	status, body := answer(t, bufio.NewReader(third), http.MethodConnect)
	assert.Equal(t, http.StatusOK, status, body)
}

func TestCloseEndsEverythingAndWaits(t *testing.T) {
	t.Parallel()
	begun, ended := make(chan struct{}, 3), make(chan struct{}, 3)
	upstream := listen(t, func(conn net.Conn) {
		begun <- struct{}{}
		_, _ = io.Copy(io.Discard, conn)
		ended <- struct{}{}
	})
	in := setup(t, Config{Hosts: []string{"example.com:80"}}, upstream, nil)
	dialing := make(chan struct{})
	in.config.Lookup = func(ctx context.Context, _ string) ([]netip.Addr, error) {
		if in.lookups.Add(1) == 3 {
			close(dialing)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}
	tunnel, r := in.tunnel("example.com:80")
	_, err := io.WriteString(tunnel, "x")
	require.NoError(t, err)
	plain, silent, waiting := in.dial(), in.dial(), in.dial()
	_, err = io.WriteString(plain, "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 10\r\n\r\nhalf")
	require.NoError(t, err)
	<-begun
	<-begun
	_, err = io.WriteString(waiting, "CONNECT example.com:80 HTTP/1.1\r\n\r\n")
	require.NoError(t, err)
	<-dialing

	var closers sync.WaitGroup
	for range 3 {
		closers.Go(func() { assert.NoError(t, in.Close()) })
	}
	closers.Wait()
	assert.Empty(t, in.slots)
	assert.Empty(t, in.clients)
	<-ended
	<-ended
	_, err = r.ReadByte()
	assert.Error(t, err)
	for _, conn := range []net.Conn{plain, silent, waiting} {
		_, _ = io.Copy(io.Discard, conn) // ends at once
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	assert.ErrorIs(t, in.Serve(l), ErrClosed)
	_, err = l.Accept()
	assert.ErrorIs(t, err, net.ErrClosed, "it is closed all the same")
}

func TestAListenerThatFailsIsReported(t *testing.T) {
	t.Parallel()
	p, err := New(Config{})
	require.NoError(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	assert.ErrorIs(t, p.Serve(l), net.ErrClosed)
	assert.NoError(t, p.Close())
}

func TestANameWithADeadAddressIsReachedByItsNext(t *testing.T) {
	t.Parallel()
	names := map[string][]string{"example.com": {"2001:db8::1", "203.0.113.1", "93.184.216.34", "203.0.113.2"}}
	upstream := echo(t)
	in := setup(t, Config{Hosts: []string{"example.com:7"}, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
		switch address {
		case "[2001:db8::1]:7": // swallows what is sent to it
			<-ctx.Done()
			return nil, ctx.Err()
		case "93.184.216.34:7":
			return new(net.Dialer).DialContext(ctx, network, upstream)
		}
		return nil, errors.New("refused")
	}}, "", names)
	in.tunnel("example.com:7")
	assert.EqualValues(t, 3, in.dials.Load())
}

func TestAHostThatIsDownIsToldApartFromARefusal(t *testing.T) {
	t.Parallel()
	in := setup(t, Config{Hosts: []string{"example.com:7", "nowhere.example:7", "empty.example:7"}}, "127.0.0.1:1", map[string][]string{"empty.example": {}})
	in.config.Lookup = func(_ context.Context, name string) ([]netip.Addr, error) {
		switch name {
		case "nowhere.example":
			return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
		case "empty.example":
			return nil, nil
		}
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}
	for target, says := range map[string]string{"example.com:7": "refused", "nowhere.example:7": "no such host", "empty.example:7": "no address"} {
		status, body := in.say("CONNECT " + target + " HTTP/1.1\r\n\r\n")
		assert.Equal(t, http.StatusBadGateway, status, target)
		assert.Contains(t, body, says)
	}
	assert.Zero(t, in.Stats().Denials)
}

// pipes is a listener without a system: it serves what is put into it.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if conn, ok := <-p; ok {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { close(p); return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes", Net: "unix"} }

// underClock serves a proxy whose time is that of a synctest bubble. The function gets a
// connection to it, and the host's end of the one that it makes.
func underClock(t *testing.T, config Config, test func(client net.Conn, host func() net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		hosts := make(chan net.Conn, 1)
		config.Hosts = []string{"example.com:80"}
		config.Lookup = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		}
		if config.Dial == nil {
			config.Dial = func(context.Context, string, string) (net.Conn, error) {
				near, far := net.Pipe()
				hosts <- far
				return near, nil
			}
		}
		p, err := New(config)
		require.NoError(t, err)
		l := make(pipes)
		served := make(chan error, 1)
		go func() { served <- p.Serve(l) }()
		near, far := net.Pipe()
		l <- near
		test(far, func() net.Conn { return <-hosts })
		_ = far.Close()
		require.NoError(t, p.Close())
		require.NoError(t, <-served)
	})
}

func TestAConnectionOnWhichNothingPassesEnds(t *testing.T) {
	t.Parallel()
	config := Config{IdleTimeout: time.Minute}
	t.Run("a tunnel", func(t *testing.T) {
		t.Parallel()
		underClock(t, config, func(client net.Conn, host func() net.Conn) {
			_, err := io.WriteString(client, "CONNECT example.com:80 HTTP/1.1\r\n\r\n")
			require.NoError(t, err)
			h, r := host(), bufio.NewReader(client)
			answer(t, r, http.MethodConnect)
			for range 5 { // one direction is enough
				time.Sleep(59 * time.Second)
				_, err = io.WriteString(h, "x")
				require.NoError(t, err)
				_, err = r.ReadByte()
				require.NoError(t, err)
			}
			began := time.Now()
			_, err = r.ReadByte()
			require.Error(t, err)
			assert.Equal(t, time.Minute, time.Since(began))
			_, err = h.Read(make([]byte, 1))
			require.Error(t, err)
		})
	})
	t.Run("a client that takes nothing", func(t *testing.T) {
		t.Parallel()
		underClock(t, config, func(client net.Conn, host func() net.Conn) {
			_, err := io.WriteString(client, "CONNECT example.com:80 HTTP/1.1\r\n\r\n")
			require.NoError(t, err)
			h := host()
			answer(t, bufio.NewReaderSize(client, 16), http.MethodConnect)
			began := time.Now()
			for err == nil {
				_, err = h.Write(make([]byte, 1<<16))
			}
			assert.Equal(t, time.Minute, time.Since(began))
		})
	})
	t.Run("a host that does not answer", func(t *testing.T) {
		t.Parallel()
		underClock(t, config, func(client net.Conn, host func() net.Conn) {
			_, err := io.WriteString(client, "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
			require.NoError(t, err)
			h := host()
			_, err = http.ReadRequest(bufio.NewReader(h))
			require.NoError(t, err)
			began := time.Now()
			status, _ := answer(t, bufio.NewReader(client), http.MethodGet)
			assert.Equal(t, http.StatusGatewayTimeout, status)
			assert.Equal(t, time.Minute, time.Since(began))
		})
	})
	t.Run("a client that does not send its body", func(t *testing.T) {
		t.Parallel()
		underClock(t, config, func(client net.Conn, host func() net.Conn) {
			_, err := io.WriteString(client, "POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 10\r\n\r\nhalf")
			require.NoError(t, err)
			h := host()
			began := time.Now()
			_, _ = io.Copy(io.Discard, h)
			assert.Equal(t, time.Minute, time.Since(began))
		})
	})
	t.Run("a client that does not send its request", func(t *testing.T) {
		t.Parallel()
		underClock(t, config, func(client net.Conn, _ func() net.Conn) {
			_, err := io.WriteString(client, "CONNECT exam")
			require.NoError(t, err)
			began := time.Now()
			_, _ = io.Copy(io.Discard, client)
			assert.Equal(t, headTimeout, time.Since(began))
		})
	})
	t.Run("a client that waits for its refusal before it sends a body", func(t *testing.T) {
		t.Parallel()
		underClock(t, config, func(client net.Conn, _ func() net.Conn) {
			began := time.Now()
			_, err := io.WriteString(client, "POST http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 9\r\n\r\n")
			require.NoError(t, err)
			status, _ := answer(t, bufio.NewReader(client), http.MethodPost)
			assert.Equal(t, http.StatusForbidden, status)
			assert.Zero(t, time.Since(began))
		})
	})
	t.Run("a client that does not take its refusal", func(t *testing.T) {
		t.Parallel()
		underClock(t, config, func(client net.Conn, _ func() net.Conn) {
			_, err := io.WriteString(client, "POST http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 9\r\n\r\n")
			require.NoError(t, err)
			time.Sleep(farewell + time.Second)
			n, err := io.Copy(io.Discard, client)
			assert.NoError(t, err)
			assert.Zero(t, n, "the connection is gone")
		})
	})
}

func TestConnectingTakesNoLongerThanItMay(t *testing.T) {
	t.Parallel()
	underClock(t, Config{DialTimeout: 3 * time.Second, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}}, func(client net.Conn, _ func() net.Conn) {
		began := time.Now()
		_, err := io.WriteString(client, "CONNECT example.com:80 HTTP/1.1\r\n\r\n")
		require.NoError(t, err)
		status, _ := answer(t, bufio.NewReader(client), http.MethodConnect)
		assert.Equal(t, http.StatusGatewayTimeout, status)
		assert.Equal(t, 3*time.Second, time.Since(began))
	})
}
