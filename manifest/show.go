package manifest

import (
	"math/big"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxClause is the length in characters to which a long text is cut that does not
// end its first clause before.
const maxClause = 80

// show renders a value of the setting in a few words. An unset value is empty.
func (s *Setting) show(value any, host Host) string {
	if isUnset(value) {
		return ""
	}
	if list, ok := elements(value); ok {
		return s.showList(list, host)
	}
	switch v := value.(type) {
	case string:
		return s.showText(v, host)
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	if n, ok := number(value); ok {
		return plainDecimal(n)
	}
	return ""
}

// maxDigits is how long a number is written out before it gets an exponent.
const maxDigits = 40

func plainDecimal(n *big.Float) string {
	if exponent := n.MantExp(nil); exponent > 4*maxDigits || exponent < -4*maxDigits {
		return n.Text('g', 10)
	}
	if text := n.Text('f', -1); len(text) <= maxDigits {
		return text
	}
	return n.Text('g', 10)
}

func (s *Setting) showText(text string, host Host) string {
	switch s.Widget {
	case WidgetSelect:
		if label := s.OptionLabels[text]; label != "" {
			return label
		}
		return text
	case WidgetModel, WidgetVoice, WidgetAgents, WidgetKnowledgeBases:
		return host.name(s.Widget, text)
	case WidgetPrompt, WidgetTextarea:
		return firstClause(arrows(text))
	default:
		return arrows(text)
	}
}

// showList joins the entries that can be shown in words.
func (s *Setting) showList(list []any, host Host) string {
	var words []string
	for _, entry := range list {
		if word := s.show(entry, host); word != "" {
			words = append(words, word)
		}
	}
	switch len(words) {
	case 0:
		return ""
	case 1:
		return words[0]
	default:
		return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
	}
}

// arrows shows references to other steps, such as {{tutor.pictures}}, in the form
// "tutor → pictures".
func arrows(text string) string {
	return referencePattern().ReplaceAllString(text, "$1 → $2")
}

func referencePattern() *regexp.Regexp {
	return regexp.MustCompile(`\{\{\s*([\w-]+)\.([\w.-]+)\s*\}\}`)
}

// firstClause cuts a text after its first clause: at a line's end or before a
// punctuation mark that ends a clause. A full stop inside a number or a name ends
// nothing.
func firstClause(text string) string {
	text = strings.TrimSpace(text)
	for i, r := range text {
		if r == '\n' {
			return shorten(strings.TrimSpace(text[:i]))
		}
		if i > 0 && strings.ContainsRune(".;:!?", r) {
			next, _ := utf8.DecodeRuneInString(text[i+1:])
			if i+1 == len(text) || unicode.IsSpace(next) {
				return shorten(text[:i])
			}
		}
	}
	return shorten(text)
}

// shorten cuts a text at the end of a word.
func shorten(text string) string {
	runes := []rune(text)
	if len(runes) <= maxClause {
		return text
	}
	cut := string(runes[:maxClause])
	if space := strings.LastIndexByte(cut, ' '); space > 0 {
		cut = cut[:space]
	}
	return strings.TrimRight(cut, " ,") + "…"
}
