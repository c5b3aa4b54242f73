package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/treadle-dev/treadle/agent"
)

// maxPages ends a list of tools that goes on and on with new cursors.
const maxPages = 500

// Bounds of a list, in bytes.
const (
	maxListing     = 8 << 20  // all pages; no model takes a tenth of it
	maxOriginName  = 1 << 10  // a server's name for a tool
	maxDescription = 64 << 10 // of a tool; about 16,000 tokens in every request
)

// wireTool is one tool of tools/list. Schemas stay raw: they are normalised, not
// understood. What only describes a tool costs nobody the tool when it is odd.
type wireTool struct {
	Name         string          `json:"name"`
	Title        json.RawMessage `json:"title"`
	Description  json.RawMessage `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  json.RawMessage `json:"annotations"`
	Execution    json.RawMessage `json:"execution"`
}

// annotations are the hints that a server gives about a tool.
type annotations struct {
	title                string
	readOnly, idempotent bool
}

// annotations reads each hint by itself: an odd one says nothing.
func (t *wireTool) annotations() annotations {
	hints, err := parseObject(t.Annotations)
	if err != nil {
		return annotations{}
	}
	flag := func(name string) (set bool) {
		raw, _ := hints.get(name)
		return string(raw) == "true"
	}
	title, _ := hints.get("title")
	return annotations{
		title:    textOf(title),
		readOnly: flag("readOnlyHint"), idempotent: flag("idempotentHint"),
	}
}

// describe returns what a model is told of the tool.
func (t *wireTool) describe() string {
	return firstOf(textOf(t.Description), firstOf(textOf(t.Title), t.annotations().title))
}

// effect takes a server at its word where it promises something, and expects the
// worst where it does not, or where it says two things at once.
func (t *wireTool) effect() agent.Effect {
	hints := t.annotations()
	switch {
	case hints.readOnly:
		return agent.ReadOnly
	case hints.idempotent:
		return agent.Idempotent
	}
	return agent.Unsafe
}

// textOf reads a string; what is none is empty.
func textOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// listTools returns all pages of a server's list, each tool as it came. The limit
// is the context's, for the error that says so.
func (c *connection) listTools(ctx context.Context, limit time.Duration) ([]json.RawMessage, error) {
	var all []json.RawMessage
	cursor, size := "", 0
	seen := map[string]bool{}
	for range maxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		raw, err := c.request(ctx, outgoingRequest{method: string(mcp.MethodToolsList), params: params})
		if err != nil {
			return nil, c.listingFailed(ctx, limit, err)
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, &ListError{Server: c.server.Name, Reason: "the answer is not a list of tools", Err: err}
		}
		if size += len(raw); size > maxListing {
			return nil, &ListError{Server: c.server.Name, Reason: fmt.Sprintf("it is longer than %d MB", maxListing>>20)}
		}
		all = append(all, page.Tools...)
		if page.NextCursor == "" {
			return all, nil
		}
		if seen[page.NextCursor] {
			return nil, &ListError{
				Server: c.server.Name,
				Reason: fmt.Sprintf("page %d leads back to an earlier page (cursor %.40q)", len(seen)+1, page.NextCursor),
			}
		}
		cursor = page.NextCursor
		seen[cursor] = true
	}
	return nil, &ListError{Server: c.server.Name, Reason: fmt.Sprintf("it has more than %d pages", maxPages)}
}

// listingFailed puts a name to an error, and none to the answer of a server that
// has no tools and said so at its start.
func (c *connection) listingFailed(ctx context.Context, limit time.Duration, err error) error {
	var refused *ServerError
	switch {
	case errors.As(err, &refused) && refused.Code == mcp.METHOD_NOT_FOUND && c.capabilities.Tools == nil:
		return nil
	case errors.Is(context.Cause(ctx), errCallLimit):
		return &ListError{Server: c.server.Name, Reason: fmt.Sprintf("no end within %s", limit), Err: ctx.Err()}
	case errors.Is(err, ErrServerDied):
		return err
	}
	return &ListError{Server: c.server.Name, Reason: "it failed", Err: err}
}

// Problem is something about a server that its user should know and that does not
// stop it.
type Problem struct {
	Server string
	// Tool is the server's own name of the tool; empty when the problem is not about one.
	Tool    string
	Message string
}

func (p Problem) String() string {
	if p.Tool == "" {
		return fmt.Sprintf("mcp server %q: %s", p.Server, p.Message)
	}
	return fmt.Sprintf("mcp server %q, tool %q: %s", p.Server, p.Tool, p.Message)
}

// readTools makes tools of a server's list. One that cannot be used is left out
// and reported; it never costs the others.
func (s *Session) readTools(listed []json.RawMessage) []agent.Tool {
	tools := make([]agent.Tool, 0, len(listed))
	names := map[string]bool{}
	for i, raw := range listed {
		var w wireTool
		if err := json.Unmarshal(raw, &w); err != nil {
			s.report(w.Name, fmt.Sprintf("entry %d of its list is left out: %v", i+1, err))
			continue
		}
		if w.Name == "" {
			s.report("", fmt.Sprintf("entry %d of its list is left out: it has no name", i+1))
			continue
		}
		if len(w.Name) > maxOriginName {
			s.report(clipped(w.Name, 40), fmt.Sprintf("entry %d of its list is left out: its name is longer than %d bytes", i+1, maxOriginName))
			continue
		}
		description := w.describe()
		if len(description) > maxDescription {
			s.report(w.Name, "has a description that is too long; the model sees the start of it")
			description = clipped(description, maxDescription)
		}
		schema, notes, err := inputSchema(w.InputSchema)
		for _, note := range notes {
			s.report(w.Name, note)
		}
		if err != nil {
			s.report(w.Name, "is left out: "+err.Error())
			continue
		}
		name := toolName(s.server.Name, w.Name)
		if names[name] {
			s.report(w.Name, "is listed more than once; the first is used")
			continue
		}
		names[name] = true
		tools = append(tools, &tool{
			session:    s,
			structured: !isNull(w.OutputSchema),
			asTask:     w.runsAsTask(),
			spec: agent.ToolSpec{
				Name:        name,
				Description: description,
				InputSchema: schema,
				Effect:      w.effect(),
				Origin:      w.Name,
			},
		})
	}
	return tools
}
