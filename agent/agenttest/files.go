package agenttest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/treadle-dev/treadle/agent"
	"github.com/treadle-dev/treadle/workspace"
)

// Files is a toolset "files" over the storage of the run's workspace, for steps on
// any storage: read_file{path}, list_folder{path}, write_file{path, content}
// (idempotent) and append_file{path, content} (unsafe). Relative paths are those
// of the step's work folder; a path that starts with "runs/" or another folder of
// the workspace is the workspace's.
func Files() *Toolset {
	return &Toolset{ID: "files", For: func(scope agent.Scope) []agent.Tool {
		f := &files{st: scope.Workspace.Storage(), dir: scope.WorkDir, scope: scope}
		const schema = `{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path"]}`
		return []agent.Tool{
			&Tool{Name: "read_file", Effect: agent.ReadOnly, Schema: schema, Do: f.read},
			&Tool{Name: "list_folder", Effect: agent.ReadOnly, Schema: schema, Do: f.list},
			&Tool{Name: "write_file", Effect: agent.Idempotent, Schema: schema, Do: f.write},
			&Tool{Name: "append_file", Effect: agent.Unsafe, Schema: schema, Do: f.append},
		}
	}}
}

type files struct {
	st    workspace.Storage
	dir   string
	scope agent.Scope
}

type fileArguments struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

func (f *files) arguments(call *agent.ToolCall) (fileArguments, error) {
	var args fileArguments
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return args, err
	}
	if root, ok := f.scope.Workspace.LocalPath("."); ok {
		args.Path = strings.TrimPrefix(strings.TrimPrefix(args.Path, root), "/")
	}
	top, _, nested := strings.Cut(args.Path, "/")
	switch {
	case nested && (top == workspace.RunsDir || top == workspace.DBDir || top == "inputs"):
	case args.Path == "" || args.Path == ".":
		args.Path = f.dir
	default:
		args.Path = f.dir + "/" + args.Path
	}
	return args, nil
}

func (f *files) read(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	args, err := f.arguments(call)
	if err != nil {
		return nil, err
	}
	data, err := f.st.ReadFile(ctx, args.Path)
	if err != nil {
		return nil, err
	}
	return agent.TextResult(string(data)), nil
}

func (f *files) list(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	args, err := f.arguments(call)
	if err != nil {
		return nil, err
	}
	entries, err := f.st.ReadDir(ctx, args.Path)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return agent.TextResult(strings.Join(names, "\n")), nil
}

func (f *files) write(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	args, err := f.arguments(call)
	if err != nil {
		return nil, err
	}
	if err := f.st.WriteFile(ctx, args.Path, []byte(args.Content), workspace.Lazy); err != nil {
		return nil, err
	}
	return agent.TextResult(fmt.Sprintf("wrote %d bytes to %s", len(args.Content), args.Path)), nil
}

func (f *files) append(ctx context.Context, call *agent.ToolCall) (*agent.ToolResult, error) {
	args, err := f.arguments(call)
	if err != nil {
		return nil, err
	}
	var offset int64
	if info, err := f.st.Stat(ctx, args.Path); err == nil {
		offset = info.Size()
	}
	if err := f.st.AppendAt(ctx, args.Path, offset, []byte(args.Content)); err != nil {
		return nil, err
	}
	return agent.TextResult(fmt.Sprintf("appended %d bytes to %s", len(args.Content), args.Path)), nil
}
