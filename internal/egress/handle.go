package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/textproto"
	"strings"
)

// refusal is why a request is not passed on.
type refusal struct{ reason string }

func (r *refusal) Error() string { return r.reason }

func refuse(format string, args ...any) error {
	return &refusal{reason: fmt.Sprintf(format, args...)}
}

// serve answers the one request of a connection.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	if !p.enter() {
		return
	}
	defer p.open.Done()
	from, ok := r.Context().Value(clientKey{}).(*client)
	if !ok { // only if the server has another listener than the proxy's
		return
	}
	defer from.closeSoon()
	p.report.request()

	t, v, err := p.route(r, from)
	if err != nil {
		p.answer(w, r, err)
		return
	}
	ctx := r.Context()
	if r.Method == http.MethodConnect {
		ctx = p.ctx // the request's ends when the client has said all, the tunnel's does not
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	upstream, err := p.connect(ctx, t, v, cancel)
	if err != nil {
		p.answer(w, r, err)
		return
	}
	defer upstream.Close()
	p.log.DebugContext(ctx, "egress passed", "method", r.Method, "target", t.String())
	// Whatever ends the request ends both connections, also where a read or a write of
	// them hangs.
	stop := context.AfterFunc(ctx, func() {
		_ = upstream.Close()
		if r.Method == http.MethodConnect {
			_ = from.Close()
		}
		from.closeSoon()
	})
	defer stop()
	if r.Method == http.MethodConnect {
		tunnel(w, from, upstream, cancel)
		return
	}
	p.forward(w, r.WithContext(ctx), t, upstream)
}

// route decides where a request goes. Nothing is looked up here.
func (p *Proxy) route(r *http.Request, from *client) (target, verdict, error) {
	hosts, err := from.hosts()
	if err != nil {
		return target{}, verdict{}, refuse("its headers cannot be read")
	}
	t, err := targetOf(r)
	if err != nil {
		return target{}, verdict{}, err
	}
	if err := checkHosts(r, t, hosts); err != nil {
		return target{}, verdict{}, err
	}
	v := p.rules.find(t)
	if !v.allowed {
		return target{}, verdict{}, refuse("it is not an allowed host and port")
	}
	return t, v, nil
}

// targetOf reads where a request wants to go from its first line.
func targetOf(r *http.Request) (target, error) {
	if r.Method == http.MethodConnect {
		if r.ContentLength != 0 {
			return target{}, refuse("CONNECT has no body")
		}
		t, err := parseTarget(r.RequestURI, 0)
		if err != nil {
			return target{}, refuse("%v", err)
		}
		return t, nil
	}
	switch {
	case r.URL.Scheme == "https":
		return target{}, refuse("https passes through CONNECT only")
	case r.URL.Scheme != "http" || r.URL.Opaque != "":
		return target{}, refuse("a proxy is asked for http://host:port/path, or with CONNECT host:port")
	case r.URL.User != nil:
		return target{}, refuse("the URL has user information before its host; send an Authorization header")
	case wantsWebSocket(r):
		return target{}, refuse("WebSockets pass through CONNECT only")
	}
	t, err := parseTarget(r.URL.Host, 80)
	if err != nil {
		return target{}, refuse("%v", err)
	}
	return t, nil
}

// checkHosts refuses a request whose Host header says something else than its target: two
// programs that read it could take it for two hosts. A Host without a port is common with
// CONNECT, and goes nowhere.
func checkHosts(r *http.Request, t target, hosts []string) error {
	if len(hosts) > 1 {
		return refuse("it has more than one Host header")
	}
	defaultPort := uint16(80)
	if r.Method == http.MethodConnect {
		defaultPort = t.port
	}
	for _, host := range hosts {
		if got, err := parseTarget(textproto.TrimString(host), defaultPort); err != nil || got != t {
			return refuse("its Host header names another host or port")
		}
	}
	return nil
}

func wantsWebSocket(r *http.Request) bool {
	for _, value := range r.Header["Upgrade"] {
		if strings.Contains(strings.ToLower(value), "websocket") {
			return true
		}
	}
	return false
}

// answer tells the client why its request was not passed on.
func (p *Proxy) answer(w http.ResponseWriter, r *http.Request, err error) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	asked := shown(r.RequestURI)

	if denied, ok := errors.AsType[*refusal](err); ok {
		p.report.denial(asked, denied.reason)
		p.log.InfoContext(r.Context(), "egress refused", "method", r.Method, "target", asked, "reason", denied.reason)
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, "%s is refused: %s\n%s", asked, denied.reason, p.rules.text()) //nolint:gosec // plain text, and nosniff
		return
	}
	p.log.DebugContext(r.Context(), "egress went wrong", "method", r.Method, "target", asked, "error", err)
	status := http.StatusBadGateway
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, errIdle) {
		status = http.StatusGatewayTimeout
	}
	w.WriteHeader(status)
	fmt.Fprintf(w, "%s is allowed, but: %v\n", asked, err) //nolint:gosec // plain text, and nosniff
}

// text tells what is allowed.
func (r *rules) text() string {
	if len(r.texts) == 0 {
		return "no host is allowed here\n"
	}
	return "allowed are: " + strings.Join(r.texts, ", ") + "\n"
}
