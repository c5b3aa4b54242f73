package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/treadle-dev/treadle/agent"
)

// maxPages ends a list of tools that goes on and on with new cursors.
const maxPages = 500

// wireTool is one tool of tools/list. Schemas stay raw: they are normalised, not
// understood.
type wireTool struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  struct {
		Title      string `json:"title"`
		ReadOnly   bool   `json:"readOnlyHint"`
		Idempotent bool   `json:"idempotentHint"`
	} `json:"annotations"`
}

// effect takes a server at its word where it promises something, and expects the
// worst where it does not.
func (t *wireTool) effect() agent.Effect {
	switch {
	case t.Annotations.ReadOnly:
		return agent.ReadOnly
	case t.Annotations.Idempotent:
		return agent.Idempotent
	}
	return agent.Unsafe
}

// listTools returns all pages of a server's list, each tool as it came.
func (c *connection) listTools(ctx context.Context) ([]json.RawMessage, error) {
	var all []json.RawMessage
	cursor := ""
	seen := map[string]bool{}
	for range maxPages {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		raw, err := c.request(ctx, string(mcp.MethodToolsList), params, nil)
		if err != nil {
			return nil, c.listingFailed(ctx, err)
		}
		var page struct {
			Tools      []json.RawMessage `json:"tools"`
			NextCursor string            `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &page); err != nil {
			return nil, &ListError{Server: c.server.Name, Reason: "the answer is not a list of tools", Err: err}
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
func (c *connection) listingFailed(ctx context.Context, err error) error {
	var refused *ServerError
	switch {
	case errors.As(err, &refused) && refused.Code == mcp.METHOD_NOT_FOUND && c.capabilities.Tools == nil:
		return nil
	case errors.Is(context.Cause(ctx), errCallLimit):
		return &ListError{Server: c.server.Name, Reason: fmt.Sprintf("no end within %s", c.server.CallTimeout), Err: ctx.Err()}
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
		schema, err := inputSchema(w.InputSchema)
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
			spec: agent.ToolSpec{
				Name:        name,
				Description: firstOf(w.Description, firstOf(w.Title, w.Annotations.Title)),
				InputSchema: schema,
				Effect:      w.effect(),
				Origin:      w.Name,
			},
		})
	}
	return tools
}
