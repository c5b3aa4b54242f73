package workflow

import (
	"embed"
	"encoding/json"
	"fmt"
	"strings"
	"text/template"
	"unicode/utf8"

	"github.com/treadle-dev/treadle/agent"
)

//go:embed prompts/*.md
var promptFiles embed.FS

// prompts are the texts that steps send.
type prompts struct {
	system        string
	step          *template.Template
	repair        *template.Template
	verdictSystem string
	verdict       *template.Template
}

func parsePrompts() (*prompts, error) {
	all, err := template.New("").Funcs(template.FuncMap{"fence": fence}).ParseFS(promptFiles, "prompts/*.md")
	if err != nil {
		return nil, err
	}
	p := &prompts{step: all.Lookup("step.md"), repair: all.Lookup("repair.md"), verdict: all.Lookup("verdict.md")}
	if p.system, err = render(all.Lookup("system.md"), nil); err != nil {
		return nil, err
	}
	if p.verdictSystem, err = render(all.Lookup("verdict_system.md"), nil); err != nil {
		return nil, err
	}
	return p, nil
}

// fence is a Markdown fence that does not occur in the text.
func fence(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks
}

// stepPrompt is the data of step.md.
type stepPrompt struct {
	ID, Title, NextTitle string
	Position, Steps      int
	Description          string
	WorkDir              string
	Outputs              []string // paths for tools
	Inputs               []gathered
	Write, Read          string // lists of what the tools may touch; empty when no tool asks
	Without              string // list of the servers that are not there
	Schema               string // indented JSON, or empty
	Earlier              string // a line for each step, or empty
}

// repairPrompt is the data of repair.md.
type repairPrompt struct {
	Attempt, Left int
	Feedback      string
}

// Limits, in bytes, of what a prompt shows of earlier steps' results: of each,
// and of the last one.
const (
	maxEarlierResult = 200
	maxLastResult    = 2000
)

// messages are the first messages of a step's conversation.
func (sc *StepContext) messages(tools *stepTools) ([]agent.Message, error) {
	data, err := sc.promptData()
	if err != nil {
		return nil, err
	}
	data.Without = list(tools.without)
	if tools.guarded {
		data.Write, data.Read = list(sc.toolPaths(tools.guard.Write)), list(sc.toolPaths(tools.guard.Read))
	}
	text, err := render(sc.run.ctl.prompts.step, data)
	if err != nil {
		return nil, err
	}
	return []agent.Message{agent.SystemMessage(sc.run.ctl.prompts.system), agent.UserMessage(text)}, nil
}

func (sc *StepContext) promptData() (*stepPrompt, error) {
	base := sc.step.Base()
	description, missing := sc.run.vars.Expand(base.Description)
	if len(missing) > 0 {
		return nil, fmt.Errorf("variables without a value in the description: %s", strings.Join(missing, ", "))
	}
	workDir, err := sc.WorkDir()
	if err != nil {
		return nil, err
	}
	inputs, err := sc.gather(sc.run.ctx)
	if err != nil {
		return nil, err
	}
	data := &stepPrompt{
		ID: sc.step.id, Title: sc.titleOf(sc.step), Position: sc.step.position, Steps: len(sc.run.program.steps),
		Description: strings.TrimSpace(description), WorkDir: sc.toolPath(workDir), Inputs: inputs,
		Earlier: sc.run.walk.earlier(),
	}
	if next := sc.step.next; next >= 0 {
		following := sc.run.program.steps[next]
		if data.NextTitle = sc.titleOf(following); data.NextTitle == "" {
			data.NextTitle = following.id
		}
	}
	for _, output := range sc.outputs() {
		data.Outputs = append(data.Outputs, sc.toolPath(workDir+"/"+output))
	}
	if sc.step.schema != nil && sc.step.checker != nil {
		schema, err := json.MarshalIndent(sc.step.schema, "", "  ")
		if err != nil {
			return nil, err
		}
		data.Schema = string(schema)
	}
	return data, nil
}

func (sc *StepContext) toolPaths(names []string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = sc.toolPath(name)
	}
	return paths
}

// titleOf is the title of a step with its variables.
func (sc *StepContext) titleOf(s *compiledStep) string {
	title, _ := sc.run.vars.Expand(s.Base().Title)
	return title
}

// list is a Markdown list.
func list(items []string) string {
	if len(items) == 0 {
		return ""
	}
	return "- " + strings.Join(items, "\n- ")
}

// outputs are the names of the files that the step is to produce.
func (sc *StepContext) outputs() []string {
	declared := sc.step.Base().ContextOutput
	names := make([]string, len(declared))
	for i, name := range declared {
		names[i], _ = sc.run.vars.Expand(name)
	}
	return names
}

// earlier lists, a line each, what the steps completed so far have reported.
func (w *walk) earlier() string {
	var b strings.Builder
	b.Grow(len(w.results) * maxEarlierResult / 2)
	for i, r := range w.results {
		text := r.text
		if i < len(w.results)-1 {
			text = cut(text, maxEarlierResult)
		}
		b.WriteString("- " + r.step + ": " + text + "\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oneLine joins the lines of a text and cuts it to a number of bytes.
func oneLine(text string, limit int) string {
	return cut(strings.Join(strings.Fields(text), " "), limit)
}

// cut shortens a text to a number of bytes, at the start of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

func render(t *template.Template, data any) (string, error) {
	var b strings.Builder
	b.Grow(4 << 10) // most prompts fit
	if err := t.Execute(&b, data); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}
