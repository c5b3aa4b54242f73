package mcp

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// wireResult is the result of tools/call. It is read from the raw answer because
// servers leave out what the protocol asks for, such as content beside structured
// content, and one odd block must not lose the rest.
type wireResult struct {
	Content    json.RawMessage `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
	ResultType string          `json:"resultType"`
}

// block is one piece of content, of any type.
type block struct {
	Type        string    `json:"type"`
	Text        string    `json:"text"`
	Data        string    `json:"data"`
	MediaType   string    `json:"mimeType"`
	URI         string    `json:"uri"`
	Name        string    `json:"name"`
	Title       string    `json:"title"`
	Description string    `json:"description"`
	Resource    *resource `json:"resource"`
}

type resource struct {
	URI       string  `json:"uri"`
	MediaType string  `json:"mimeType"`
	Text      *string `json:"text"`
	Blob      *string `json:"blob"`
}

// toolResult reads the answer to a call. What the body says is passed on as it
// is: only isError makes a result a failure.
func toolResult(raw json.RawMessage) (*agent.ToolResult, error) {
	var wire wireResult
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, fmt.Errorf("the answer is not a tool result: %w", err)
	}
	if wire.ResultType == "input_required" {
		return nil, fmt.Errorf("the tool asks for input in the middle of a call, which is not supported")
	}
	result := &agent.ToolResult{IsError: wire.IsError, Content: contentParts(wire.Content)}
	if !isNull(wire.Structured) {
		var compact bytes.Buffer
		if err := json.Compact(&compact, wire.Structured); err != nil {
			return nil, fmt.Errorf("the structured content: %w", err)
		}
		result.Structured = compact.Bytes()
		if len(result.Content) == 0 {
			result.Content = agent.Text(compact.String())
		}
	}
	return result, nil
}

// contentParts reads the list of blocks; a single one, or bare text, is taken as a
// list of one.
func contentParts(raw json.RawMessage) []agent.Part {
	if isNull(raw) {
		return nil
	}
	var blocks []json.RawMessage
	if json.Unmarshal(raw, &blocks) != nil {
		blocks = []json.RawMessage{raw}
	}
	parts := make([]agent.Part, 0, len(blocks))
	for _, b := range blocks {
		parts = append(parts, contentPart(b))
	}
	if len(parts) == 0 {
		return nil
	}
	return parts
}

func contentPart(raw json.RawMessage) agent.Part {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return agent.Part{Type: agent.PartText, Text: text}
	}
	var b block
	if json.Unmarshal(raw, &b) != nil {
		return verbatim(raw)
	}
	switch b.Type {
	case "text":
		return agent.Part{Type: agent.PartText, Text: b.Text}
	case "image", "audio":
		return media(raw, b.Data, b.MediaType, "")
	case "resource_link":
		return link(&b)
	case "resource":
		return embedded(raw, b.Resource)
	}
	return verbatim(raw)
}

// verbatim shows the model a block that is not understood, rather than nothing.
func verbatim(raw json.RawMessage) agent.Part {
	return agent.Part{Type: agent.PartText, Text: string(raw)}
}

func media(raw json.RawMessage, data, mediaType, uri string) agent.Part {
	decoded, err := decodeBase64(data)
	if err != nil {
		return verbatim(raw)
	}
	if mediaType == "" {
		mediaType = http.DetectContentType(decoded)
	}
	part := agent.Part{Type: agent.PartFile, MediaType: mediaType, Data: decoded, URI: uri}
	switch major, _, _ := strings.Cut(mediaType, "/"); major {
	case "image":
		part.Type = agent.PartImage
	case "audio":
		part.Type = agent.PartAudio
	}
	return part
}

func embedded(raw json.RawMessage, res *resource) agent.Part {
	switch {
	case res == nil:
		return verbatim(raw)
	case res.Text != nil:
		return agent.Part{Type: agent.PartText, Text: *res.Text, MediaType: res.MediaType, URI: res.URI}
	case res.Blob != nil:
		return media(raw, *res.Blob, res.MediaType, res.URI)
	}
	return verbatim(raw)
}

// link is text with a URI: a model that cannot follow links still reads what lies
// there.
func link(b *block) agent.Part {
	var text strings.Builder
	text.WriteString("[resource]")
	for _, word := range []string{firstOf(b.Title, b.Name), "<" + b.URI + ">"} {
		if word != "" {
			text.WriteString(" " + word)
		}
	}
	if b.MediaType != "" {
		text.WriteString(" (" + b.MediaType + ")")
	}
	if b.Description != "" {
		text.WriteString(": " + b.Description)
	}
	return agent.Part{Type: agent.PartText, Text: text.String(), MediaType: b.MediaType, URI: b.URI}
}

func firstOf(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// decodeBase64 also takes the forms that servers send by mistake: wrapped lines,
// no padding, the URL alphabet.
func decodeBase64(s string) ([]byte, error) {
	s = strings.NewReplacer("\n", "", "\r", "", " ", "", "-", "+", "_", "/", "=", "").Replace(s)
	return base64.RawStdEncoding.DecodeString(s)
}
