package openai

import "strings"

// thinkSplit takes the reasoning out of a text that opens with it in tags, such as
// "<think>…</think>", as servers without a reasoning parser leave it there. Tags
// further on are the text's own.
type thinkSplit struct {
	stage   thinkStage
	held    strings.Builder // what is not decided yet
	tag     string
	checked int // bytes of held that cannot begin the closing tag
}

type thinkStage int

const (
	thinkUndecided thinkStage = iota
	thinkInside
	thinkAfter // only blanks since the closing tag
	thinkOver
)

// maxBlanks is how many blanks may stand before the opening tag: models that run
// astray write nothing else, without end.
const maxBlanks = 256

// blanks are what may stand before and after the tags.
const blanks = " \t\r\n"

// add takes the next piece of the text and returns what of the text, without the
// reasoning, is certain now, and the reasoning when it is complete.
func (t *thinkSplit) add(piece string) (said, thought string) {
	switch t.stage {
	case thinkOver:
		return piece, ""
	case thinkAfter:
		return t.after(piece), ""
	}
	t.held.WriteString(piece)
	if t.stage == thinkUndecided {
		t.decide()
	}
	switch t.stage {
	case thinkInside:
		return t.close()
	case thinkOver:
		return t.held.String(), ""
	}
	return "", ""
}

func (t *thinkSplit) decide() {
	start := strings.TrimLeft(t.held.String(), blanks)
	if t.held.Len()-len(start) > maxBlanks {
		t.stage = thinkOver
		return
	}
	for _, tag := range [...]string{"<think>", "<thinking>", "<thought>"} {
		if strings.HasPrefix(start, tag) {
			t.stage, t.tag = thinkInside, tag
			return
		}
		if strings.HasPrefix(tag, start) {
			return
		}
	}
	t.stage = thinkOver
}

func (t *thinkSplit) close() (said, thought string) {
	held, closing := t.held.String(), "</"+t.tag[1:]
	at := strings.Index(held[t.checked:], closing)
	if at < 0 {
		t.checked = max(0, len(held)-len(closing))
		return "", ""
	}
	at += t.checked
	t.stage = thinkAfter
	_, thought, _ = strings.Cut(held[:at], t.tag)
	return t.after(held[at+len(closing):]), strings.Trim(thought, blanks)
}

func (t *thinkSplit) after(piece string) string {
	piece = strings.TrimLeft(piece, blanks)
	if piece != "" {
		t.stage = thinkOver
	}
	return piece
}

// end returns what was still undecided when the text ended: reasoning, if the text
// was cut inside it, and else text.
func (t *thinkSplit) end(wasCut bool) (said, thought string) {
	stage := t.stage
	t.stage = thinkOver
	switch {
	case stage == thinkInside && wasCut:
		_, thought, _ = strings.Cut(t.held.String(), t.tag)
		return "", strings.Trim(thought, blanks)
	case stage == thinkInside, stage == thinkUndecided:
		return t.held.String(), ""
	}
	return "", ""
}
