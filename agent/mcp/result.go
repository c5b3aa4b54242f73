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

// resultReader reads one answer to a call and notes what is odd about it.
type resultReader struct {
	notes []string
}

// toolResult reads the answer to a call. What the body says is passed on as it is:
// only isError makes a result a failure. The notes say what the server should not
// have sent.
func toolResult(raw json.RawMessage) (_ *agent.ToolResult, notes []string, err error) {
	r := &resultReader{}
	result, err := r.read(raw)
	return result, r.notes, err
}

func (r *resultReader) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *resultReader) read(raw json.RawMessage) (*agent.ToolResult, error) {
	if isArray(raw) { // a program's own list, in place of the result that holds it
		r.note("answers with an array in place of a result; it is taken for the content")
		return &agent.ToolResult{Content: r.parts(raw)}, nil
	}
	var wire wireResult
	if err := json.Unmarshal(raw, &wire); err != nil {
		return nil, fmt.Errorf("the answer is not a tool result: %w", err)
	}
	if wire.ResultType == "input_required" {
		return nil, fmt.Errorf("the tool asks for input in the middle of a call, which is not supported")
	}
	result := &agent.ToolResult{IsError: wire.IsError, Content: r.parts(wire.Content)}
	if !isNull(wire.Structured) {
		if !isObject(wire.Structured) {
			r.note("returns structured content that is %s; the protocol wants an object", jsonKind(wire.Structured))
		}
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

// parts reads the list of blocks; a single one, or bare text, is taken as a list
// of one. Whom a block is annotated for makes no difference: what is meant for the
// user alone has nowhere else to go, and is worth having in the logs.
func (r *resultReader) parts(raw json.RawMessage) []agent.Part {
	if isNull(raw) {
		return nil
	}
	blocks := []json.RawMessage{raw}
	if isArray(raw) {
		blocks = nil
		_ = json.Unmarshal(raw, &blocks) // it was decoded as a RawMessage, so it is valid
	}
	parts := make([]agent.Part, 0, len(blocks))
	for _, b := range blocks {
		parts = append(parts, r.part(b))
	}
	if len(parts) == 0 {
		return nil
	}
	return parts
}

func (r *resultReader) part(raw json.RawMessage) agent.Part {
	if isString(raw) {
		return agent.Part{Type: agent.PartText, Text: textOf(raw)}
	}
	var b block
	if json.Unmarshal(raw, &b) != nil {
		return r.verbatim(raw, "content that is not of the protocol's form")
	}
	switch b.Type {
	case "text":
		return agent.Part{Type: agent.PartText, Text: b.Text}
	case "image", "audio":
		return r.media(raw, b.Type, b.Data, b.MediaType, "")
	case "resource_link":
		return link(&b)
	case "resource":
		return r.embedded(raw, b.Resource)
	case "":
		return r.verbatim(raw, "content without a type")
	}
	return r.verbatim(raw, fmt.Sprintf("content of the unknown type %.40q", b.Type))
}

// verbatim shows the model a block that is not understood, rather than nothing.
func (r *resultReader) verbatim(raw json.RawMessage, what string) agent.Part {
	r.note("returns %s; it is passed on as JSON text", what)
	return agent.Part{Type: agent.PartText, Text: "[" + what + ", as received] " + string(raw)}
}

// media decodes what is not text. Data that cannot be decoded is of no use to
// anyone, and is not shown where it is long.
func (r *resultReader) media(raw json.RawMessage, kind, data, mediaType, uri string) agent.Part {
	decoded, err := decodeBase64(data)
	switch {
	case err != nil && len(raw) <= maxOddMedia:
		return r.verbatim(raw, kind+" content whose data is not base64")
	case err != nil:
		what := fmt.Sprintf("%s content whose data is not base64", kind)
		r.note("returns %s; it is left out", what)
		return agent.Part{Type: agent.PartText, Text: fmt.Sprintf("[%s: %d characters left out]", what, len(data))}
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

// maxOddMedia is the length in bytes up to which media that cannot be decoded is
// shown.
const maxOddMedia = 1 << 10

func (r *resultReader) embedded(raw json.RawMessage, res *resource) agent.Part {
	switch {
	case res != nil && res.Text != nil:
		return agent.Part{Type: agent.PartText, Text: *res.Text, MediaType: res.MediaType, URI: res.URI}
	case res != nil && res.Blob != nil:
		return r.media(raw, "resource", *res.Blob, res.MediaType, res.URI)
	}
	return r.verbatim(raw, "a resource without text or blob")
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
