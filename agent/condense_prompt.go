package agent

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"
)

//go:embed prompts/condense.md
var condensePrompt string

//go:embed prompts/condensed.md
var condensedPrompt string

// wordBytes is about what a word of a summary takes.
const wordBytes = 7

// Request returns the messages of the model call that condenses the older part,
// or nil when there is none to condense. They fit the window. The call needs no
// tools.
func (p CondensePlan) Request() []Message {
	if len(p.old) == 0 {
		return nil
	}
	room := p.limit - len(condensePrompt) - p.summaryBytes()
	prompt := render(condensePrompt, struct {
		MaxWords   int
		Transcript string
	}{p.summaryBytes() / wordBytes, transcript(p.old, room)})
	return []Message{UserMessage(prompt)}
}

func renderCondensed(summary string) string {
	return strings.TrimSuffix(render(condensedPrompt, struct{ Summary string }{strings.TrimSpace(summary)}), "\n")
}

// render executes one of this package's own templates, which tests show to work.
func render(text string, data any) string {
	var b strings.Builder
	_ = template.Must(template.New("").Parse(text)).Execute(&b, data) // a Builder takes everything
	return b.String()
}

// transcript tells the messages as text of at most about room bytes: tool calls
// and results as such would need the tools' schemas, and would invite the model to
// go on calling.
func transcript(messages []Message, room int) string {
	entries := make([]string, 0, len(messages))
	sizes := make([]int, 0, len(messages))
	for i := range messages {
		for _, entry := range transcriptEntries(&messages[i]) {
			entries = append(entries, entry)
			sizes = append(sizes, len(entry))
		}
	}
	length := shareOf(sizes, room)
	var b strings.Builder
	for _, entry := range entries {
		b.WriteString(cutText(entry, length))
		b.WriteByte('\n')
	}
	if b.Len() > room && room > 0 {
		// Very many small entries: the middle gives way.
		return cutText(b.String(), room)
	}
	return b.String()
}

func shareOf(sizes []int, room int) int {
	total := len(sizes)
	for _, size := range sizes {
		total += size
	}
	if total <= room {
		return total
	}
	return commonLength(sizes, room-len(sizes))
}

func transcriptEntries(m *Message) []string {
	var entries []string
	if text := transcriptContent(m.Content); text != "" {
		entries = append(entries, transcriptLabel(m)+": "+text)
	}
	for _, call := range m.ToolCalls {
		entries = append(entries, fmt.Sprintf("assistant calls %s: %s", call.Name, call.Arguments))
	}
	return entries
}

func transcriptLabel(m *Message) string {
	switch {
	case m.Extra[condensedKey] != nil:
		return "condensed before"
	case m.Role == RoleTool && m.IsError:
		return "failed result of " + m.ToolName
	case m.Role == RoleTool:
		return "result of " + m.ToolName
	}
	return string(m.Role)
}

func transcriptContent(parts []Part) string {
	texts := make([]string, 0, len(parts))
	for _, part := range parts {
		switch part.Type {
		case PartText:
			texts = append(texts, part.Text)
		default:
			texts = append(texts, fmt.Sprintf("[%s %s, %d bytes]", part.Type, part.MediaType, len(part.Data)))
		}
	}
	// Nothing in the transcript may end it.
	return strings.ReplaceAll(strings.Join(texts, "\n"), "</older_conversation", "< /older_conversation")
}
