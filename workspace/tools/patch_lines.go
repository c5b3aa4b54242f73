package tools

import (
	"strings"
)

// fileText is the content of a file as lines.
type fileText struct {
	lines []string // without their newline; a carriage return before it stays
	bare  bool     // the last line has no newline
}

func splitText(text string) fileText {
	if text == "" {
		return fileText{}
	}
	lines := strings.Split(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		return fileText{lines: lines[:last]}
	}
	return fileText{lines: lines, bare: true}
}

func (f *fileText) join() string {
	if len(f.lines) == 0 {
		return ""
	}
	text := strings.Join(f.lines, "\n")
	if !f.bare {
		text += "\n"
	}
	return text
}

// isCRLF reports whether most lines end as on Windows.
func (f *fileText) isCRLF() bool {
	n := 0
	for _, line := range f.lines {
		if strings.HasSuffix(line, "\r") {
			n++
		}
	}
	return n*2 > len(f.lines)
}

// closeness is how equal two lines must be to be taken for the same.
type closeness int

const (
	identical     closeness = iota
	lineEndings             // except for a carriage return at the end
	trailingSpace           // except for white space at the end
	closenesses
)

func (c closeness) form(line string) string {
	switch c {
	case lineEndings:
		return strings.TrimSuffix(line, "\r")
	case trailingSpace:
		return strings.TrimRight(line, " \t\r")
	}
	return line
}

// haystack is the lines of a file in the form of one closeness, as numbers, so that
// comparing two lines takes one step however long they are.
type haystack struct {
	close   closeness
	numbers map[string]int
	lines   []int
}

func newHaystack(lines []string, c closeness) *haystack {
	h := &haystack{close: c, numbers: make(map[string]int, len(lines)), lines: make([]int, len(lines))}
	for i, line := range lines {
		h.lines[i] = h.number(c.form(line))
	}
	return h
}

func (h *haystack) number(form string) int {
	n, ok := h.numbers[form]
	if !ok {
		n = len(h.numbers)
		h.numbers[form] = n
	}
	return n
}

// find returns every index at which the wanted lines stand. The time is that of
// reading both once, whatever they are (Knuth, Morris and Pratt).
func (h *haystack) find(wanted []string) []int {
	if len(wanted) == 0 || len(wanted) > len(h.lines) {
		return nil
	}
	needle := make([]int, len(wanted))
	for i, line := range wanted {
		n, ok := h.numbers[h.close.form(line)]
		if !ok {
			return nil
		}
		needle[i] = n
	}
	back := borders(needle)
	var found []int
	matched := 0
	for i, n := range h.lines {
		for matched > 0 && (matched == len(needle) || needle[matched] != n) {
			matched = back[matched-1]
		}
		if needle[matched] == n {
			matched++
		}
		if matched == len(needle) {
			found = append(found, i+1-matched)
		}
	}
	return found
}

// borders gives for each prefix the length of the longest proper prefix that also
// ends it.
func borders(needle []int) []int {
	back := make([]int, len(needle))
	for i, k := 1, 0; i < len(needle); i++ {
		for k > 0 && needle[k] != needle[i] {
			k = back[k-1]
		}
		if needle[k] == needle[i] {
			k++
		}
		back[i] = k
	}
	return back
}
