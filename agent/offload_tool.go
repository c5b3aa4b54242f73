package agent

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"
)

//go:embed prompts/search_large_output.md
var offloadToolDescription string

//go:embed prompts/search_large_output.schema.json
var offloadToolSchema string

// Tool returns the tool "search_large_output", which looks into the files of this
// offload and nothing else. It is [ReadOnly], and its own results stay below the
// threshold.
func (o *Offload) Tool() Tool { return &offloadTool{o} }

type offloadTool struct{ offload *Offload }

func (t *offloadTool) Spec() ToolSpec {
	return ToolSpec{
		Name:        OffloadedTool,
		Description: strings.TrimSpace(offloadToolDescription),
		InputSchema: json.RawMessage(offloadToolSchema),
		Effect:      ReadOnly,
	}
}

type offloadArguments struct {
	Operation     string `json:"operation"`
	Path          string `json:"path"`
	Start         int    `json:"start"`
	End           int    `json:"end"`
	Offset        *int   `json:"offset"`
	Pattern       string `json:"pattern"`
	CaseSensitive bool   `json:"case_sensitive"`
	MaxResults    int    `json:"max_results"`
	Query         string `json:"query"`
}

const (
	defaultMaxResults = 20
	maxMaxResults     = 200
	maxPatternBytes   = 1000
	echoBytes         = 100 // of what the model sent, in an error
)

// Call looks into a file.
func (t *offloadTool) Call(ctx context.Context, call *ToolCall) (*ToolResult, error) {
	var args offloadArguments
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return nil, fmt.Errorf("the arguments do not fit: %w", err)
	}
	switch {
	case args.MaxResults <= 0:
		args.MaxResults = defaultMaxResults
	case args.MaxResults > maxMaxResults:
		args.MaxResults = maxMaxResults
	}
	content, err := t.open(ctx, args.Path)
	if err != nil {
		return nil, err
	}
	out := &boundedText{left: t.offload.limit() / 2}
	switch args.Operation {
	case "read":
		err = readRange(out, content, &args)
	case "search":
		err = searchText(ctx, out, content, &args)
	case "query":
		err = queryJSON(out, content, &args)
	default:
		err = fmt.Errorf("there is no operation %q; use read, search or query", clip(args.Operation, echoBytes))
	}
	if err != nil {
		return nil, err
	}
	return TextResult(out.String()), nil
}

// open reads the file that the model names, which must be one of the offload's.
func (t *offloadTool) open(ctx context.Context, path string) (string, error) {
	name, err := t.resolve(path)
	if err != nil {
		return "", err
	}
	data, err := t.offload.Storage.ReadFile(ctx, name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("there is no file %s (any more); call the tool that made the output again", clip(path, echoBytes))
	case err != nil:
		return "", err
	}
	return string(data), nil
}

// resolve takes a bare file name, the name in the storage, or the name as shown.
// Files lie flat in the folder, so nothing else can be meant, and nothing else is
// reached.
func (t *offloadTool) resolve(path string) (string, error) {
	base := path[strings.LastIndexAny(path, `/\`)+1:]
	if base == "" || base == "." || base == ".." {
		return "", t.refuse(path)
	}
	name := t.offload.folder() + "/" + base
	if path != base && path != name && path != t.offload.shown(name) {
		return "", t.refuse(path)
	}
	return name, nil
}

func (t *offloadTool) refuse(path string) error {
	return fmt.Errorf("path_not_allowed: %s reads only the files that large outputs were put into, by the path that was given then; %q is none of them",
		OffloadedTool, clip(path, echoBytes))
}

// boundedText collects text up to a number of bytes.
type boundedText struct {
	strings.Builder
	left int
}

// add appends a text when it fits whole, and reports whether it did.
func (b *boundedText) add(text string) bool {
	if len(text) > b.left {
		return false
	}
	b.left -= len(text)
	b.WriteString(text)
	return true
}
