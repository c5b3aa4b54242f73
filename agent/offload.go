package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/treadle-dev/treadle/workspace"
)

// DefaultOffloadTokens is the size, in tokens, above which tool output goes to a
// file. The figure is that of the systems whose workflows Treadle runs: large
// enough for an ordinary page or listing, small enough that a model with a window
// of 128,000 tokens survives ten of them.
const DefaultOffloadTokens = 10_000

// bytesPerToken is the usual rule of thumb for English text and for code: model
// vendors give about four characters a token. Text in other scripts takes more
// tokens a byte, so an estimate by it is a floor.
const bytesPerToken = 4

// EstimateTokens estimates the tokens of a text of n bytes, rounded up, at four
// bytes a token. It needs no tokenizer and is the same for every model.
func EstimateTokens(n int) int64 { return (int64(n) + bytesPerToken - 1) / bytesPerToken }

// Offload keeps large tool output out of the conversation: it goes to a file, and
// the model gets its head and tail, its size, and the way to look further, which
// is the tool of [Offload.Tool].
//
// A host's limits are the fields; Storage is required. It is safe for concurrent
// use.
type Offload struct {
	// Storage is where the files go. They are written [workspace.Lazy].
	Storage workspace.Storage
	// Folder is the name, in the storage, of the folder that holds them. It should
	// be the offload's own: whatever lies in it can be read with the tool. Empty is
	// "tool_output".
	Folder string
	// Threshold is the estimated size in tokens above which a result goes to a
	// file; see [EstimateTokens]. 0 is [DefaultOffloadTokens]; the least is 250, so
	// that the explanations around a preview fit.
	Threshold int
	// Show says how the model is told a file's name, for agents whose other tools
	// know it by another, such as its local path. Nil shows the name in the
	// storage.
	Show func(name string) string
	// Redact takes secrets out of what is written and shown. It may be nil.
	Redact func(text string) string
}

// OffloadedTool is the name of the tool that looks into offloaded output.
const OffloadedTool = "search_large_output"

const (
	defaultOffloadFolder = "tool_output"
	minOffloadTokens     = 250
)

func (o *Offload) folder() string {
	if o.Folder == "" {
		return defaultOffloadFolder
	}
	return o.Folder
}

// limit is the threshold in bytes.
func (o *Offload) limit() int {
	if o.Threshold <= 0 {
		return DefaultOffloadTokens * bytesPerToken
	}
	return max(o.Threshold, minOffloadTokens) * bytesPerToken
}

// previewBytes is how much of a text the model sees, half the threshold's number
// in characters: an eighth of what would have been let through.
func (o *Offload) previewBytes() int { return o.limit() / (2 * bytesPerToken) }

func (o *Offload) shown(name string) string {
	if o.Show == nil {
		return name
	}
	return o.Show(name)
}

// Result returns what the model is to see of a tool's result: the result itself
// when it is small, else one whose text is in a file. The given result is not
// changed. Media parts stay as they are. A structured result that repeats the text
// is dropped with it; one of its own gets its own file.
//
// The file's name depends on the key and the content alone, so that a call that is
// repeated writes the same file again. The key is the call's position, see
// [ToolCall.Key]. Errors are those of the storage.
func (o *Offload) Result(ctx context.Context, key string, result *ToolResult) (*ToolResult, error) {
	text := partsText(result.Content)
	largeText := len(text) > o.limit()
	largeStructured := len(result.Structured) > o.limit()
	if !largeText && !largeStructured {
		return result, nil
	}
	small := *result
	if largeText {
		preview, err := o.put(ctx, key, text)
		if err != nil {
			return nil, err
		}
		small.Content = replaceText(result.Content, preview)
		if len(result.Structured) > 0 && sameJSON(text, result.Structured) {
			small.Structured, largeStructured = nil, false
		}
	}
	if largeStructured {
		preview, err := o.put(ctx, key+"/structured", string(result.Structured))
		if err != nil {
			return nil, err
		}
		small.Structured = nil
		// The model has seen the content alone; now it is told of both.
		small.Content = append(slices.Clip(small.Content), Part{Type: PartText, Text: preview})
	}
	return &small, nil
}

// replaceText puts one text where the first text was and leaves the others out.
func replaceText(parts []Part, text string) []Part {
	replaced := make([]Part, 0, len(parts))
	done := false
	for _, p := range parts {
		switch {
		case p.Type != PartText:
			replaced = append(replaced, p)
		case !done:
			done = true
			replaced = append(replaced, Part{Type: PartText, Text: text})
		}
	}
	return replaced
}

// put writes the file and returns the preview.
func (o *Offload) put(ctx context.Context, key, text string) (string, error) {
	if o.Redact != nil {
		text = o.Redact(text)
	}
	isJSON := looksLikeJSON(text)
	content, indented := text, false
	if isJSON {
		content, indented = readableJSON(text)
	}
	name := o.folder() + "/" + offloadName(key, text, isJSON)
	if err := o.Storage.WriteFile(ctx, name, []byte(content), workspace.Lazy); err != nil {
		return "", fmt.Errorf("keep the large output of %s: %w", key, err)
	}
	return o.preview(o.shown(name), text, content, isJSON, indented), nil
}

func (o *Offload) preview(path, text, content string, isJSON, indented bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "[This output is too large to show: %d bytes, about %d tokens. All of it is in the file\n%s\n(%d lines", len(text), EstimateTokens(len(text)), path, countLines(content))
	switch {
	case indented:
		b.WriteString(" of JSON, indented for reading")
	case isJSON:
		b.WriteString(" of JSON")
	}
	fmt.Fprintf(&b, "). Look into it with %s: operation \"read\" for a range of lines, \"search\" for a regular expression", OffloadedTool)
	if isJSON {
		b.WriteString(", \"query\" for a JSONPath")
	}
	size := o.previewBytes()
	head, tail := headTail(content, size)
	fmt.Fprintf(&b, ".]\n[First %d bytes]\n%s\n[%d bytes left out]\n[Last %d bytes]\n%s", len(head), head, len(content)-len(head)-len(tail), len(tail), tail)
	return b.String()
}
