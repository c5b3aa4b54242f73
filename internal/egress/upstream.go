package egress

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"
)

var (
	errIdle  = errors.New("nothing passed for as long as a connection may be idle")
	errBytes = errors.New("the bytes that may pass to and from hosts are used up")
)

// upstream is a connection to an allowed host. What passes it is counted, and when
// nothing does for too long, the request ends.
type upstream struct {
	net.Conn
	proxy  *Proxy
	cancel context.CancelCauseFunc
	last   atomic.Int64 // when something passed, in nanoseconds of the clock
	idle   *time.Timer
}

func newUpstream(conn net.Conn, p *Proxy, cancel context.CancelCauseFunc) *upstream {
	u := &upstream{Conn: conn, proxy: p, cancel: cancel}
	u.last.Store(time.Now().UnixNano())
	// Started by Reset, so that the timer is there when it fires.
	u.idle = time.AfterFunc(time.Hour, u.checkIdle)
	u.idle.Reset(p.config.IdleTimeout)
	return u
}

func (u *upstream) checkIdle() {
	left := u.proxy.config.IdleTimeout - time.Duration(time.Now().UnixNano()-u.last.Load())
	if left <= 0 {
		u.cancel(errIdle)
		return
	}
	u.idle.Reset(left)
}

// pass counts bytes before they go on, and reports whether they may.
func (u *upstream) pass(n int) bool {
	u.last.Store(time.Now().UnixNano())
	if u.proxy.bytes.Add(int64(n)) > u.proxy.config.MaxBytes {
		u.cancel(errBytes)
		return false
	}
	return true
}

func (u *upstream) Read(b []byte) (int, error) {
	n, err := u.Conn.Read(b)
	if n > 0 && !u.pass(n) {
		return 0, errBytes
	}
	return n, err
}

func (u *upstream) Write(b []byte) (int, error) {
	if !u.pass(len(b)) {
		return 0, errBytes
	}
	n, err := u.Conn.Write(b)
	u.last.Store(time.Now().UnixNano())
	return n, err
}

// CloseWrite tells the host that nothing more comes.
func (u *upstream) CloseWrite() error { return closeWrite(u.Conn) }

func (u *upstream) Close() error {
	u.idle.Stop()
	return u.Conn.Close()
}

func closeWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
