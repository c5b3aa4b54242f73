package egress

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync/atomic"
)

// maxResponseHead is the size of a response's line and headers.
const maxResponseHead = 256 << 10

// forward passes on one plain request over a connection that is made for it alone.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, t target, to *upstream) {
	transport := &http.Transport{
		DialContext:            once(to),
		DisableKeepAlives:      true,
		DisableCompression:     true,
		MaxResponseHeaderBytes: maxResponseHead,
	}
	defer transport.CloseIdleConnections()
	proxy := &httputil.ReverseProxy{
		Transport:     transport,
		Rewrite:       func(pr *httputil.ProxyRequest) { rewrite(pr, t) },
		FlushInterval: -1, // pass on what arrives: it may be a stream of events
		ErrorLog:      slog.NewLogLogger(p.log.Handler(), slog.LevelDebug),
		ModifyResponse: func(response *http.Response) error {
			if response.StatusCode == http.StatusSwitchingProtocols {
				return errors.New("the host switched to another protocol, which nobody asked for")
			}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			if cause := context.Cause(r.Context()); cause != nil {
				err = cause
			}
			p.answer(w, r, err)
		},
	}
	r.Header.Del("Upgrade") // to HTTP/2, say; optional by its nature
	proxy.ServeHTTP(w, r)
}

// rewrite puts the checked target into the request that goes out, and leaves all else as
// the client sent it.
func rewrite(pr *httputil.ProxyRequest, t target) {
	host := t.String()
	if t.port == 80 {
		host = host[:len(host)-len(":80")]
	}
	pr.Out.URL.Scheme = "http"
	pr.Out.URL.Host = t.String()
	pr.Out.URL.User = nil
	pr.Out.URL.RawQuery = pr.In.URL.RawQuery
	pr.Out.Host = host
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if values, ok := pr.In.Header[name]; ok {
			pr.Out.Header[name] = values
		}
	}
	if pr.Out.URL.Path == "" {
		pr.Out.URL = &url.URL{Scheme: "http", Host: t.String(), Path: "/", RawQuery: pr.In.URL.RawQuery}
	}
}

// once gives out one connection, whatever address is asked for.
func once(conn net.Conn) func(context.Context, string, string) (net.Conn, error) {
	var used atomic.Bool
	return func(context.Context, string, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errors.New("the connection was lost")
		}
		return conn, nil
	}
}
