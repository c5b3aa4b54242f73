package egress

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"
)

// Config says what may be reached, and within which limits. The zero value allows
// nothing.
type Config struct {
	// Hosts are the "name:port" that may be reached. A name is exact, in any case and
	// with or without a dot at its end; names in other scripts than Latin are converted
	// to ASCII (IDNA). A name that begins with "*." stands for every name below the
	// rest, not for the rest itself. An IPv4 address, or an IPv6 address in brackets, is
	// allowed as such, whatever it is.
	Hosts []string
	// PrivateHosts are further ones, of the same form, whose names may also resolve to
	// addresses that are not public, such as "localhost:5432".
	PrivateHosts []string

	// MaxConnections is how many connections are served at one time; others wait. The
	// default is 256.
	MaxConnections int
	// MaxBytes is how much may pass to and from hosts, over all connections together.
	// What would exceed it is not passed on. The default is 10 GiB.
	MaxBytes int64
	// DialTimeout bounds looking up a name and connecting to it. The default is 10 s.
	DialTimeout time.Duration
	// IdleTimeout ends a connection on which nothing passes in either direction, also
	// when one side does not take what the other sends. The default is 5 min.
	IdleTimeout time.Duration

	// Logger gets one line for each refusal at Info and for each passed request at
	// Debug, with hosts but no paths, queries or headers. Nil is none.
	Logger *slog.Logger

	// Lookup resolves a name. Nil is Go's resolver, with the system's settings. It and
	// Dial must end when their context does: Close waits for them.
	Lookup func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to an address that was looked up and checked: "tcp" and "ip:port".
	// Nil is a [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// ErrClosed is what [Proxy.Serve] returns after [Proxy.Close] was called before it.
var ErrClosed = errors.New("egress proxy is closed")

// Proxy serves connections from inside a sandbox. Its methods may be called from several
// goroutines at a time.
type Proxy struct {
	config Config
	rules  *rules
	log    *slog.Logger
	server *http.Server
	slots  chan struct{} // one for each connection being served

	ctx    context.Context // of everything that the proxy does
	cancel context.CancelCauseFunc

	bytes  atomic.Int64
	report report

	mu      sync.Mutex
	closed  bool
	clients map[*client]struct{}
	open    sync.WaitGroup // Serve calls, connections and handlers
}

// New returns a proxy, or a [*HostError] for each entry that names no host and port,
// joined.
func New(config Config) (*Proxy, error) {
	rules, err := newRules(config.Hosts, config.PrivateHosts)
	if err != nil {
		return nil, err
	}
	config.MaxConnections = cmp.Or(config.MaxConnections, 256)
	config.MaxBytes = cmp.Or(config.MaxBytes, 10<<30)
	config.DialTimeout = cmp.Or(config.DialTimeout, 10*time.Second)
	config.IdleTimeout = cmp.Or(config.IdleTimeout, 5*time.Minute)
	if config.MaxConnections < 0 || config.MaxBytes < 0 || config.DialTimeout < 0 || config.IdleTimeout < 0 {
		return nil, errors.New("a limit of the egress proxy is negative; zero is its default")
	}
	if config.Lookup == nil {
		// Go's own resolver ends with its context, and takes no number for an address.
		resolver := &net.Resolver{PreferGo: true}
		config.Lookup = func(ctx context.Context, name string) ([]netip.Addr, error) {
			return resolver.LookupNetIP(ctx, "ip", name)
		}
	}
	if config.Dial == nil {
		config.Dial = (&net.Dialer{}).DialContext
	}
	p := &Proxy{
		config:  config,
		rules:   rules,
		log:     config.Logger,
		slots:   make(chan struct{}, config.MaxConnections),
		clients: map[*client]struct{}{},
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.ctx, p.cancel = context.WithCancelCause(context.Background())
	p.server = p.newServer()
	return p, nil
}

// newServer returns a server that reads one request from each connection.
func (p *Proxy) newServer() *http.Server {
	s := &http.Server{
		Handler:           http.HandlerFunc(p.serve),
		ReadHeaderTimeout: min(headTimeout, p.config.IdleTimeout),
		MaxHeaderBytes:    maxHead,
		ErrorLog:          slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
		BaseContext:       func(net.Listener) context.Context { return p.ctx },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, clientKey{}, conn)
		},
		DisableGeneralOptionsHandler: true, // "OPTIONS *" is no request to a proxy
	}
	s.SetKeepAlivesEnabled(false)
	return s
}

// Serve takes connections from a listener, a Unix socket or any other, until Close,
// and then returns nil. It closes the listener. An error is the listener's own.
func (p *Proxy) Serve(l net.Listener) error {
	if !p.enter() {
		_ = l.Close()
		return ErrClosed
	}
	defer p.open.Done()
	err := p.server.Serve(&listener{Listener: l, proxy: p})
	if errors.Is(err, http.ErrServerClosed) || p.ctx.Err() != nil {
		return nil
	}
	_ = l.Close()
	return err
}

// Close ends every connection at once and returns when nothing of the proxy is left
// running. Later calls wait too, and do nothing else. The error is that of closing the
// listeners.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	clients := make([]*client, 0, len(p.clients))
	for c := range p.clients {
		clients = append(clients, c)
	}
	p.mu.Unlock()

	p.cancel(ErrClosed)
	err := p.server.Close()
	for _, c := range clients {
		_ = c.Close()
	}
	p.open.Wait()
	if errors.Is(err, net.ErrClosed) { // closed by its owner before
		return nil
	}
	return err
}

// enter counts something that Close waits for, unless Close was called.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.open.Add(1)
	return true
}
