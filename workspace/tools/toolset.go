package tools

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"sync"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/internal/sandbox"
	"github.com/treadle-dev/treadle/workspace"
)

// ErrNoLocalPaths is what Open returns when the shell is enabled and the storage of
// the workspace has no files on the local disk for it to run on.
var ErrNoLocalPaths = errors.New("the storage has no local paths, which the shell needs; use a folder on disk, or set Config.WithoutShell")

// ErrNoSandbox is in what Open returns when the shell is enabled and commands cannot be
// confined here.
var ErrNoSandbox = errors.New("there is no sandbox for the shell on this host; see Config.Without")

// Toolset is the tools of a workspace. It opens a session for every visit of a step.
// It is safe for concurrent use; get one from [New].
type Toolset struct {
	config Config
	run    func(context.Context, *sandbox.Command) (*sandbox.Result, error)

	seed  maphash.Seed
	files [64]sync.Mutex // of files that are patched, by the hash of where they are

	mu     sync.Mutex
	probed bool // a command has run
	logged map[sandbox.Feature]bool
}

var (
	_ agent.Toolset = (*Toolset)(nil)
	_ agent.Aliased = (*Toolset)(nil)
	_ agent.Sharer  = (*Toolset)(nil)
)

// New returns the toolset. The error says which setting is of no use.
func New(config Config) (*Toolset, error) {
	config, err := config.withDefaults()
	if err != nil {
		return nil, err
	}
	return &Toolset{config: config, run: sandbox.Run, seed: maphash.MakeSeed(), logged: map[sandbox.Feature]bool{}}, nil
}

// Name implements [agent.Toolset].
func (t *Toolset) Name() string { return Name }

// Aliases implements [agent.Aliased].
func (t *Toolset) Aliases() []string { return []string{Alias} }

// Sharing implements [agent.Sharer].
func (t *Toolset) Sharing() agent.Sharing { return agent.SharePerStep }

// Open implements [agent.Toolset]. It gives [ErrNoLocalPaths], or an error that matches
// [ErrNoSandbox], where the shell cannot work.
func (t *Toolset) Open(ctx context.Context, scope agent.Scope) (agent.ToolSession, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if scope.Workspace == nil {
		return nil, errors.New("tools: the scope has no workspace")
	}
	if _, local := scope.Workspace.LocalPath("."); !local && !t.config.WithoutShell {
		return nil, fmt.Errorf("tools: %w", ErrNoLocalPaths)
	}
	if err := t.probe(ctx); err != nil {
		return nil, err
	}
	s := &session{set: t, scope: scope, files: scope.Guard.Open(scope.Workspace)}
	s.paths = paths{scope: &s.scope, files: s.files}
	if t.config.Env != nil && !t.config.WithoutShell {
		env, err := t.config.Env(ctx, scope)
		if err != nil {
			return nil, fmt.Errorf("tools: environment of the shell: %w", err)
		}
		if err := checkEnv(env); err != nil {
			return nil, err
		}
		s.env = env
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	return s, nil
}

// probe runs a first command that does nothing, so that a host on which there is no
// sandbox hears of it before a model does.
func (t *Toolset) probe(ctx context.Context) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.probed || t.config.WithoutShell {
		return nil
	}
	_, err := t.run(ctx, &sandbox.Command{Argv: []string{t.config.Shell, "-c", "exit 0"}, Without: features(t.config.Without)})
	switch {
	case errors.Is(err, sandbox.ErrUnavailable):
		return fmt.Errorf("tools: %w; or set Config.WithoutShell: %w", ErrNoSandbox, err)
	case err != nil:
		return fmt.Errorf("tools: trying the sandbox: %w", err)
	}
	t.probed = true
	return nil
}

// lockFile keeps the calls of all sessions that change one file apart, so that none
// undoes what another has just done.
func (t *Toolset) lockFile(ws *workspace.Workspace, name string) (unlock func()) {
	where := name
	if local, ok := ws.LocalPath(name); ok {
		where = local
	}
	mu := &t.files[maphash.String(t.seed, where)%uint64(len(t.files))]
	mu.Lock()
	return mu.Unlock
}

// session is the tools of one visit of a step.
type session struct {
	set   *Toolset
	scope agent.Scope
	files *workspace.GuardedFiles
	paths paths
	env   map[string]string

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	life   context.Context // ended by Close
	end    context.CancelFunc
}

// errClosed is what a call gives whose step is over.
var errClosed = errors.New("tools: the session of the step is closed")

// Tools implements [agent.ToolSession].
func (s *session) Tools(ctx context.Context) ([]agent.Tool, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.isClosed() {
		return nil, errClosed
	}
	var all []agent.Tool
	if !s.set.config.WithoutShell {
		all = append(all, s.shellTool())
	}
	all = append(all, s.patchTool(), s.imageTool())
	return append(all, s.mediaTools()...), nil
}

// Close implements [agent.ToolSession]: it ends the calls that are under way, and
// waits for them. Calls afterwards fail.
func (s *session) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	s.calls.Wait()
	return nil
}

func (s *session) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.closed
}

// during runs a call, whose context ends with the session.
func (s *session) during(ctx context.Context, call func(context.Context) (*agent.ToolResult, error)) (*agent.ToolResult, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	s.calls.Add(1)
	s.mu.Unlock()
	defer s.calls.Done()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	result, err := call(inner)
	if err != nil && ctx.Err() == nil && inner.Err() != nil {
		return nil, fmt.Errorf("%w: %w", errClosed, err)
	}
	return result, err
}
