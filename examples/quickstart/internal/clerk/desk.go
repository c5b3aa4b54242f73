package clerk

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// Names of the tools that the clerk asks for.
const (
	listTool  = "list_directory"
	readTool  = "read_text_file"
	writeTool = "write_file"
)

// readsPerTurn is how many files the clerk asks for at once.
const readsPerTurn = 8

// desk is everything that lies before the clerk in one turn: the brief, the tools,
// and what the tools have answered so far in the conversation.
type desk struct {
	brief    brief
	offered  []string
	answers  map[string]answer // by tool and path
	feedback string            // what was said to the clerk after its first closing words
}

type answer struct {
	text   string
	failed bool
}

func newDesk(req *agent.Request) (*desk, error) {
	b, err := readBrief(promptOf(req.Messages))
	if err != nil {
		return nil, err
	}
	d := &desk{brief: b, answers: map[string]answer{}}
	for _, t := range req.Tools {
		d.offered = append(d.offered, t.Name)
	}
	d.replay(req.Messages)
	return d, nil
}

// replay reads the conversation. Feedback voids earlier writes and failures: what
// was wrong must be done again; what was read stays read.
func (d *desk) replay(messages []agent.Message) {
	asked := map[string]string{} // call id to key
	started := false
	for i := range messages {
		m := &messages[i]
		switch m.Role {
		case agent.RoleAssistant:
			started = true
			for _, c := range m.ToolCalls {
				asked[c.ID] = keyOf(c)
			}
		case agent.RoleTool:
			if key, ok := asked[m.ToolCallID]; ok {
				d.answers[key] = answer{text: m.ContentText(), failed: m.IsError}
			}
		case agent.RoleUser:
			if started {
				d.feedback += m.ContentText() + "\n"
				d.voidWrites()
			}
		}
	}
}

func (d *desk) voidWrites() {
	for key, a := range d.answers {
		if a.failed || strings.HasPrefix(key, writeTool+" ") {
			delete(d.answers, key)
		}
	}
}

func keyOf(c agent.ToolCall) string {
	var args struct {
		Path string `json:"path"`
	}
	// Arguments that do not parse are not the clerk's own and match no key.
	_ = json.Unmarshal(c.Arguments, &args)
	tool := c.Name
	if _, after, ok := strings.Cut(tool, "__"); ok {
		tool = after
	}
	return tool + " " + args.Path
}

// fetch returns the answers to one tool for several paths. While some are missing
// it returns the calls to make instead.
func (d *desk) fetch(tool string, paths ...string) (texts []string, calls []toolCall, err error) {
	for _, p := range paths {
		a, ok := d.answers[tool+" "+p]
		switch {
		case !ok && len(calls) < readsPerTurn:
			calls = append(calls, toolCall{tool: tool, args: map[string]string{"path": p}})
		case ok && a.failed:
			return nil, nil, fmt.Errorf("%s of %s: %s", tool, p, a.text)
		}
		texts = append(texts, a.text)
	}
	return texts, calls, nil
}

// file is something to write.
type file struct{ path, content string }

// put writes files, then closes with words.
func (d *desk) put(words string, files ...file) (move, error) {
	var calls []toolCall
	for _, f := range files {
		a, ok := d.answers[writeTool+" "+f.path]
		if ok && a.failed {
			return move{}, fmt.Errorf("%s of %s: %s", writeTool, f.path, a.text)
		}
		if !ok {
			calls = append(calls, toolCall{tool: writeTool, args: map[string]string{"path": f.path, "content": f.content}})
		}
	}
	if len(calls) > 0 {
		return move{calls: calls}, nil
	}
	return move{words: words}, nil
}

// filesIn reads a listing: one entry a line, [FILE] or [DIR] before its name.
func filesIn(folder, listing string) []string {
	var out []string
	for line := range strings.Lines(listing) {
		if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "[FILE] "); ok {
			out = append(out, path.Join(folder, name))
		}
	}
	return out
}
