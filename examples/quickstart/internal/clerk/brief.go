package clerk

import (
	"errors"
	"path"
	"regexp"
	"strings"

	"github.com/treadle-dev/treadle/agent"
)

// brief is what the clerk takes from a step's prompt. Paths are as the prompt
// writes them.
type brief struct {
	step          string
	workFolder    string
	output        string // the file to write, with its folder
	inputs        []string
	invoiceFolder string
	ledger        string
}

// readBrief takes everything it needs from the prompt's own lines: a label, a
// colon, a value, perhaps with Markdown around it. It is the one place that knows
// how prompts look.
func readBrief(prompt string) (brief, error) {
	b := brief{
		step:          field(prompt, "Step"),
		workFolder:    field(prompt, "Work folder"),
		output:        field(prompt, "Output file"),
		invoiceFolder: field(prompt, "Invoice folder"),
		ledger:        field(prompt, "Ledger"),
		inputs:        listBelow(prompt, "Inputs"),
	}
	switch {
	case b.step == "":
		return b, errors.New(`the prompt has no line "Step: ..."`)
	case b.workFolder == "":
		return b, errors.New(`the prompt has no line "Work folder: ..."`)
	case b.output == "":
		return b, errors.New(`the prompt has no line "Output file: ..."`)
	}
	if !strings.HasPrefix(b.output, b.workFolder) {
		b.output = path.Join(b.workFolder, b.output)
	}
	return b, nil
}

func field(prompt, label string) string {
	m := regexp.MustCompile("(?mi)^[\\s>*#-]*" + label + "[*]*:[*]*[ \t]+(.+)$").FindStringSubmatch(prompt)
	if m == nil {
		return ""
	}
	return unquoted(m[1])
}

// listBelow returns the "- path" lines under a heading, up to the next heading or
// other text.
func listBelow(prompt, heading string) []string {
	var out []string
	inside := false
	for line := range strings.Lines(prompt) {
		line = strings.TrimSpace(line)
		item, isItem := strings.CutPrefix(line, "- ")
		switch {
		case strings.EqualFold(strings.Trim(line, "#*: "), heading):
			inside = true
		case inside && isItem:
			out = append(out, unquoted(item))
		case inside && line != "" && len(out) > 0:
			return out
		}
	}
	return out
}

var afterwords = regexp.MustCompile(`\s+\(from step [^)]*\)$`)

// unquoted is a value without what prompts put around paths: backquotes, and what
// is told about it after it.
func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutPrefix(s, "`"); ok {
		inner, _, _ := strings.Cut(rest, "`")
		return inner
	}
	return strings.Trim(afterwords.ReplaceAllString(s, ""), `"'`)
}

// input returns the path of an input by its file name.
func (b *brief) input(name string) (string, error) {
	for _, in := range b.inputs {
		if path.Base(in) == name {
			return in, nil
		}
	}
	return "", errors.New("the prompt names no input " + name)
}

// promptOf is what the step was told before the first reply.
func promptOf(messages []agent.Message) string {
	var texts []string
	for i := range messages {
		if messages[i].Role == agent.RoleAssistant {
			break
		}
		texts = append(texts, messages[i].ContentText())
	}
	return strings.Join(texts, "\n")
}
