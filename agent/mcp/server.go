package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// Defaults of [Server].
const (
	DefaultStartTimeout = 30 * time.Second
	DefaultCallTimeout  = 2 * time.Minute
	DefaultCloseTimeout = 5 * time.Second
	// DefaultMaxCallTimeout is what progress may extend a call to.
	DefaultMaxCallTimeout = 30 * time.Minute
)

// Server says how one MCP server is started, or reached, and how long it may take.
// Name and either Command or URL are needed; the zero value of everything else
// works.
type Server struct {
	// Name is what selected_servers and selected_tools call it, and the prefix of
	// its tools' names.
	Name string
	// Command is the program: a name to be found in the server's PATH, or a path. A
	// relative path with a slash counts from Dir.
	Command string
	Args    []string
	// Env is set for the server on top of the few variables that the package
	// comment lists, and wins over them.
	Env map[string]string
	// Dir is the folder the server runs in. A relative one counts from the
	// workspace of the scope, where that has a local path, else from the host's
	// own folder; empty is that folder itself.
	Dir string

	// URL is where a server is reached over HTTP, instead of a Command: http:// or
	// https://, by way of the proxy that HTTPS_PROXY and its kin name.
	URL string
	// Kind is the transport that the server at URL speaks. The zero value finds out.
	Kind Kind
	// Headers go with every request to URL and to no other server: a redirect
	// elsewhere is not followed. Their values are secrets, in this package's errors
	// and logs too.
	Headers map[string]string
	// Token returns the bearer token for requests to URL; an empty one is not sent.
	// It is called for each request, from many goroutines, and is to keep the token
	// itself. With refresh it must get a new one: the server has refused the last.
	// That happens once for all requests refused together, within StartTimeout, and
	// each is then sent once more. An error or a second refusal becomes a
	// [*LoginNeededError]. A panic counts as an error, and so does a token with a line
	// break; a call is not held up by one that heeds no context. The token takes the
	// place of an Authorization header. Nil means no token.
	Token func(ctx context.Context, refresh bool) (string, error)
	// Transport makes the requests to URL, for hosts with certificates, proxies or
	// measurements of their own. It must heed a request's context; what it keeps open
	// is the host's to close. Nil means a transport of the session's own that trusts
	// the system's certificates and is closed with the session.
	Transport http.RoundTripper

	// Sharing says how many steps one session, and so one process, serves. Nil means
	// agent.SharePerRun: a start takes seconds, and what a server keeps between
	// calls, such as a login or a page, is worth keeping between steps. It is a
	// pointer because agent.SharePerStep is the zero value of its type.
	Sharing *agent.Sharing
	// Optional lets a step go on without the server where it does not start or
	// cannot be listed. A server is required by default.
	Optional bool

	// StartTimeout limits the start until the server has answered initialize. 0
	// means [DefaultStartTimeout].
	StartTimeout time.Duration
	// CallTimeout limits one call, with a restart of the server where that is
	// needed, and the first listing of the tools. While the server reports progress
	// of a call, the time counts anew from each report. 0 means
	// [DefaultCallTimeout].
	CallTimeout time.Duration
	// MaxCallTimeout limits one call whatever progress it makes. 0 means
	// [DefaultMaxCallTimeout], or CallTimeout where that is longer.
	MaxCallTimeout time.Duration
	// CloseTimeout limits Close: half of it for the server to end by itself once
	// its input is closed, the rest for it to obey SIGTERM and SIGKILL. 0 means
	// [DefaultCloseTimeout].
	CloseTimeout time.Duration

	// Secrets are values that a host must keep out of what it writes. Those of four
	// bytes or more are also masked in this package's own errors and logs.
	Secrets []string

	// Logger gets what is worth knowing and is not an error: restarts, stray
	// output, tools left out. Nil means none.
	Logger *slog.Logger
}

func (s Server) withDefaults() Server {
	if s.StartTimeout == 0 {
		s.StartTimeout = DefaultStartTimeout
	}
	if s.CallTimeout == 0 {
		s.CallTimeout = DefaultCallTimeout
	}
	if s.MaxCallTimeout == 0 {
		s.MaxCallTimeout = max(DefaultMaxCallTimeout, s.CallTimeout)
	}
	if s.CloseTimeout == 0 {
		s.CloseTimeout = DefaultCloseTimeout
	}
	if s.Logger == nil {
		s.Logger = slog.New(slog.DiscardHandler)
	}
	s.Logger = s.Logger.With("mcp_server", s.Name)
	return s
}

func (s *Server) check() error {
	switch {
	case s.Name == "":
		return errors.New("mcp server without a name")
	case s.URL == "" && s.Command == "":
		return fmt.Errorf("mcp server %q has no command and no url", s.Name)
	case s.Sharing != nil && !slices.Contains(sharings(), *s.Sharing):
		return fmt.Errorf("mcp server %q: sharing %d is not known; use one of agent.SharePerRun, SharePerGroup, SharePerStep", s.Name, *s.Sharing)
	case s.StartTimeout < 0, s.CallTimeout < 0, s.MaxCallTimeout < 0, s.CloseTimeout < 0:
		return fmt.Errorf("mcp server %q has a negative timeout", s.Name)
	}
	if s.URL != "" {
		return s.checkURL()
	}
	words := append([]string{s.Command, s.Dir}, s.Args...)
	for name, value := range s.Env {
		if name == "" || strings.Contains(name, "=") {
			return fmt.Errorf("mcp server %q: %q is not the name of an environment variable", s.Name, name)
		}
		words = append(words, name, value)
	}
	for _, word := range words {
		if strings.ContainsRune(word, 0) {
			return fmt.Errorf("mcp server %q has a NUL byte in its command, arguments, folder or environment", s.Name)
		}
	}
	return nil
}

// Toolset is an agent.Toolset over one MCP server. Each Open starts a process, or
// makes a session over HTTP, of its own; Toolset itself holds nothing.
type Toolset struct {
	server Server
}

var (
	_ agent.Toolset  = (*Toolset)(nil)
	_ agent.Sharer   = (*Toolset)(nil)
	_ agent.Optional = (*Toolset)(nil)
)

// New returns the toolset of a server. Nothing is started. It reports a server
// that cannot be right: no name, neither command nor url or both, a negative
// timeout, headers that cannot be sent.
func New(server Server) (*Toolset, error) {
	if err := server.check(); err != nil {
		return nil, err
	}
	return &Toolset{server: server.withDefaults()}, nil
}

// Name is the server's name.
func (t *Toolset) Name() string { return t.server.Name }

// Sharing is [Server.Sharing].
func (t *Toolset) Sharing() agent.Sharing {
	if t.server.Sharing == nil {
		return agent.SharePerRun
	}
	return *t.server.Sharing
}

// Optional is [Server.Optional].
func (t *Toolset) Optional() bool { return t.server.Optional }

func sharings() []agent.Sharing {
	return []agent.Sharing{agent.SharePerRun, agent.SharePerGroup, agent.SharePerStep}
}

// Open starts the server and returns once it is ready, as a [*Session]. Its
// errors are a [*StartError], or the context's.
func (t *Toolset) Open(ctx context.Context, scope agent.Scope) (agent.ToolSession, error) {
	session := newSession(t.server, workingDir(t.server.Dir, scope))
	if err := session.start(ctx); err != nil {
		return nil, err
	}
	return session, nil
}

// workingDir lets a server run where its user works, which is what other MCP
// clients do with a project's .mcp.json.
func workingDir(dir string, scope agent.Scope) string {
	if filepath.IsAbs(dir) || scope.Workspace == nil {
		return dir
	}
	root, ok := scope.Workspace.LocalPath(".")
	if !ok {
		return dir
	}
	return filepath.Join(root, dir)
}
