package agent

import (
	"context"
	"encoding/json"

	"github.com/treadle-dev/treadle/workspace"
)

// Effect says what a tool does to the world, and so what may happen to a call
// that a crash interrupted.
type Effect string

const (
	// Unsafe is the default: a call may change something outside, and running it
	// twice may do so twice. It is never repeated silently.
	Unsafe Effect = ""
	// ReadOnly changes nothing. It may be repeated.
	ReadOnly Effect = "read_only"
	// Idempotent may be repeated with the same arguments: the second call adds
	// nothing.
	Idempotent Effect = "idempotent"
	// Reentrant journals its own inner work, so a repeated call picks up where the
	// first was interrupted.
	Reentrant Effect = "reentrant"
)

// ToolSpec is what a model is told of a tool, and what the loop must know.
type ToolSpec struct {
	// Name is what the model calls: 1 to 64 characters of letters, digits, "_"
	// and "-", unique in a step.
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// InputSchema is a JSON Schema of an object. Empty means no arguments.
	InputSchema json.RawMessage `json:"input_schema,omitempty"`
	Effect      Effect          `json:"effect,omitempty"`
	// Origin is the tool's name inside its toolset, where Name differs from it;
	// selected_tools and logs use it.
	Origin string `json:"origin,omitempty"`
}

// OriginName is the tool's name inside its toolset.
func (s *ToolSpec) OriginName() string {
	if s.Origin != "" {
		return s.Origin
	}
	return s.Name
}

// ToolCall is one call that a model asks for.
type ToolCall struct {
	// ID is the provider's id of the call; it pairs a result with its call on the
	// wire.
	ID   string `json:"id,omitempty"`
	Name string `json:"name"`
	// Arguments is a JSON object, or absent; when Invalid is set it is a JSON string
	// with the text that the model sent. A tool is given an object that fits its
	// InputSchema.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Invalid says, in the parser's words, why the text that the model sent as
	// arguments is not a JSON object. Such a call is answered, never run.
	Invalid string `json:"invalid,omitempty"`
	// Extra keeps what the provider wants back with this call; see Message.Extra.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
	// Key is the call's stable position in its run, the same after a resume. A
	// tool may pass it on as an idempotency key. Set by the loop.
	Key string `json:"key,omitempty"`
}

// ToolResult is what a tool gives back to the model.
type ToolResult struct {
	Content []Part `json:"content,omitempty"`
	// Structured is the result as JSON, for tools that have one.
	Structured json.RawMessage `json:"structured,omitempty"`
	// IsError tells the model that the call failed.
	IsError bool `json:"is_error,omitempty"`
}

// Text returns the text parts, joined by newlines; where there is no content, the
// structured result.
func (r *ToolResult) Text() string {
	if len(r.Content) == 0 {
		return string(r.Structured)
	}
	return partsText(r.Content)
}

// TextResult returns a result of one text.
func TextResult(text string) *ToolResult { return &ToolResult{Content: Text(text)} }

// ErrorResult returns a failed result of one text.
func ErrorResult(text string) *ToolResult {
	return &ToolResult{Content: Text(text), IsError: true}
}

// Tool is something that a model may call. It is safe for concurrent use.
type Tool interface {
	// Spec returns the same at every call, and a value of its own: a caller may
	// change what it gets.
	Spec() ToolSpec
	// Call runs the tool. An error becomes a failed result that the model sees;
	// an error of [Suspend] leaves the run instead. The call is read, never changed.
	// A tool that takes no arguments takes absent ones, null and {} as the same. When
	// the context ends, or had ended before, Call returns its error promptly, and the
	// session stays usable. Once the session is closed, Call is an error.
	Call(ctx context.Context, call *ToolCall) (*ToolResult, error)
}

// Toolset is a group of tools with a life of its own: an MCP server, a category
// of built-in tools, a host's own. It is safe for concurrent use.
//
// agenttest.TestToolset checks what is promised here and in [ToolSession] and [Tool].
type Toolset interface {
	// Name is what selected_servers and selected_tools call it. It has no ":" and
	// never changes.
	Name() string
	// Open starts a session for a scope. The context bounds the start only. Sessions
	// are independent of each other. A scope of a workspace alone is what a toolset is
	// opened for before a run, to see its tools: they are the same ones.
	Open(ctx context.Context, scope Scope) (ToolSession, error)
}

// Scope says for what a session is opened.
type Scope struct {
	Workspace *workspace.Workspace
	RunID     string
	RunFolder string // below runs, such as iteration-1
	Group     string
	// Step and WorkDir are set for sessions of [SharePerStep]. WorkDir is the
	// name, in the workspace, of the folder that this visit of the step works in.
	Step    string
	WorkDir string
	// Guard is what the step may touch in the workspace. It is set for sessions of
	// [SharePerStep]; nil allows nothing.
	Guard *workspace.Guard
}

// ToolSession is an open [Toolset].
type ToolSession interface {
	// Tools returns the tools, in the same order every time; the slice is the
	// caller's. Once the session is closed, Tools is an error.
	Tools(ctx context.Context) ([]Tool, error)
	// Close ends the session: calls under way end with an error, and it waits for them
	// and for all else that the session started, in bounded time. Closing again, also
	// from several goroutines, does the same and starts nothing anew.
	Close() error
}

// Sharing says how many steps one session of a toolset serves.
type Sharing int

const (
	// SharePerStep opens a session for every visit of a step.
	SharePerStep Sharing = iota
	// SharePerRun opens one session when a step of the run first needs it. The
	// groups of one iteration that run together share it.
	SharePerRun
	// SharePerGroup opens one session for each group of a run when a step first
	// needs it; without groups it is [SharePerRun].
	SharePerGroup
)

// Optional is the optional side of a [Toolset] that a step can do without: when it
// cannot be opened or listed, the step goes on without its tools and is told so.
// Without it a toolset is required.
type Optional interface {
	Optional() bool
}

// Aliased is the optional side of a [Toolset] that steps may also select by other
// names.
type Aliased interface {
	Aliases() []string
}

// Sharer is the optional side of a [Toolset] that says how its sessions are
// shared; without it [SharePerStep] holds.
type Sharer interface {
	Sharing() Sharing
}
