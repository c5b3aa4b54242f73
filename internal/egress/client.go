package egress

import (
	"bufio"
	"bytes"
	"net"
	"net/textproto"
	"sync"
	"time"
)

const (
	// headTimeout bounds reading a request's line and headers.
	headTimeout = 30 * time.Second
	// maxHead is the size of a request's line and headers.
	maxHead = 64 << 10
	// farewell bounds what is left to do on a connection once its request is answered.
	farewell = 10 * time.Second
)

// listener hands out connections that the proxy knows, no more than it may serve.
type listener struct {
	net.Listener
	proxy *Proxy
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case l.proxy.slots <- struct{}{}:
	case <-l.proxy.ctx.Done():
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.proxy.slots
		return nil, err
	}
	return l.proxy.admit(conn)
}

func (p *Proxy) admit(conn net.Conn) (net.Conn, error) {
	c := &client{Conn: conn, proxy: p, recording: true}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		<-p.slots
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	p.open.Add(1)
	p.clients[c] = struct{}{}
	return c, nil
}

// client is a connection from inside. It keeps the head of its request as it arrived,
// because the server drops the Host header of a request with an absolute URI.
type client struct {
	net.Conn
	proxy *Proxy
	once  sync.Once
	err   error

	mu        sync.Mutex
	recording bool
	head      []byte
	closed    bool
	ending    *time.Timer
}

type clientKey struct{}

func (c *client) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	if c.recording {
		c.head = append(c.head, b[:n]...)
	}
	c.mu.Unlock()
	return n, err
}

// Close may be called again, and by several goroutines.
func (c *client) Close() error {
	c.once.Do(func() {
		c.mu.Lock()
		c.closed = true
		if c.ending != nil {
			c.ending.Stop()
		}
		c.mu.Unlock()
		c.err = c.Conn.Close()
		c.proxy.mu.Lock()
		delete(c.proxy.clients, c)
		c.proxy.mu.Unlock()
		<-c.proxy.slots
		c.proxy.open.Done()
	})
	return c.err
}

// CloseWrite tells the client that nothing more comes.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

// closeSoon closes the connection if it is still open after the farewell: a peer that
// takes or sends nothing cannot hold it.
func (c *client) closeSoon() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.ending != nil {
		return
	}
	c.ending = time.AfterFunc(farewell, func() { _ = c.Close() })
}

// hosts returns the values of the Host headers, and stops recording.
func (c *client) hosts() ([]string, error) {
	c.mu.Lock()
	head := c.head
	c.head, c.recording = nil, false
	c.mu.Unlock()
	// The same readers as those of net/http, so that both see the same headers.
	r := textproto.NewReader(bufio.NewReader(bytes.NewReader(head)))
	if _, err := r.ReadLine(); err != nil {
		return nil, err
	}
	headers, err := r.ReadMIMEHeader()
	return headers["Host"], err
}
