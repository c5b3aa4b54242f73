package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

const (
	// nextAddress is how long a connection is waited for before the next address of the
	// name is tried beside it (RFC 8305).
	nextAddress = 250 * time.Millisecond
	// maxAddresses are tried of one name.
	maxAddresses = 8
)

// connect looks up a target, checks where it leads, and connects to exactly that.
func (p *Proxy) connect(ctx context.Context, t target, v verdict, cancel context.CancelCauseFunc) (*upstream, error) {
	if p.bytes.Load() >= p.config.MaxBytes {
		return nil, errBytes
	}
	dialing, stop := context.WithTimeout(ctx, p.config.DialTimeout)
	defer stop()
	addrs := []netip.Addr{t.addr}
	if t.name != "" {
		var err error
		if addrs, err = p.lookup(dialing, t, v); err != nil {
			return nil, err
		}
	}
	conn, err := p.dialFirst(dialing, addrs, t.port)
	if err != nil {
		return nil, err
	}
	return newUpstream(conn, p, cancel), nil
}

// lookup returns the addresses of a name. One that is not public spoils all: a name that
// leads to both is how a check is outrun.
func (p *Proxy) lookup(ctx context.Context, t target, v verdict) ([]netip.Addr, error) {
	addrs, err := p.config.Lookup(ctx, t.name)
	if err != nil {
		return nil, fmt.Errorf("looking up %s: %w", t.name, err)
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%s has no address", t.name)
	}
	for _, addr := range addrs {
		kind := kindOf(addr)
		if kind == "" && ownAddress(addr) {
			kind = "this machine's own"
		}
		if kind != "" && !v.private {
			return nil, refuse("its name resolves to %s address, which the host of this sandbox must allow for it by name", kind)
		}
	}
	return addrs[:min(len(addrs), maxAddresses)], nil
}

// dialFirst connects to the first address that answers. They start one after another, in
// the resolver's order, the next as soon as one fails or is slow.
func (p *Proxy) dialFirst(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result)
	running := 0
	start := func() {
		address := netip.AddrPortFrom(addrs[0], port).String()
		addrs = addrs[1:]
		running++
		go func() {
			conn, err := p.config.Dial(ctx, "tcp", address)
			results <- result{conn, err}
		}()
	}
	slow := time.NewTimer(nextAddress)
	defer slow.Stop()
	start()
	var won net.Conn
	var problems []error
	for running > 0 {
		select {
		case r := <-results:
			running--
			switch {
			case r.err != nil:
				problems = append(problems, r.err)
			case won != nil:
				_ = r.conn.Close()
			default:
				won = r.conn
				cancel()
			}
			if won != nil || len(addrs) == 0 || ctx.Err() != nil {
				continue
			}
		case <-slow.C:
			if won != nil || len(addrs) == 0 {
				continue
			}
		}
		start()
		slow.Reset(nextAddress)
	}
	if won != nil {
		return won, nil
	}
	return nil, errors.Join(problems...)
}
