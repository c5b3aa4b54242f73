// Package clerk is a rule-based [agent.LLM] for the quickstart: it plays an
// accounts clerk without any model behind it. It knows labels, number formats and
// month names of three languages, and nothing of a particular folder: what it
// works on it reads through the tools of the request, turn by turn, from the
// conversation that it is sent. It keeps no state between calls.
package clerk

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// Name is the model's name in usage and logs.
const Name = "rule-based-clerk"

// BytesPerToken is the rule by which the clerk counts tokens: a token is four
// bytes of text, names, arguments and tool schemas, rounded up for each message.
const BytesPerToken = 4

// Model is the rule-based model. The zero value is ready; it is safe for
// concurrent use.
type Model struct{}

var _ agent.LLM = Model{}

// player does one turn of one kind of step.
type player func(d *desk) (move, error)

// move is either tool calls or, without any, the closing words.
type move struct {
	calls []toolCall
	words string
}

type toolCall struct {
	tool string // the tool's own name, such as read_text_file
	args map[string]string
}

// Generate does the next turn of the step that the conversation is about. A
// conversation that it cannot play is an error that says why.
func (Model) Generate(ctx context.Context, req *agent.Request, sink agent.Sink) (*agent.Response, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	msg, err := reply(req)
	if err != nil {
		return nil, &agent.ModelError{Provider: "quickstart", Model: Name, Message: err.Error(), Err: err}
	}
	if sink != nil {
		tell(sink, msg)
	}
	finish := agent.FinishStop
	if len(msg.ToolCalls) > 0 {
		finish = agent.FinishToolCalls
	}
	return &agent.Response{
		ID:      fmt.Sprintf("clerk-%d", len(req.Messages)),
		Model:   Name,
		Message: msg,
		Finish:  finish,
		Usage:   countUsage(req, &msg),
	}, nil
}

func reply(req *agent.Request) (agent.Message, error) {
	d, err := newDesk(req)
	if err != nil {
		return agent.Message{}, err
	}
	play, ok := map[string]player{"normalise": normalise, "reconcile": reconcile, "report": report}[d.brief.step]
	if !ok {
		return agent.Message{}, fmt.Errorf("the rule-based clerk plays the steps normalise, reconcile and report, not %q; set OPENAI_API_KEY or OPENAI_BASE_URL to run other steps", d.brief.step)
	}
	m, err := play(d)
	if err != nil {
		// What stands in the way belongs to the step, not to the model: say it and
		// let validation judge.
		m = move{words: "I could not finish: " + err.Error()}
	}
	return d.message(m, len(req.Messages))
}

func (d *desk) message(m move, position int) (agent.Message, error) {
	msg := agent.Message{Role: agent.RoleAssistant}
	if m.words != "" {
		msg.Content = agent.Text(m.words)
	}
	for i, c := range m.calls {
		name, err := d.toolName(c.tool)
		if err != nil {
			return agent.Message{}, err
		}
		args, err := json.Marshal(c.args)
		if err != nil {
			return agent.Message{}, err
		}
		msg.ToolCalls = append(msg.ToolCalls, agent.ToolCall{ID: fmt.Sprintf("call_%d_%d", position, i), Name: name, Arguments: args})
	}
	return msg, nil
}

func tell(sink agent.Sink, msg agent.Message) {
	if text := msg.ContentText(); text != "" {
		sink(agent.Delta{Attempt: 1, Text: text})
	}
	for _, c := range msg.ToolCalls {
		sink(agent.Delta{Attempt: 1, ToolName: c.Name})
	}
}

func countUsage(req *agent.Request, msg *agent.Message) agent.Usage {
	var sent int64
	for i := range req.Messages {
		sent += messageTokens(&req.Messages[i])
	}
	for _, t := range req.Tools {
		sent += tokens(len(t.Name) + len(t.Description) + len(t.InputSchema))
	}
	return agent.Usage{Input: agent.Tokens(sent), Output: agent.Tokens(messageTokens(msg))}
}

func messageTokens(m *agent.Message) int64 {
	n := len(m.ContentText())
	for _, c := range m.ToolCalls {
		n += len(c.Name) + len(c.Arguments)
	}
	return tokens(n)
}

func tokens(bytes int) int64 { return int64(bytes+BytesPerToken-1) / BytesPerToken }

// toolName finds the name under which the request offers a tool: servers' tools
// are prefixed, as in files__read_text_file.
func (d *desk) toolName(tool string) (string, error) {
	for _, name := range d.offered {
		if name == tool || strings.HasSuffix(name, "__"+tool) {
			return name, nil
		}
	}
	return "", fmt.Errorf("the request offers no tool %s; it offers %s", tool, strings.Join(d.offered, ", "))
}
