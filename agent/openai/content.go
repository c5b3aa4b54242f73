package openai

import (
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// wireContent is a user message's content: a string when it is all text, since
// some servers take nothing else, and a list of parts otherwise.
func wireContent(msg *agent.Message) (any, error) {
	onlyText := true
	for _, part := range msg.Content {
		onlyText = onlyText && part.Type == agent.PartText
	}
	if onlyText {
		return msg.ContentText(), nil
	}
	parts := make([]any, 0, len(msg.Content))
	for i := range msg.Content {
		part, err := wirePart(&msg.Content[i])
		if err != nil {
			return nil, err
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// toolAttachments are the parts of a tool result that are not text, introduced by
// a line that says where they come from.
func toolAttachments(msg *agent.Message) ([]any, error) {
	var parts []any
	for i := range msg.Content {
		if msg.Content[i].Type == agent.PartText {
			continue
		}
		part, err := wirePart(&msg.Content[i])
		if err != nil {
			return nil, err
		}
		if parts == nil {
			parts = append(parts, textPart(fmt.Sprintf("Returned by the tool %s (call %s):", msg.ToolName, msg.ToolCallID)))
		}
		parts = append(parts, part)
	}
	return parts, nil
}

func textPart(text string) map[string]any { return map[string]any{"type": "text", "text": text} }

func wirePart(part *agent.Part) (map[string]any, error) {
	switch part.Type {
	case agent.PartText:
		return textPart(part.Text), nil
	case agent.PartImage:
		address := part.URI
		if len(part.Data) > 0 {
			address = dataURL(part, "image/png")
		}
		if address == "" {
			return nil, fmt.Errorf("an image part has neither data nor a URI")
		}
		return map[string]any{"type": "image_url", "image_url": map[string]any{"url": address}}, nil
	case agent.PartAudio:
		if len(part.Data) == 0 {
			return nil, fmt.Errorf("an audio part has no data; the endpoint takes no audio by URI")
		}
		return map[string]any{"type": "input_audio", "input_audio": map[string]any{
			"data": base64.StdEncoding.EncodeToString(part.Data), "format": audioFormat(part.MediaType),
		}}, nil
	case agent.PartFile:
		if len(part.Data) == 0 {
			return nil, fmt.Errorf("a file part has no data; the endpoint takes no file by URI")
		}
		name := part.URI[strings.LastIndex(part.URI, "/")+1:]
		if name == "" {
			name = "file"
		}
		return map[string]any{"type": "file", "file": map[string]any{
			"filename": name, "file_data": dataURL(part, "application/octet-stream"),
		}}, nil
	}
	return nil, fmt.Errorf("a part of type %q cannot be sent", part.Type)
}

func dataURL(part *agent.Part, mediaType string) string {
	if part.MediaType != "" {
		mediaType = part.MediaType
	}
	return "data:" + mediaType + ";base64," + base64.StdEncoding.EncodeToString(part.Data)
}

// audioFormat is the protocol's word for a media type, such as "wav" or "mp3".
func audioFormat(mediaType string) string {
	format := strings.TrimPrefix(mediaType[strings.LastIndex(mediaType, "/")+1:], "x-")
	switch format {
	case "", "wave":
		return "wav"
	case "mpeg":
		return "mp3"
	}
	return format
}
