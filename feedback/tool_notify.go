package feedback

import (
	"context"
	_ "embed"
	"encoding/json"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

//go:embed prompts/notify_user.md
var notifyPrompt string

type notifyArguments struct {
	Message         string     `json:"message_for_user"`
	Kind            NoticeKind `json:"kind"`
	Title           string     `json:"slack_title"`
	Color           Color      `json:"color"`
	Fields          []Field    `json:"fields"`
	Sections        []Section  `json:"sections"`
	Footer          string     `json:"footer"`
	EmailSubject    string     `json:"email_subject"`
	EmailBody       string     `json:"email_body"`
	EmailHTML       string     `json:"email_html"`
	ExcludeChannels []string   `json:"exclude_channels"`
	BlockRecipients []string   `json:"block_recipients"`
}

func (s *session) notifyTool() agent.Tool {
	text := func(limit int, description string) map[string]any {
		return map[string]any{"type": "string", "maxLength": limit, "description": description}
	}
	list := func(limit int, items map[string]any, description string) map[string]any {
		schema := map[string]any{"type": "array", "items": items, "description": description}
		if limit > 0 {
			schema["maxItems"] = limit
		}
		return schema
	}
	parts := func(required []string, names ...string) map[string]any {
		properties := map[string]any{}
		for _, name := range names {
			properties[name] = map[string]any{"type": "string"}
		}
		return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	}
	names := map[string]any{"type": "string"}
	return &tool[notifyArguments]{session: s, do: s.notify, spec: agent.ToolSpec{
		Name: NotifyTool, Description: strings.TrimSpace(notifyPrompt), Effect: agent.Reentrant,
		InputSchema: objectSchema([]string{"message_for_user"}, map[string]any{
			"message_for_user": map[string]any{"type": "string", "minLength": 1, "maxLength": MaxText, "description": "What people should know."},
			"kind": map[string]any{
				"type": "string", "enum": []NoticeKind{NoticeGeneral, NoticeRun, NoticePulse},
				"description": "What it is about; general by default.",
			},
			"slack_title": text(MaxTitle, "A short heading."),
			"color": map[string]any{
				"type": "string", "enum": []Color{Neutral, Success, Warning, Danger},
				"description": "The tone; neutral by default.",
			},
			"fields":           list(MaxFields, parts([]string{"title", "value"}, "title", "value"), "Short facts with their names."),
			"sections":         list(MaxSections, parts([]string{"text"}, "title", "text"), "Longer passages, each with a heading if it needs one."),
			"footer":           text(MaxTitle, "A last line in small print."),
			"email_subject":    text(MaxTitle, "The subject where it is sent as mail."),
			"email_body":       text(MaxText, "The plain text of the mail, in place of the message."),
			"email_html":       text(MaxText, "The mail in HTML, with inline styles only."),
			"exclude_channels": list(0, names, "Channels that must not be used."),
			"block_recipients": list(0, names, "People who must not get it."),
		}),
	}}
}

// notify tells people under the key of the call, so that a call which is repeated after
// a crash tells nobody twice.
func (s *session) notify(ctx context.Context, args notifyArguments, call *agent.ToolCall) (*agent.ToolResult, error) {
	in, err := s.inbox()
	if err != nil {
		return nil, err
	}
	n := &Notification{
		Key: s.scope.RunID + "/" + call.Key, Kind: args.Kind,
		RunID: s.scope.RunID, Run: s.scope.RunFolder, Group: s.scope.Group, Step: s.scope.Step,
		Title: args.Title, Text: args.Message, Color: args.Color, Fields: args.Fields, Sections: args.Sections, Footer: args.Footer,
		ExcludeChannels: args.ExcludeChannels, BlockRecipients: args.BlockRecipients,
	}
	if n.Kind == "" {
		n.Kind = NoticeGeneral
	}
	if args.EmailSubject != "" || args.EmailBody != "" || args.EmailHTML != "" {
		n.Email = &Email{Subject: args.EmailSubject, Body: args.EmailBody, HTML: args.EmailHTML}
	}
	receipt, err := in.Notify(ctx, n)
	if err != nil {
		return unanswered(err)
	}
	text, err := json.Marshal(receipt)
	if err != nil {
		return nil, err
	}
	return &agent.ToolResult{Content: agent.Text(string(text)), Structured: text, IsError: receipt.Status == Failed}, nil
}
