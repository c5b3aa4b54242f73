package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen; it never elapses in a good run.
const patience = 20 * time.Second

// inside is what a program in a sandbox has: a socket.
type inside struct {
	*Proxy
	t       *testing.T
	socket  string
	lookups atomic.Int64
	dials   atomic.Int64
}

// setup serves a proxy on a Unix socket. Names resolve to 93.184.216.34, except those in
// names, and every dial of that address reaches upstream.
func setup(t *testing.T, config Config, upstream string, names map[string][]string) *inside {
	t.Helper()
	in := &inside{t: t}
	lookup, dial := config.Lookup, config.Dial
	config.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
		in.lookups.Add(1)
		if lookup != nil {
			return lookup(ctx, name)
		}
		texts, ok := names[name]
		if !ok {
			texts = []string{"93.184.216.34"}
		}
		var addrs []netip.Addr
		for _, text := range texts {
			addrs = append(addrs, netip.MustParseAddr(text))
		}
		return addrs, nil
	}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		in.dials.Add(1)
		if dial != nil {
			return dial(ctx, network, address)
		}
		if strings.HasPrefix(address, "93.184.216.34:") {
			address = upstream
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	p, err := New(config)
	require.NoError(t, err)
	in.Proxy = p
	folder, err := os.MkdirTemp("", "egress") //nolint:usetesting // t.TempDir is too long for a socket
	require.NoError(t, err)
	in.socket = filepath.Join(folder, "s")
	l, err := net.Listen("unix", in.socket)
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	t.Cleanup(func() {
		assert.NoError(t, p.Close())
		assert.NoError(t, <-served)
		assert.NoError(t, os.RemoveAll(folder))
	})
	return in
}

func (in *inside) dial() net.Conn {
	conn, err := net.Dial("unix", in.socket)
	require.NoError(in.t, err)
	require.NoError(in.t, conn.SetDeadline(time.Now().Add(patience)))
	in.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// say sends a request as it stands and returns the status and body of the answer.
func (in *inside) say(request string) (int, string) {
	conn := in.dial()
	defer conn.Close()
	_, err := io.WriteString(conn, request)
	require.NoError(in.t, err)
	method, _, _ := strings.Cut(request, " ")
	return answer(in.t, bufio.NewReader(conn), method)
}

// client is an ordinary HTTP client that is told of the proxy.
func (in *inside) client() *http.Client {
	transport := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: "proxy"}),
		DialContext:       func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", in.socket) },
		DisableKeepAlives: true,
	}
	in.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// answer reads a response; a tunnel's has no body, and those of tests are small.
func answer(t *testing.T, r *bufio.Reader, method string) (status int, body string) {
	t.Helper()
	response, err := http.ReadResponse(r, &http.Request{Method: method})
	require.NoError(t, err)
	defer response.Body.Close()
	if method == http.MethodConnect && response.StatusCode == http.StatusOK {
		return response.StatusCode, "" // what follows is the tunnel's
	}
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(text)
}

// tunnel opens one to a target.
func (in *inside) tunnel(to string) (net.Conn, *bufio.Reader) {
	conn := in.dial()
	fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
	r := bufio.NewReader(conn)
	status, body := answer(in.t, r, http.MethodConnect)
	require.Equal(in.t, http.StatusOK, status, body)
	return conn, r
}

// echo is an upstream that sends back what it gets, and ends when its peer does.
func echo(t *testing.T) string {
	t.Helper()
	return listen(t, func(conn net.Conn) {
		_, _ = io.Copy(conn, conn)
	})
}

// listen serves TCP connections with a function that should end with its connection.
func listen(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(patience))
				serve(conn)
			}()
		}
	}()
	t.Cleanup(func() { _ = l.Close(); <-done })
	return l.Addr().String()
}

func TestAnAllowedHostIsReachedThroughConnect(t *testing.T) {
	t.Parallel()
	web := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %s", r.Host, r.URL)
	}))
	t.Cleanup(web.Close)
	in := setup(t, Config{Hosts: []string{"example.com:443"}}, web.Listener.Addr().String(), nil)
	client := in.client()
	client.Transport.(*http.Transport).TLSClientConfig = web.Client().Transport.(*http.Transport).TLSClientConfig

	response, err := client.Get("https://example.com/a?b=c")
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, "example.com /a?b=c", string(body))

	stats := in.Stats()
	assert.Equal(t, 1, stats.Requests)
	assert.Zero(t, stats.Denials)
	assert.Positive(t, stats.Bytes)
}

func TestPlainHTTPIsForwarded(t *testing.T) {
	t.Parallel()
	type seen struct {
		method, host, uri, body string
		header                  http.Header
	}
	got := make(chan seen, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.Host, r.RequestURI, string(body), r.Header}
		w.Header().Set("X-Kept", "yes")
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	}))
	t.Cleanup(web.Close)
	in := setup(t, Config{Hosts: []string{"example.com:80"}}, web.Listener.Addr().String(), nil)

	request, err := http.NewRequest(http.MethodPost, "http://Example.COM./p%2Fq?a;b=%zz", strings.NewReader("tea"))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Connection": "X-Mine", "X-Mine": "no", "Proxy-Connection": "keep-alive", "Proxy-Authorization": "Basic eDp5",
		"Keep-Alive": "1", "Te": "gzip", "Upgrade": "h2c", "X-Forwarded-For": "10.0.0.1", "Authorization": "Bearer k", "X-End": "yes",
	} {
		request.Header.Set(name, value)
	}
	response, err := in.client().Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	assert.Equal(t, http.StatusTeapot, response.StatusCode)
	assert.Equal(t, "short and stout", string(body))
	assert.Equal(t, "yes", response.Header.Get("X-Kept"))

	r := <-got
	assert.Equal(t, http.MethodPost, r.method)
	assert.Equal(t, "example.com", r.host)
	assert.Equal(t, "/p%2Fq?a;b=%zz", r.uri)
	assert.Equal(t, "tea", r.body)
	for _, hop := range []string{"X-Mine", "Proxy-Connection", "Proxy-Authorization", "Keep-Alive", "Te", "Upgrade"} {
		assert.Empty(t, r.header.Get(hop), hop)
	}
	assert.Equal(t, "10.0.0.1", r.header.Get("X-Forwarded-For"))
	assert.Equal(t, "Bearer k", r.header.Get("Authorization"))
	assert.Equal(t, "yes", r.header.Get("X-End"))
}

func TestWhatIsNotAllowedIsRefusedBeforeAnythingIsLookedUp(t *testing.T) {
	t.Parallel()
	in := setup(t, Config{Hosts: []string{
		"example.com:443", "example.com:80", "example.com:8080", "*.wild.example:443", "192.0.2.7:443", "[2001:db8::7]:443",
	}}, "", nil)
	connect := func(target string) string {
		return "CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n"
	}
	get := func(uri, host string) string {
		return "GET " + uri + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
	}
	requests := map[string]string{
		"another host, same port":       connect("evil.example:443"),
		"another port, same host":       connect("example.com:22"),
		"a host that ends alike":        connect("notexample.com:443"),
		"a host that begins alike":      connect("example.com.evil.example:443"),
		"a name below an exact one":     connect("www.example.com:443"),
		"the top of a wildcard":         connect("wild.example:443"),
		"a wildcard as a name":          connect("*.wild.example:443"),
		"an empty name below":           connect(".wild.example:443"),
		"a wildcard's other port":       connect("a.wild.example:80"),
		"an address of an allowed name": connect("93.184.216.34:443"),
		"another address":               connect("192.0.2.8:443"),
		"an address in another form":    connect("192.0.2.007:443"),
		"an address in three parts":     connect("192.0.519:443"),
		"an address as a number":        connect("3221225991:443"),
		"an address as hex":             connect("0xc0000207:443"),
		"an address in IPv6":            connect("[::ffff:192.0.2.7]:443"),
		"a zone":                        connect("[2001:db8::7%25lo]:443"),
		"a raw zone":                    connect("[2001:db8::7%lo]:443"),
		"IPv6 without brackets":         connect("2001:db8::7:443"),
		"no port":                       connect("example.com"),
		"an empty port":                 connect("example.com:"),
		"a port with a zero":            connect("example.com:0443"),
		"a port with a sign":            connect("example.com:+443"),
		"a port that is too large":      connect("example.com:65979"), // 443 + 65536
		"two ports":                     connect("example.com:443:443"),
		"two dots":                      connect("example.com..:443"),
		"user information":              connect("example.com:443@evil.example:443"),
		"more user information":         "CONNECT user@example.com:443 HTTP/1.1\r\n\r\n",
		"percent":                       connect("ex%61mple.com:443"),
		"percent NUL":                   connect("example.com%00.evil.example:443"),
		"a backslash":                   connect(`evil.example\example.com:443`),
		"letters of other scripts":      connect("ехample.com:443"), // Cyrillic
		"wide letters":                  connect("ｅxample.com:443"),
		"wide dots":                     connect("example。com:443"),
		"a path":                        "CONNECT /x HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
		"a URL":                         "CONNECT https://example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
		"a body":                        "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nContent-Length: 1\r\n\r\nx",
		"a chunked body":                "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"another Host":                  "CONNECT example.com:443 HTTP/1.1\r\nHost: evil.example:443\r\n\r\n",
		"another Host without port":     "CONNECT example.com:443 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
		"another Host's port":           "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:80\r\n\r\n",
		"two Hosts":                     "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\nHost: evil.example:443\r\n\r\n",
		"an empty Host":                 "CONNECT example.com:443 HTTP/1.1\r\nHost: \r\n\r\n",
		"a folded Host":                 "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n evil\r\n\r\n",

		"plain: another host":           get("http://evil.example/", "evil.example"),
		"plain: another port":           get("http://example.com:81/", "example.com:81"),
		"plain: another Host":           get("http://example.com/", "evil.example"),
		"plain: another Host's port":    get("http://example.com:8080/", "example.com"),
		"plain: two Hosts":              "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nHost: evil.example\r\n\r\n",
		"plain: user information":       get("http://example.com@evil.example/", "evil.example"),
		"plain: allowed with user":      get("http://u:p@example.com/", "example.com"),
		"plain: user with slash":        get("http://evil.example%2f@example.com/", "example.com"),
		"plain: percent":                get("http://ex%61mple.com/", "example.com"),
		"plain: percent of UTF-8":       get("http://%d0%b5xample.com/", "example.com"),
		"plain: backslash":              get(`http://evil.example\@example.com/`, "example.com"),
		"plain: fragment":               get("http://evil.example#@example.com/", "example.com"),
		"plain: query":                  get("http://evil.example?@example.com/", "example.com"),
		"plain: no host":                get("http:///path", "example.com"),
		"plain: opaque":                 get("http:example.com/", "example.com"),
		"plain: its own path":           get("/path", "example.com"),
		"plain: a network path":         get("//example.com/path", "example.com"),
		"plain: https":                  get("https://example.com/", "example.com"),
		"plain: ftp":                    get("ftp://example.com/", "example.com"),
		"plain: file":                   get("file:///etc/passwd", "example.com"),
		"plain: star":                   "OPTIONS * HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"plain: HTTP/2":                 "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"plain: WebSocket":              "GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade\r\nUpgrade: WebSocket\r\n\r\n",
		"plain: no Host in HTTP/1.0 to": "GET http://evil.example/ HTTP/1.0\r\n\r\n",
	}
	for name, request := range requests {
		status, body := in.say(request)
		// 400 is net/http's, to what is no request at all.
		if !assert.Contains(t, []int{http.StatusForbidden, http.StatusBadRequest}, status, "%s: %s", name, body) {
			continue
		}
		if status == http.StatusForbidden {
			assert.Contains(t, body, "allowed are: *.wild.example:443, 192.0.2.7:443, [2001:db8::7]:443, example.com:443, example.com:80", name)
		}
	}
	assert.Zero(t, in.lookups.Load(), "lookups")
	assert.Zero(t, in.dials.Load(), "dials")
	stats := in.Stats()
	assert.Equal(t, stats.Requests, stats.Denials)
	assert.Greater(t, stats.Denials, len(requests)*2/3, "most are refused by the proxy itself")
	assert.Zero(t, stats.Bytes)
}

func TestNamesAreComparedInOneForm(t *testing.T) {
	t.Parallel()
	in := setup(t, Config{Hosts: []string{
		"Example.com.:443", "*.Wild.example:443", "bücher.example:443", "192.0.2.7:443", "[2001:DB8:0::7]:443", "example.com:80", "example.com:8080",
	}}, "", nil)
	in.config.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("reached") }
	for _, request := range []string{
		"CONNECT example.com:443 HTTP/1.1\r\nHost: EXAMPLE.com:443\r\n\r\n",
		"CONNECT EXAMPLE.COM:443 HTTP/1.1\r\nHost: example.com.\r\n\r\n",
		"CONNECT example.com.:443 HTTP/1.1\r\n\r\n",
		"CONNECT example.com:443 HTTP/1.0\r\n\r\n",
		"CONNECT a.wild.example:443 HTTP/1.1\r\n\r\n",
		"CONNECT b.A.wild.example.:443 HTTP/1.1\r\n\r\n",
		"CONNECT xn--bcher-kva.example:443 HTTP/1.1\r\n\r\n",
		"CONNECT 192.0.2.7:443 HTTP/1.1\r\n\r\n",
		"CONNECT [2001:db8::7]:443 HTTP/1.1\r\n\r\n",
		"CONNECT [2001:0db8:0:0::0007]:443 HTTP/1.1\r\n\r\n",
		"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET http://example.com HTTP/1.1\r\nHost: example.com:80\r\n\r\n",
		"GET HTTP://example.com:80/ HTTP/1.1\r\nHost: example.com\r\n\r\n",
		"GET http://example.com:8080/ HTTP/1.0\r\n\r\n",
	} {
		status, body := in.say(request)
		assert.Equal(t, http.StatusBadGateway, status, "%s%s", request, body)
		assert.Contains(t, body, "is allowed, but: reached", request)
	}
}

func TestAnEntryThatNamesNoHostAndPortIsAnError(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{
		"", "example.com", "example.com:", ":443", "example.com:0", "example.com:99999", "example.com:https", "*:443", "*.:443",
		"a.*.example:443", "*example.com:443", "https://example.com:443", "example.com:443/path", "user@example.com:443",
		"exa mple.com:443", "*.192.0.2.7:443", "*.[2001:db8::7]:443", "127.1:80", "0x7f000001:80", "[fe80::1%eth0]:80", "[::ffff:127.0.0.1]:80",
		"-a.example:80", "a-.example:80", "2001:db8::7:443", "[2001:db8::7:443", "[2001:db8::7]443", "[2001:db8::7]", "b\xffcher.example:443", "bücher.example",
		strings.Repeat("a", 64) + ".example:443", strings.Repeat("a.", 130) + "example:443",
	} {
		_, err := New(Config{Hosts: []string{"fine.example:443", entry}})
		host, ok := errors.AsType[*HostError](err)
		if assert.True(t, ok, "%q: %v", entry, err) {
			assert.Equal(t, entry, host.Entry)
			assert.NotEmpty(t, host.Problem)
		}
	}
	_, err := New(Config{Hosts: []string{"one"}, PrivateHosts: []string{"two"}})
	assert.ErrorContains(t, err, `"one"`)
	assert.ErrorContains(t, err, `"two"`)
	_, err = New(Config{MaxBytes: -1})
	assert.ErrorContains(t, err, "negative")
}

func TestNothingIsAllowedByDefault(t *testing.T) {
	t.Parallel()
	in := setup(t, Config{}, "", nil)
	status, body := in.say("CONNECT example.com:443 HTTP/1.1\r\n\r\n")
	assert.Equal(t, http.StatusForbidden, status)
	assert.Contains(t, body, "no host is allowed here")
}

func TestANameThatLeadsToAnAddressThatIsNotPublicIsRefused(t *testing.T) {
	t.Parallel()
	in := setup(t, Config{Hosts: []string{"rebound.example:80"}, PrivateHosts: []string{"inner.example:80", "*.inner.example:80"}}, "", nil)
	var answers []netip.Addr
	in.config.Lookup = func(context.Context, string) ([]netip.Addr, error) { return answers, nil }
	in.config.Dial = func(context.Context, string, string) (net.Conn, error) {
		in.dials.Add(1)
		return nil, errors.New("reached")
	}
	for _, text := range []string{
		"127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::",
		"0.0.0.0", "0.1.2.3", "::", "10.1.2.3", "172.16.0.1", "172.31.255.255", "192.168.1.1", "fd00::1", "fc00::1",
		"169.254.169.254", "fe80::1", "fe80::1%eth0", "fec0::1", "100.64.0.1", "100.100.100.200", "192.0.0.8", "198.18.0.1", "224.0.0.1", "ff02::1",
		"240.0.0.1", "255.255.255.255", "100::1", "64:ff9b::a9fe:a9fe", "fd00:ec2::254",
	} {
		for _, with := range [][]netip.Addr{nil, {netip.MustParseAddr("93.184.216.34")}} {
			answers = append(with, netip.MustParseAddr(text)) //nolint:gocritic // a new slice each time
			status, body := in.say("CONNECT rebound.example:80 HTTP/1.1\r\n\r\n")
			assert.Equal(t, http.StatusForbidden, status, text)
			assert.Contains(t, body, "must allow for it by name", text)
			assert.NotContains(t, body, text, "it does not tell inner addresses")
			status, _ = in.say("GET http://rebound.example/ HTTP/1.1\r\nHost: rebound.example\r\n\r\n")
			assert.Equal(t, http.StatusForbidden, status, text)
		}
	}
	assert.Zero(t, in.dials.Load())
	for _, text := range []string{"10.1.2.3", "127.0.0.1"} {
		answers = []netip.Addr{netip.MustParseAddr(text)}
		for _, name := range []string{"inner.example", "db.inner.example"} {
			status, body := in.say("CONNECT " + name + ":80 HTTP/1.1\r\n\r\n")
			assert.Equal(t, http.StatusBadGateway, status)
			assert.Contains(t, body, "reached")
		}
	}
	for _, text := range []string{"93.184.216.34", "2606:2800:220:1::1", "172.32.0.1", "64:ff9b::5db8:d822", "2002:5db8:d822::"} {
		answers = []netip.Addr{netip.MustParseAddr(text)}
		status, _ := in.say("CONNECT rebound.example:80 HTTP/1.1\r\n\r\n")
		assert.Equal(t, http.StatusBadGateway, status, text)
	}
}

func TestAnAddressOfThisMachineIsNotPublic(t *testing.T) {
	t.Parallel()
	own, err := net.InterfaceAddrs()
	require.NoError(t, err)
	require.NotEmpty(t, own)
	for _, a := range own {
		addr, _ := netip.AddrFromSlice(a.(*net.IPNet).IP)
		assert.True(t, ownAddress(addr.Unmap()), "%s", addr)
	}
	assert.False(t, ownAddress(netip.MustParseAddr("93.184.216.34")))
}

func TestTheSystemsResolverIsHeldToTheSameRule(t *testing.T) {
	t.Parallel()
	port := portOf(t, echo(t))
	for _, allowed := range []bool{false, true} {
		config := Config{Hosts: []string{"localhost:" + port}}
		if allowed {
			config = Config{PrivateHosts: config.Hosts}
		}
		p, err := New(config)
		require.NoError(t, err)
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		served := make(chan error, 1)
		go func() { served <- p.Serve(l) }()
		conn, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		require.NoError(t, conn.SetDeadline(time.Now().Add(patience)))
		fmt.Fprintf(conn, "CONNECT localhost:%s HTTP/1.1\r\n\r\n", port)
		status, _ := answer(t, bufio.NewReader(conn), http.MethodConnect)
		assert.Equal(t, map[bool]int{false: http.StatusForbidden, true: http.StatusOK}[allowed], status)
		_ = conn.Close()
		require.NoError(t, p.Close())
		require.NoError(t, <-served)
	}
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	require.NoError(t, err)
	return port
}

func TestDenialsAreCountedAndBounded(t *testing.T) {
	t.Parallel()
	in := setup(t, Config{Hosts: []string{"example.com:443"}}, "", nil)
	for range 3 {
		in.say("CONNECT evil.example:443 HTTP/1.1\r\n\r\n")
	}
	in.say("GET http://user:secret@example.com/path?token=secret HTTP/1.1\r\nHost: example.com\r\n\r\n")
	stats := in.Stats()
	assert.Equal(t, 4, stats.Requests)
	assert.Equal(t, 4, stats.Denials)
	require.Len(t, stats.Denied, 2)
	assert.Equal(t, Denial{Target: "evil.example:443", Reason: "it is not an allowed host and port", Count: 3}, stats.Denied[0])
	assert.Equal(t, "example.com", stats.Denied[1].Target)
	for i := range 2 * maxDenials {
		in.report.denial(fmt.Sprint(i), "")
	}
	assert.Len(t, in.Stats().Denied, maxDenials)
}
