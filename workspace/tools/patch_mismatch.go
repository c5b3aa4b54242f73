package tools

import (
	"fmt"
	"strings"
)

// MismatchError says why a patch that can be read does not fit a file.
type MismatchError struct {
	Hunk       int   // of the patch, from 1; 0 is no one alone
	Candidates []int // lines of the file, from 1, that fit equally; nil when none fits
	Problem    string
}

func (e *MismatchError) Error() string { return e.Problem }

// What a mismatch shows of a file.
const (
	shownAround = 3  // lines above and below
	shownMost   = 24 // lines in all
	// nearBudget bounds the comparisons by which the nearest place is found.
	nearBudget = 20_000_000
)

// mismatch tells where a hunk fits best, and what differs there.
func (f *finder) mismatch(h *hunk) error {
	lines := h.lines[:len(h.lines)-h.spare()]
	at, equal := f.nearest(h, side(lines, '-'))
	var b strings.Builder
	fmt.Fprintf(&b, "hunk %d does not fit the file", h.number)
	switch {
	case len(f.text.lines) == 0:
		b.WriteString(", which is empty")
	case equal == 0:
		b.WriteString(": none of its kept and removed lines is there. The file has")
		f.show(&b, at, min(len(lines), shownMost))
	default:
		f.tellDifference(&b, lines, at)
		b.WriteString(" The nearest lines of the file are")
		f.show(&b, at, len(side(lines, '-')))
	}
	return &MismatchError{Hunk: h.number, Problem: strings.TrimRight(b.String(), "\n")}
}

// nearest returns the index at which most lines are equal, white space left aside, and
// how many; where none is, the index of the header's number.
func (f *finder) nearest(h *hunk, wanted []string) (at, equal int) {
	hint := max(min(h.oldStart, len(f.text.lines))-1, 0)
	if len(f.text.lines) == 0 {
		return 0, 0
	}
	wanted = wanted[:min(len(wanted), max(1, nearBudget/len(f.text.lines)))]
	numbers := map[string]int{}
	file := make([]int, len(f.text.lines))
	for i, line := range f.text.lines {
		form := looseForm(line)
		if _, ok := numbers[form]; !ok {
			numbers[form] = len(numbers) + 1
		}
		file[i] = numbers[form]
	}
	needle := make([]int, len(wanted))
	for i, line := range wanted {
		if form := looseForm(line); form != "" { // empty lines are everywhere
			needle[i] = numbers[form]
		}
	}
	for start := 1 - len(needle); start < len(file); start++ {
		n := 0
		for i := max(0, -start); i < len(needle) && start+i < len(file); i++ {
			if needle[i] != 0 && needle[i] == file[start+i] {
				n++
			}
		}
		if n > equal || n == equal && n > 0 && distance(start, hint) < distance(at, hint) {
			at, equal = start, n
		}
	}
	if equal == 0 {
		return hint, 0
	}
	return at, equal
}

func looseForm(line string) string { return strings.Join(strings.Fields(line), " ") }

func distance(a, b int) int { return max(a-b, b-a) }

// tellDifference names the first line of a hunk that is not what the file has there.
func (f *finder) tellDifference(b *strings.Builder, lines []patchLine, at int) {
	for i := range lines {
		line := &lines[i]
		if line.op == '+' {
			continue
		}
		if at < 0 || at >= len(f.text.lines) {
			fmt.Fprintf(b, ". Line %d of the patch has %s, where the file %s.", line.at, quoteLine(line.text), beyond(at))
			return
		}
		if trailingSpace.form(f.text.lines[at]) != trailingSpace.form(line.text) {
			fmt.Fprintf(b, ". Line %d of the patch has %s, where line %d of the file has %s", line.at, quoteLine(line.text), at+1, quoteLine(f.text.lines[at]))
			if looseForm(line.text) == looseForm(f.text.lines[at]) {
				b.WriteString("; only the white space differs")
			}
			b.WriteString(".")
			return
		}
		at++
	}
	b.WriteString(".")
}

func beyond(at int) string {
	if at < 0 {
		return "has not begun yet"
	}
	return "has ended"
}

// show writes the lines around a place with their numbers.
func (f *finder) show(b *strings.Builder, at, length int) {
	first := max(at-shownAround, 0)
	last := min(at+length+shownAround, first+shownMost, len(f.text.lines))
	b.WriteString(":\n")
	for i := first; i < last; i++ {
		text := strings.Trim(quoteLine(f.text.lines[i]), "`")
		fmt.Fprintf(b, "%6d  %s\n", i+1, text)
	}
}
