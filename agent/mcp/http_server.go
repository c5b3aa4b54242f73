package mcp

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Kind is the transport that a server behind a URL speaks.
type Kind string

const (
	// KindAuto is found out at the start: streamable HTTP is tried, and HTTP+SSE
	// where the server refuses that with a status of 400 to 499.
	KindAuto Kind = ""
	// KindHTTP is streamable HTTP, of the protocol's revision 2025-03-26 and later.
	KindHTTP Kind = "http"
	// KindSSE is HTTP with server-sent events, of the revision 2024-11-05.
	KindSSE Kind = "sse"
)

// ParseKind reads a kind as .mcp.json files have it: "http" and "sse" in any case,
// "streamable-http", "streamable_http" and "streamableHttp" for the first, and
// nothing for [KindAuto]. It reports false for any other word.
func ParseKind(s string) (Kind, bool) {
	switch strings.ToLower(s) {
	case "":
		return KindAuto, true
	case "http", "streamable-http", "streamablehttp", "streamable_http":
		return KindHTTP, true
	case "sse":
		return KindSSE, true
	}
	return "", false
}

// ownHeaders are set by the session itself, or would change what a request means:
// an idempotency key makes net/http repeat requests.
func ownHeaders() []string {
	return []string{
		"Accept", "Connection", "Content-Length", "Content-Type", "Idempotency-Key", "Last-Event-Id",
		"Mcp-Protocol-Version", "Mcp-Session-Id", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "X-Idempotency-Key",
	}
}

// checkURL finds what is wrong with a server reached by url.
func (s *Server) checkURL() error {
	if s.Command != "" {
		return fmt.Errorf("mcp server %q has both a command and a url; keep one of the two", s.Name)
	}
	if kind, ok := ParseKind(string(s.Kind)); !ok || kind != s.Kind {
		return fmt.Errorf("mcp server %q: kind %q is not known; use KindHTTP or KindSSE, or KindAuto to find out", s.Name, s.Kind)
	}
	if problem := urlProblem(s.URL); problem != "" {
		return fmt.Errorf("mcp server %q: the url %s", s.Name, problem)
	}
	for name, value := range s.Headers {
		if problem := headerProblem(name, value); problem != "" {
			return fmt.Errorf("mcp server %q: the header %q %s", s.Name, name, problem)
		}
	}
	return nil
}

// urlProblem says what is wrong with a url; empty when nothing is. It does not
// quote it: it may hold a secret.
func urlProblem(text string) string {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return "must begin with http:// or https:// and name a host"
	}
	return ""
}

// headerProblem says what is wrong with a header, without its value.
func headerProblem(name, value string) string {
	switch {
	case name == "" || strings.ContainsFunc(name, func(r rune) bool { return r > 0x7e || !isTokenByte(byte(r)) }):
		return "has no valid name"
	case slices.Contains(ownHeaders(), http.CanonicalHeaderKey(name)):
		return "is set by the client itself; leave it out"
	case !sendable(value):
		return "has a line break or another control character in its value; look for one at the end of the variable it comes from"
	}
	return ""
}

// sendable reports whether a text can be the value of a header.
func sendable(value string) bool {
	return !strings.ContainsFunc(value, func(r rune) bool { return (r < ' ' && r != '\t') || r == 0x7f })
}

// secrets are all values that errors and logs must not hold: those the host named,
// and whatever may let somebody in at the server.
func (s *Server) secrets() []string {
	all := slices.Clone(s.Secrets)
	for name, value := range s.Headers {
		if http.CanonicalHeaderKey(name) == "Host" {
			continue
		}
		all = append(all, value)
		if scheme, rest, ok := strings.Cut(value, " "); ok && len(scheme) < len("Negotiate ") {
			all = append(all, strings.TrimSpace(rest)) // as in "Bearer …"
		}
	}
	u, err := url.Parse(s.URL)
	if s.URL == "" || err != nil {
		return all
	}
	if password, ok := u.User.Password(); ok {
		all = append(all, password)
	}
	for _, values := range u.Query() {
		for _, value := range values {
			if len(value) >= 2*minSecret { // short ones are seldom keys
				all = append(all, value)
			}
		}
	}
	return all
}

// place is where a server reached by url is, for errors.
func (s *Server) place() string {
	if s.URL == "" {
		return ""
	}
	u, err := url.Parse(s.URL)
	if err != nil {
		return "its url"
	}
	return originText(u)
}
