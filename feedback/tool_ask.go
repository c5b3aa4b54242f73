package feedback

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/treadle-dev/treadle/agent"
)

// How long people have for a question of human_feedback.
const (
	DefaultToolTimeout = 5 * time.Minute
	MinToolTimeout     = 30 * time.Second
	MaxToolTimeout     = 30 * time.Minute
)

//go:embed prompts/human_feedback.md
var askPrompt string

//go:embed prompts/human_feedback_secret.md
var secretPrompt string

type askArguments struct {
	Message  string   `json:"message_for_user"`
	UniqueID string   `json:"unique_id"`
	Options  []string `json:"options"`
	Timeout  int      `json:"timeout_seconds"`
	Secret   bool     `json:"secret"`
}

func (s *session) askTool() agent.Tool {
	description := strings.TrimSpace(askPrompt)
	properties := map[string]any{
		"message_for_user": map[string]any{
			"type": "string", "minLength": 1, "maxLength": MaxText,
			"description": "What the person is asked, with all that is needed to answer.",
		},
		"unique_id": map[string]any{
			"type": "string", "maxLength": MaxTitle,
			"description": "A name for this question, another one for each.",
		},
		"options": map[string]any{
			"type": "array", "maxItems": MaxOptions, "items": map[string]any{"type": "string"},
			"description": "The answers to choose from. Leave it out for a free answer.",
		},
		"timeout_seconds": map[string]any{
			"type": "integer", "minimum": int(MinToolTimeout.Seconds()), "maximum": int(MaxToolTimeout.Seconds()),
			"description": fmt.Sprintf("How long to wait for the answer; %d by default.", int(DefaultToolTimeout.Seconds())),
		},
	}
	if s.config.KeepSecret != nil {
		description += "\n\n" + strings.TrimSpace(secretPrompt)
		properties["secret"] = map[string]any{
			"type":        "boolean",
			"description": "Whether the answer is secret, such as a password or a one-time code.",
		}
	}
	return &tool[askArguments]{session: s, do: s.ask, spec: agent.ToolSpec{
		Name: AskTool, Description: description, Effect: agent.Reentrant,
		InputSchema: objectSchema([]string{"message_for_user", "unique_id"}, properties),
	}}
}

// ask asks under the key of the call, so that a call which is repeated after a crash
// finds its question.
func (s *session) ask(ctx context.Context, args askArguments, call *agent.ToolCall) (*agent.ToolResult, error) {
	in, err := s.inbox()
	if err != nil {
		return nil, err
	}
	q := &Question{
		Alias: args.UniqueID, RunID: s.scope.RunID, Run: s.scope.RunFolder, Group: s.scope.Group, Step: s.scope.Step,
		Key: call.Key, Text: args.Message, Options: args.Options, Timeout: DefaultToolTimeout,
	}
	if args.Timeout > 0 {
		q.Timeout = min(max(time.Duration(args.Timeout)*time.Second, MinToolTimeout), MaxToolTimeout)
	}
	asker := &Asker{Inbox: in, Leave: s.config.Leave(s.scope)}
	switch {
	case args.Secret:
		return s.askSecret(ctx, asker, q)
	case len(args.Options) > 0:
		q.Kind = KindChoice
	}
	e, err := asker.Ask(ctx, q)
	if err != nil {
		return unanswered(err)
	}
	return agent.TextResult(e.Answer.Value), nil
}

// askSecret gives the model a handle in the place of the answer.
func (s *session) askSecret(ctx context.Context, asker *Asker, q *Question) (*agent.ToolResult, error) {
	if s.config.KeepSecret == nil {
		return agent.ErrorResult("secret_not_possible: this host keeps no secrets, so none can be asked for. Do without, or ask the person to enter it where it is needed."), nil
	}
	e, value, err := asker.secret(ctx, q)
	if err != nil {
		return unanswered(err)
	}
	handle, err := s.config.KeepSecret(ctx, s.scope, e.ID, value)
	if err != nil {
		return nil, fmt.Errorf("keep the answer: %w", err)
	}
	return agent.TextResult("The person gave the answer. It stays hidden; where a tool needs it, write " + handle + " in its place."), nil
}

// unanswered turns an error that the model can do something about into a result that
// says what.
func unanswered(err error) (*agent.ToolResult, error) {
	var invalid *InvalidError
	var mismatch *MismatchError
	if errors.As(err, &invalid) || errors.As(err, &mismatch) {
		return agent.ErrorResult("invalid_arguments: " + err.Error()), nil
	}
	if noAnswer(err) {
		return agent.ErrorResult("no_answer: " + err.Error() + ". Go on without the answer if that is safe; ask again, with another unique_id, only if you must have it."), nil
	}
	return nil, err
}

// objectSchema gives an input schema as JSON.
func objectSchema(required []string, properties map[string]any) json.RawMessage {
	text, _ := json.Marshal(map[string]any{ // strings and numbers marshal
		"type": "object", "properties": properties, "required": required, "additionalProperties": false,
	})
	return text
}
