package agent

import (
	"encoding/json"
	"strings"
)

// Role says who a message is from.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation. It is plain data: it survives JSON and
// can be compared by hash.
type Message struct {
	Role    Role   `json:"role"`
	Content []Part `json:"content,omitempty"`
	// ToolCalls are what an assistant message asks for, in the model's order.
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID and ToolName say which call a tool message answers.
	ToolCallID string `json:"tool_call_id,omitempty"`
	ToolName   string `json:"tool_name,omitempty"`
	// IsError marks a tool message whose call failed.
	IsError bool `json:"is_error,omitempty"`
	// Extra keeps what a provider wants back verbatim, by its own field names. Only
	// the backend that wrote it reads it.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// PartType tells what a [Part] holds.
type PartType string

// The kinds of content.
const (
	PartText  PartType = "text"
	PartImage PartType = "image"
	PartAudio PartType = "audio"
	PartFile  PartType = "file"
)

// Part is one piece of a message's content.
type Part struct {
	Type PartType `json:"type"`
	Text string   `json:"text,omitempty"`
	// MediaType and Data hold what is not text; Data is base64 in JSON.
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	// URI names content that lies elsewhere.
	URI string `json:"uri,omitempty"`
}

// Text returns one text part.
func Text(text string) []Part { return []Part{{Type: PartText, Text: text}} }

// SystemMessage returns a system message of one text.
func SystemMessage(text string) Message { return Message{Role: RoleSystem, Content: Text(text)} }

// UserMessage returns a user message of one text.
func UserMessage(text string) Message { return Message{Role: RoleUser, Content: Text(text)} }

// AssistantMessage returns an assistant message of one text.
func AssistantMessage(text string) Message {
	return Message{Role: RoleAssistant, Content: Text(text)}
}

// ContentText returns the text parts of a message, joined by newlines.
func (m *Message) ContentText() string { return partsText(m.Content) }

func partsText(parts []Part) string {
	if len(parts) == 1 && parts[0].Type == PartText {
		return parts[0].Text
	}
	var texts []string
	for _, p := range parts {
		if p.Type == PartText {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}
