package tools

import (
	"fmt"
	"slices"
	"strings"
)

// finding is where a hunk belongs.
type finding struct {
	hunk  *hunk
	lines []patchLine // of the hunk, less the blank ones below it that do not belong to it
	at    int         // index of its first line in the file
	close closeness
	done  []int // it is in place already, at these indices
}

// finder looks for hunks in a file. Hunks are found by what they contain. The line
// number of a header decides only between places that fit equally.
type finder struct {
	text  *fileText
	stack [closenesses]*haystack
	// fresh says that the file is known to be in the state that the patch was made
	// for, so that nothing of it can be in place already.
	fresh bool
}

func newFinder(text *fileText, fresh bool) *finder { return &finder{text: text, fresh: fresh} }

func (f *finder) lines(c closeness) *haystack {
	if f.stack[c] == nil {
		f.stack[c] = newHaystack(f.text.lines, c)
	}
	return f.stack[c]
}

// find returns where a hunk belongs, or why that cannot be said. The drift is by how
// many lines the hunks above make the file longer.
func (f *finder) find(h *hunk, drift int) (*finding, error) {
	if len(side(h.lines, '-')) == 0 {
		return f.findPureInsertion(h)
	}
	// One blank line or all of them may be the space below the hunk.
	for _, spare := range slices.Compact([]int{0, min(1, h.spare()), h.spare()}) {
		lines := h.lines[:len(h.lines)-spare]
		for c := range closenesses {
			found, err := f.findAs(h, lines, c, drift)
			if found != nil || err != nil {
				return found, err
			}
		}
	}
	return nil, f.mismatch(h)
}

// findPureInsertion judges a hunk that shows no line of the file. Only an empty file
// leaves no doubt where it belongs.
func (f *finder) findPureInsertion(h *hunk) (*finding, error) {
	if len(f.text.lines) == 0 {
		return &finding{hunk: h, lines: h.lines}, nil
	}
	if added := side(h.lines, '+'); slices.Equal(added, f.text.lines) {
		return &finding{hunk: h, lines: h.lines, done: []int{0}}, nil
	}
	return nil, &MismatchError{Hunk: h.number, Problem: fmt.Sprintf(
		"hunk %d only adds lines and shows no line of the file, so it cannot be told where they belong. Give it at least one line that is there, with a space before it", h.number)}
}

// findAs looks for a hunk with one closeness. Neither a finding nor an error means
// that nothing fits.
func (f *finder) findAs(h *hunk, lines []patchLine, c closeness, drift int) (*finding, error) {
	before, after := side(lines, '-'), side(lines, '+')
	places := f.lines(c).find(before)
	var done []int
	switch {
	case f.fresh, c == trailingSpace, !f.tellsChange(lines):
	case slices.Equal(before, after) && f.text.bare != h.newBare: // only the newline at the end is to change
	default:
		done = f.lines(c).find(after)
	}
	hint := -1
	if h.hasStart {
		hint = h.oldStart - 1
	}
	open := outside(places, len(before), done, len(after))
	found := &finding{hunk: h, lines: lines, close: c}
	switch {
	case slices.Contains(open, hint):
		found.at = hint
	case hint >= 0 && slices.Contains(done, hint+drift):
		found.done = []int{hint + drift}
	case len(open) == 1:
		found.at = open[0]
	case len(open) > 1:
		return nil, ambiguous(h, open)
	case len(done) > 0:
		found.done = done
	default:
		return nil, nil
	}
	return found, nil
}

// tellsChange reports whether finding the new lines of a hunk says that it was applied.
// Of a hunk that only removes lines, one line that is left stands in too many places.
func (f *finder) tellsChange(lines []patchLine) bool {
	kept := 0
	for i := range lines {
		switch lines[i].op {
		case '+':
			return true
		case ' ':
			kept++
		}
	}
	return kept >= 2
}

// outside gives the places of old lines that are no part of a place where the new lines
// stand: there the hunk has been applied, and must not be once more.
func outside(places []int, length int, done []int, doneLength int) []int {
	if len(done) == 0 {
		return places
	}
	var open []int
	for _, at := range places {
		// The last place that begins at or before it reaches furthest.
		i, exact := slices.BinarySearch(done, at)
		if !exact {
			i--
		}
		if i < 0 || at+length > done[i]+doneLength {
			open = append(open, at)
		}
	}
	return open
}

// maxCandidates is how many places an error names.
const maxCandidates = 10

func ambiguous(h *hunk, places []int) error {
	return &MismatchError{Hunk: h.number, Candidates: lineNumbers(places), Problem: fmt.Sprintf(
		"hunk %d fits in %d places, at lines %s. Give it more of the lines around it, or the right line number in its header",
		h.number, len(places), placesText(places))}
}

func lineNumbers(places []int) []int {
	numbers := make([]int, len(places))
	for i, at := range places {
		numbers[i] = at + 1
	}
	return numbers
}

func placesText(places []int) string {
	var b strings.Builder
	for i, at := range places {
		if i == maxCandidates {
			fmt.Fprintf(&b, " and %d more", len(places)-i)
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, at+1)
	}
	return b.String()
}
